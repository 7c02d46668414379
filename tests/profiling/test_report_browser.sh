#!/usr/bin/env bash
# report.html of a profile and of a run, compare.html and claims.html in headless Chromium, at three widths, light and
# dark: they load without an error, every plot has marks, no label is cut off, text is readable, sorting and hovering
# work, nothing is wider than the window, and a screenshot can be taken. A script added to a copy makes each page test
# itself.
set -u
. tests/lib.sh
: "${TT:?is the program to test}"
needs_browser

small="--num-layers 2 --hidden-dim 32 --num-heads 2 --num-kv-heads 1 --ffn-dim 64 --batch-size 2 --seq-len 16 --num-steps 4"
for version in baseline flash; do
    "$TT" profile $small --version $version --out "$dir/$version" --quiet >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
done
"$TT" report "$dir/flash" --import tests/profiles/nsys_gpu_trace.csv --quiet >/dev/null || fail "tt report"
"$TT" compare "$dir/baseline" "$dir/flash" --out "$dir/compare" --quiet >/dev/null || fail "tt compare"
"$TT" train $small --num-steps 40 --val-interval 5 --out "$dir/run" --quiet >/dev/null || fail "tt train"
"$TT" report "$dir/run" --quiet >/dev/null || fail "tt report of a run"
"$TT" claims --only qkv,swiglu,adamw,tf32 ${small/--num-steps 4/} --turns 2 --out "$dir/claims" --quiet >/dev/null || fail "tt claims"

# page NAME FILE: loads copies in frames as wide as a desktop's window, a tablet's and a phone's, light and dark; each
# reports its findings to the page around it.
page() {
    local name=$1 scheme found
    sed 's|<head>|<head><script>window.faults=[];window.onerror=function(m){faults.push(m)}</script>|' "$2" >"$dir/$name.html"
    cat >>"$dir/$name.html" <<'SCRIPT'
<script>
addEventListener('load', function () {
  var plots = document.querySelectorAll('svg.chart');
  if (!plots.length) faults.push('no plot');
  plots.forEach(function (p) {
    if (p.parentNode.scrollWidth > p.parentNode.clientWidth + 1) faults.push('a part is outside: ' + p.getAttribute('aria-label'));
    if (!p.querySelector('.mark')) faults.push('no mark in ' + p.getAttribute('aria-label'));
    p.querySelectorAll('rect,circle,line,polyline,text').forEach(function (s) {
      if (/NaN|inf/i.test(s.outerHTML.replace(/>.*/, ''))) faults.push('no number: ' + s.outerHTML);
    });
    p.querySelectorAll('text:not([transform])').forEach(function (s) {
      var b = s.getBBox();
      if (b.x < -1 || b.x + b.width > p.viewBox.baseVal.width + 1 || /…/.test(s.textContent)) faults.push('cut off: ' + s.textContent);
    });
  });
  function light(colour) {
    var c = colour.match(/[\d.]+/g).slice(0, 3).map(function (x) { x /= 255; return x <= 0.03928 ? x / 12.92 : Math.pow((x + 0.055) / 1.055, 2.4); });
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
  }
  var paper = light(getComputedStyle(document.body).backgroundColor), dark = matchMedia('(prefers-color-scheme:dark)').matches;
  if (dark !== paper < 0.1) faults.push('the page is ' + paper + ' in a scheme that is ' + (dark ? 'dark' : 'light'));
  document.querySelectorAll('body,.note,dt,th,summary,.warn,svg.chart text').forEach(function (e) {
    var style = getComputedStyle(e), ink = light(e.tagName === 'text' ? style.fill : style.color);
    var contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (contrast < 4.5) faults.push('hard to read, ' + contrast.toFixed(1) + ': ' + e.textContent.slice(0, 40));
  });
  document.querySelectorAll('th').forEach(function (h) {
    if (innerWidth >= 1280 && /^(roof %|bound by)$/.test(h.textContent) && h.getBoundingClientRect().right > innerWidth)
      faults.push(h.textContent + ' is outside the window');
  });
  var table = Array.prototype.find.call(document.querySelectorAll('table'), function (t) { return t.tBodies[0].rows.length > 3 && t.querySelectorAll('th.n').length; });
  var head = Array.prototype.find.call(table.querySelectorAll('th'), function (h) { return h.className === 'n' && /step|speed|flash|measured/.test(h.textContent); });
  var column = head.cellIndex;
  function values() { return Array.prototype.map.call(table.tBodies[0].rows, function (r) { return parseFloat(r.cells[column].dataset.v || '-1e99'); }); }
  function sorted(v, sign) { return v.every(function (x, i) { return !i || sign * (v[i - 1] - x) >= 0; }); }
  head.click();
  if (!sorted(values(), 1)) faults.push('not sorted down');
  head.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}));
  if (!sorted(values(), -1)) faults.push('not sorted up');
  var mark = document.querySelector('.mark'), words = mark.querySelector('title').textContent, tip = document.getElementById('tip');
  mark.dispatchEvent(new PointerEvent('pointerenter', {clientX: 50, clientY: 50}));
  mark.dispatchEvent(new PointerEvent('pointermove', {clientX: 50, clientY: 50}));
  if (tip.style.display !== 'block' || tip.textContent !== words || !words) faults.push('no tip on hover');
  mark.dispatchEvent(new PointerEvent('pointerleave'));
  if (tip.style.display !== 'none' || mark.querySelector('title').textContent !== words) faults.push('the tip stays');
  if (document.documentElement.scrollWidth > innerWidth) faults.push('wider than the window: ' + document.documentElement.scrollWidth);
  parent.postMessage(innerWidth + (dark ? ' dark' : ' light') + ' plots=' + plots.length + ' faults=' + faults.length + ' ' + faults.slice(0, 5).join('; '), '*');
});
</script>
SCRIPT
    cat >"$dir/frames.html" <<FRAMES
<!DOCTYPE html><title>none</title><script>
var said = [];
addEventListener('message', function (e) { said.push(e.data); document.title = said.sort().join(' | '); });
</script>
<iframe src="$name.html" width="1280" height="800"></iframe><iframe src="$name.html" width="800" height="800"></iframe><iframe src="$name.html" width="420" height="800"></iframe>
FRAMES
    for scheme in 1 0; do # blink's numbers: light, dark
        chrome --blink-settings=preferredColorScheme=$scheme --window-size=1400,1000 --enable-logging=stderr --virtual-time-budget=5000 --dump-dom "file://$dir/frames.html" >"$dir/dom" 2>"$dir/console"
        found=$(grep -o '<title>[^<]*' "$dir/dom" | head -1)
        [ "$(grep -oE '(1280|800|420) (light|dark) plots=[0-9]+ faults=0' <<<"$found" | wc -l)" = 3 ] || fail "$name: ${found:-the page did not run}: $(grep -i console "$dir/console" | head -3)"
        grep -E 'CONSOLE.*(Error|error)' "$dir/console" && fail "$name: an error on the console"
        echo "ok   $name: ${found#<title>}"
    done
}
page report "$dir/flash/report.html"
page compare "$dir/compare/compare.html"
page run "$dir/run/report.html"
page claims "$dir/claims/claims.html"

chrome --window-size=1100,1400 --screenshot="$dir/shot.png" "file://$dir/flash/report.html" >/dev/null 2>&1
[ "$(head -c 4 "$dir/shot.png" 2>/dev/null | tail -c 3)" = PNG ] && [ "$(wc -c <"$dir/shot.png")" -gt 20000 ] || fail "no screenshot"
chrome --window-size=1100,1400 --print-to-pdf="$dir/page.pdf" "file://$dir/flash/report.html" >/dev/null 2>&1
[ "$(head -c 4 "$dir/page.pdf" 2>/dev/null)" = %PDF ] || fail "it does not print"
finish

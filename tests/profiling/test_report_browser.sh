#!/usr/bin/env bash
# report.html of a profile and of a run, compare.html and claims.html in headless Chromium: they load without an error, every plot
# has marks, sorting and hover work, nothing is wider than a phone, and a screenshot can be taken. The page tests itself:
# a script is added to a copy.
set -u
. tests/lib.sh
: "${TT:?is the program to test}"
browser=
for name in chromium chromium-browser google-chrome; do
    [ -z "$browser" ] && browser=$(command -v $name)
done
[ -n "$browser" ] || skip "no Chromium"
chrome() { HOME=$dir timeout 100 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --user-data-dir="$dir/user" "$@"; }

small="--num-layers 2 --hidden-dim 32 --num-heads 2 --num-kv-heads 1 --ffn-dim 64 --batch-size 2 --seq-len 16 --num-steps 4"
for version in baseline flash; do
    "$TT" profile $small --version $version --out "$dir/$version" --quiet >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
done
"$TT" report "$dir/flash" --import tests/profiles/nsys_gpu_trace.csv --quiet >/dev/null || fail "tt report"
"$TT" compare "$dir/baseline" "$dir/flash" --out "$dir/compare" --quiet >/dev/null || fail "tt compare"
"$TT" train $small --num-steps 40 --val-interval 5 --out "$dir/run" --quiet >/dev/null || fail "tt train"
"$TT" report "$dir/run" --quiet >/dev/null || fail "tt report of a run"
"$TT" claims --only qkv,swiglu,adamw,tf32 ${small/--num-steps 4/} --turns 2 --out "$dir/claims" --quiet >/dev/null || fail "tt claims"

# page NAME FILE: a copy that writes what it finds into its title.
page() {
    local name=$1
    sed 's|<head>|<head><script>window.faults=[];window.onerror=function(m){faults.push(m)}</script>|' "$2" >"$dir/$name.html"
    cat >>"$dir/$name.html" <<'SCRIPT'
<script>
addEventListener('load', function () {
  var plots = document.querySelectorAll('svg.chart'), found = [];
  if (!plots.length) faults.push('no plot');
  plots.forEach(function (p) {
    if (!p.querySelector('.mark')) faults.push('no mark in ' + p.getAttribute('aria-label'));
    p.querySelectorAll('rect,circle,line,polyline,text').forEach(function (s) {
      if (/NaN|inf/i.test(s.outerHTML.replace(/>.*/, ''))) faults.push('no number: ' + s.outerHTML);
    });
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
  document.title = 'plots=' + plots.length + ' faults=' + faults.length + ' ' + faults.join('; ');
});
</script>
SCRIPT
    chrome --window-size=500,900 --enable-logging=stderr --virtual-time-budget=5000 --dump-dom "file://$dir/$name.html" >"$dir/dom" 2>"$dir/console"
    title=$(grep -o '<title>plots=[^<]*' "$dir/dom" | head -1)
    [[ $title =~ plots=([0-9]+)\ faults=0 ]] || { fail "$name: ${title:-the page did not run}: $(grep -i console "$dir/console" | head -3)"; return; }
    grep -E 'CONSOLE.*(Error|error)' "$dir/console" && fail "$name: an error on the console"
    echo "ok   $name: ${title#<title>}"
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

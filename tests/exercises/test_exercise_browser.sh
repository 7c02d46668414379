#!/usr/bin/env bash
# The pages of tt exercise page and tt exercise class --html, and the pictures of the exercises, in headless Chromium: they load
# without an error and run no script of a learner, every picture is drawn, tables are sorted by a click, and nothing is wider
# than a phone. A page tests itself: a script is added to a copy.
set -u
. tests/lib.sh
: "${TT:?is the program to test}"
needs_browser
once "the optimised build does it"
shown=err
export TT_EXERCISES=$PWD/exercises
cd "$dir" || exit 1

evil='<script>window.hacked=1</script><img src=x onerror=hacked=1>'
for folder in "$TT_EXERCISES"/[0-9]*; do
    number=${folder##*/}
    number=$((10#${number%%-*}))
    "$TT" exercise start $number "ex$number" --recorded >out 2>err || fail "start $number"
    sed -i "s|^learner: .*|learner: '$evil'|" "ex$number/worksheet.yaml"
    "$TT" exercise check "ex$number" >out 2>err
done
"$TT" exercise page >out 2>err || fail "page"
"$TT" exercise class . --html class.html >out 2>err || fail "class"

pictures=$(cat "$TT_EXERCISES"/*/README.md | grep -c "^ *!\[")
# look NAME WIDTH PICTURES: a copy that writes what it finds into its title.
look() {
    local name=$1 title
    sed 's|<head>|<head><script>window.faults=[];window.onerror=function(m){faults.push(m)}</script>|' "$name.html" >copy.html
    cat >>copy.html <<'SCRIPT'
<script>
addEventListener('load', function () {
  if (window.hacked) faults.push('a script of a learner ran');
  document.querySelectorAll('details').forEach(function (d) { d.open = true; });
  var pictures = document.querySelectorAll('.walk img');
  Promise.all(Array.prototype.map.call(pictures, function (p) {
    return p.decode().catch(function () { faults.push('not drawn: ' + p.alt); });
  })).then(function () {
    pictures.forEach(function (p) { if (!p.alt || p.naturalWidth < 100) faults.push('no picture: ' + p.alt); });
    document.querySelectorAll('svg.chart').forEach(function (p) {
      if (/NaN|inf/.test(p.outerHTML.replace(/<title>.*?<\/title>/g, '').replace(/>[^<]*</g, '><'))) faults.push('no number');
    });
    var head = document.querySelector('th.n'), table = head.closest('table'), column = head.cellIndex;
    head.click();
    var values = Array.prototype.map.call(table.tBodies[0].rows, function (r) { return parseFloat(r.cells[column].dataset.v); });
    if (!values.every(function (x, i) { return !i || values[i - 1] >= x; })) faults.push('not sorted');
    document.querySelectorAll('a[href^="#"]').forEach(function (a) {
      if (!document.getElementById(a.getAttribute('href').slice(1))) faults.push('leads nowhere: ' + a.outerHTML);
    });
    if (document.documentElement.scrollWidth > innerWidth) faults.push('wider than the window: ' + document.documentElement.scrollWidth);
    document.title = 'pictures=' + pictures.length + ' faults=' + faults.length + ' ' + faults.join('; ');
  });
});
</script>
SCRIPT
    chrome --window-size="$2",900 --enable-logging=stderr --virtual-time-budget=8000 --dump-dom "file://$dir/copy.html" >dom 2>console
    title=$(grep -o '<title>pictures=[^<]*' dom | head -1)
    [[ $title =~ pictures=([0-9]+)\ faults=0 ]] || { fail "$name at $2: ${title:-the page did not run}: $(grep -i console console | head -3)"; return; }
    [ "${BASH_REMATCH[1]}" = "$3" ] || fail "$name has ${BASH_REMATCH[1]} pictures, not $3"
    grep -E 'CONSOLE.*(Error|error)' console && fail "$name: an error on the console"
    echo "ok   $name at $2: ${title#<title>}"
}
look page 500 "$pictures"
look class 500 0
finish

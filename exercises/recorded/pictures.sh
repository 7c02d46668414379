#!/usr/bin/env bash
# The picture of an exercise that is drawn from a recorded profile: a chart of tt report as a file of its own.
#     exercises/recorded/pictures.sh [FOLDER]      writes FOLDER/03-bottlenecks/roofline.svg; without FOLDER, the one of the exercise
# TT names the program. The other pictures of the exercises are drawn by hand.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
root=$here/..
to=${1:-$here}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# chart PROFILE LABEL FILE TITLE DESCRIPTION: the chart with that label in the report of the profile.
chart() {
    [ -s "$work/$1/report.html" ] || "${TT:-tt}" report "$here/recorded/$1" --out "$work/$1" --quiet >/dev/null
    mkdir -p "$(dirname "$to/$3")"
    { sed -n '/^:root/p; /^@media (prefers/,/^}/p' "$root/profiling/report/page.css"
      cat "$root/profiling/report/charts.css"
      echo 'svg.chart{max-width:none;min-width:0}.bg{fill:var(--page)}'; } >"$work/style"
    awk -v label="$2" -v title="$4" -v words="$5" -v style="$work/style" '
        index($0, "aria-label=\"" label "\"") {
            inside = 1
            match($0, /viewBox="0 0 [0-9]+ [0-9]+"/)
            split(substr($0, RSTART, RLENGTH), part, /[ "]/)
            width = part[4]
            height = part[5]
            next
        }
        inside && /<\/svg>/ { inside = 0; behind = 1; next }
        inside { body = body $0 "\n" }
        behind && /class="legend"/ {
            n = split($0, item, "<li>")
            for (i = 2; i <= n; i++) {
                match(item[i], /class="f[0-9]+"/)
                class = substr(item[i], RSTART + 7, RLENGTH - 8)
                if (!index(body, "class=\"" class "\"")) continue # not in this chart
                sub(/.*<\/svg> */, "", item[i])
                sub(/<.*/, "", item[i])
                x = 10 + shown % 3 * width / 3
                y = height + 10 + int(shown / 3) * 22
                shown++
                legend = legend sprintf("<rect x=\"%d\" y=\"%d\" width=\"11\" height=\"11\" class=\"%s\"/>\n<text x=\"%d\" y=\"%d\" class=\"soft\">%s</text>\n", x, y, class, x + 17, y + 10, item[i])
            }
            height += 18 + int((shown + 2) / 3) * 22
            behind = 0
        }
        behind && /<svg class="chart"/ { behind = 0 }
        END {
            if (!body) exit 1
            printf "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"-12 -8 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-labelledby=\"t d\">\n", width + 24, height + 16, width + 24, height + 16
            printf "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n<style>\n", title, words
            while ((getline line < style) > 0) print line
            printf "</style>\n<rect x=\"-12\" y=\"-8\" width=\"%d\" height=\"%d\" rx=\"8\" class=\"bg\"/>\n%s%s</svg>\n", width + 24, height + 16, body, legend
        }' "$work/$1/report.html" >"$work/picture"
    cp "$work/picture" "$to/$3"
}

chart h200-gpt2 "FLOP/s of every operator under the roofs of the device" 03-bottlenecks/roofline.svg \
    "The roofline of a training step" \
    "Every operator of a step of the preset gpt2, flash, bf16 on an H200: FLOP per byte to the right, FLOP/s upwards. Under the slope memory is the limit, under the flat part arithmetic; a circle is as large as its share of the time."

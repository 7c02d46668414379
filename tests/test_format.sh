#!/usr/bin/env bash
# The rules of .clang-format that can be checked without clang-format: the width of lines (except where the formatter is
# off), no tabs, no blanks at the end of a line, and a newline at the end of a file.
set -u
. tests/lib.sh
width=$(sed -n 's/^ColumnLimit: *//p' .clang-format)

faults() { # faults FILE...: "FILE:LINE: what is wrong"
    LC_ALL=C awk -v width="$width" '
        FNR == 1 { off = 0 }
        /clang-format off/ { off = 1 }
        {
            columns = $0
            gsub(/[\200-\277]/, "", columns) # the continuation bytes of a character
            if (!off && length(columns) > width) print FILENAME ":" FNR ": " length(columns) " columns"
        }
        /\t/ { print FILENAME ":" FNR ": a tab" }
        /[ \r]$/ { print FILENAME ":" FNR ": a blank at the end" }
        /clang-format on/ { off = 0 }' "$@"
    for file; do [ -z "$(tail -c 1 "$file")" ] || echo "$file: no newline at the end"; done
}
# shellcheck disable=SC2046 # names without blanks
found=$(faults $(sources backend core model profiling exercises cli lib tests))
[ -z "$found" ] || fail "the format of C sources:"$'\n'"$found"

# the check can fail, and counts characters, not bytes
wide=$(printf '%*s' "$width" '' | tr ' ' x)
printf '%s\n' "$wide" "${wide%x}é" "${wide}x" $'\tx' 'x ' '/* clang-format off */' "${wide}x" '/* clang-format on */' "${wide}é" >"$dir/a.c"
printf 'x' >"$dir/b.c"
seen=$(cd "$dir" && faults a.c b.c | cut -d ' ' -f 1 | tr '\n' ' ')
[ "$seen" = "a.c:3: a.c:4: a.c:5: a.c:9: b.c: " ] || fail "seen in lines made wrong: $seen"
passed "no line is wider than $width"
finish

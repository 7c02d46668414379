#!/usr/bin/env bash
# The Python module with this build's libtt: what it trains has the bits of tt train, its structs have the sizes in
# libtt.h, and it refuses wrong input. mypy, NumPy and nbformat are used if installed.
set -u
. tests/lib.sh
needs_module
package=$root/lib/python/tinytransformer
cd "$dir" || exit 1

# ---- its source ----
check "more than 300 lines of code" "$python" - "$package"/*.py <<'END'
import ast, sys, tokenize
lines = 0
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        tokens = list(tokenize.generate_tokens(file.readline))
    layout = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    code = {n for t in tokens if t.type not in layout for n in range(t.start[0], t.end[0] + 1)}
    with open(path, encoding="utf-8") as file:
        for node in ast.walk(ast.parse(file.read())):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):  # docstrings
                code -= set(range(node.lineno, node.end_lineno + 1))
    lines += len(code)
sys.exit(not 200 < lines <= 300)
END
check "a line is wider than 120" test -z "$(grep -nE '^.{121}' "$package"/*.py "$root"/tests/lib/*.py)"
version=$(sed -n 's/^project(TinyTransformer VERSION \([0-9]*\.[0-9]*\.\).*/\1/p' "$root/CMakeLists.txt")
check "the module is for another version than $version" grep -q "^ABI = \"$version\"" "$package/_library.py"
check "Python 3.9 does not take it" "$python" - "$package"/*.py "$root/tests/lib/check.py" <<'END'
import ast, sys
for path in sys.argv[1:]:
    ast.parse(open(path, encoding="utf-8").read(), path, feature_version=(3, 9))
END
for name in $(grep -oE '\blibtt_[a-z_]+\(' "$root/lib/libtt.h" | tr -d '(' | sort -u); do # create is load without a path
    [ "$name" = libtt_create ] || grep -qE "[\"_]${name#libtt_}\b" "$package/_library.py" || fail "the module does not know $name"
done
if "$python" -c 'import mypy, numpy' 2>/dev/null; then
    "$python" -m mypy --strict --cache-dir "$dir/mypy" "$package" >out 2>&1 || fail "mypy --strict"
    passed "types, by mypy"
fi
cat >sizes.c <<'END'
#include <libtt.h>
#include <stdio.h>
int main(void)
{
    printf("%zu %zu %zu %zu\n", sizeof(struct libtt_error), sizeof(struct libtt_shape), sizeof(struct libtt_metrics),
           sizeof(struct libtt_sampling));
}
END
"$(cached CMAKE_C_COMPILER)" -I"$root/lib" sizes.c -o sizes || fail "sizes.c"
passed "its text"

# ---- use it ----
TT_SIZES=$(./sizes) "$python" "$root/tests/lib/check.py" by-python || fail "the module"
"$TT" train --hidden-dim 32 --num-layers 2 --batch-size 4 --seq-len 16 --grad-accum 2 --num-steps 6 --threads 1 --quiet \
    --val-interval 0 --out by-tt >out 2>err || fail "tt train"
for file in model state; do
    cmp {by-tt,by-python}/step-00000006/$file.safetensors || fail "$file has other bits than tt train"
done
"$TT" export by-tt --dtype bf16 hf >out 2>err || fail "tt export"
diff -r hf by-python.hf || fail "the export differs from that of tt export"
"$TT" generate --checkpoint by-tt --max-tokens 20 --seed 7 --threads 1 --json >tokens.json || fail "tt generate"
"$python" - <<'END' || fail "losses or tokens differ from those of tt"
import ctypes, json
ours = json.load(open("by-python.json"))
theirs = [json.loads(line)["loss"] for line in open("by-tt/metrics.jsonl")]
single = lambda numbers: [ctypes.c_float(x).value for x in numbers]
assert len(theirs) == 6 and ours["losses"] == single(theirs), (ours["losses"], theirs)
tokens = json.load(open("tokens.json"))["tokens"]
assert [0] + ours["tokens"] == tokens and len(tokens) == 21, (ours["tokens"], tokens)
END
passed "the bits of tt train"
"$python" -c 'from tinytransformer._library import main; main()' --version | cmp - <("$TT" --version) || fail "the command tt"
TT_LIBRARY=/no/such "$python" -c 'import tinytransformer; tinytransformer.open()' 2>&1 | tail -n 1 >said
grep -q "Error: libtt cannot be loaded; name it with TT_LIBRARY: /no/such" said || fail "no library: $(cat said)"

# ---- the examples of README.md ----
"$python" -c 'import numpy' 2>/dev/null && {
    awk '/^```python/ { on = 1; next } /^```/ { on = 0 } on' "$root/lib/README.md" >shown.py
    "$python" shown.py >out 2>err || fail "the example of lib/README.md"
    grep -q '\[3, 4, 5, 6, 7\]' out || fail "the example of lib/README.md does not learn to count"
}
finish

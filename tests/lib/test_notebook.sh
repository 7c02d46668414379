#!/usr/bin/env bash
# The notebook of the first profile: its code runs from top to bottom, it contains no outputs, and its links lead
# somewhere. If installed, nbformat checks its format and nbclient runs it in a kernel.
set -u
. tests/lib.sh
needs_module
notebook=$root/lib/python/first_profile.ipynb
cd "$dir" || exit 1

"$python" - "$notebook" >cells.py <<'END' || fail "the notebook is not as it should be"
import json, sys
book = json.load(open(sys.argv[1], encoding="utf-8"))
assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
ids = [cell["id"] for cell in book["cells"]]
assert len(set(ids)) == len(ids) > 10
for cell in book["cells"]:
    if cell["cell_type"] == "code":
        assert cell["outputs"] == [] and cell["execution_count"] is None, "clear the outputs"
        print("".join(cell["source"]))
END
"$python" - "$notebook" >text.md <<'END' || fail "no text"
import json, sys
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "markdown":
        print("".join(cell["source"]))
END
mkdir -p at/lib/python && cp text.md at/lib/python && ln -s "$root/exercises" at/exercises
found=$(broken_links at/lib/python/text.md)
[ -z "$found" ] || fail "$found"

if "$python" -c 'import nbformat, nbclient, ipykernel' 2>/dev/null; then
    HOME=$dir "$python" - "$notebook" <<'END' >out 2>err || fail "nbclient"
import sys, nbclient, nbformat
book = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(book)
nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
shown = [o["data"]["text/html"] for cell in book.cells if cell.cell_type == "code" for o in cell.outputs
         if "text/html" in o.get("data", {})]
assert len(shown) == 1 and shown[0].startswith("<iframe srcdoc="), shown
END
    passed "in a kernel"
else
    "$python" cells.py >out 2>err || fail "its code"
    shows "flash .* ms"
fi
check "no report" test -s profiles/flash/report.html
passed "the notebook"
finish

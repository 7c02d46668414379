#!/usr/bin/env bash
# tt report --import of databases: rocpd and nsys, as they are written, forged and damaged. Python makes them.
set -u
. tests/lib.sh
make=$PWD/tests/profiling/make_databases.py
python3 -c 'import sqlite3' 2>/dev/null || skip "python3 with sqlite3 makes the databases, and is not here"
cd "$dir" || exit 1
python3 "$make" . || die "the databases were not made"
"$TT" report --import rocpd.db --out first >out 2>err
[ $? -eq 4 ] && grep -q "libsqlite3.so.0) is not installed" err && skip "libsqlite3.so.0 is not installed"
figures() { # figures FOLDER CONDITION...: checks Python conditions on its profile p and operators
    local folder=$1
    shift
    checks=$((checks + $#))
    python3 - "$folder/profile.json" "$@" <<'PYTHON' || fail "$folder: the figures are wrong"
import json, sys
p = json.load(open(sys.argv[1]))
operators = {o["name"]: o for o in p["operators"]}
step, launch, run = p["step"], p["launch"], p["run"]
near = lambda a, b: abs(a - b) <= 1e-9 * b
wrong = [what for what in sys.argv[2:] if not eval(what)]
for what in wrong: print("not true:", what)
sys.exit(len(wrong) > 0)
PYTHON
}

# as they are written, in each version of the tables, with tables without a suffix, and by rocprof-sys
for file in rocpd.db rocpd4.db rocpd_plain.db rocpd_sys.db rocpd_quote.db nsys.sqlite; do
    run 0 report --import $file --out "of-$file"
    says out "Cut to the range measured_steps, which holds 4 of 5 kernels. Divided by 2 steps."
    figures "of-$file" 'near(step["kernel_seconds"], 0.9e-3)' 'near(step["seconds"], 1e-3)' 'step["kernels"] == 2' \
        'near(operators["swiglu"]["seconds"], 0.8e-3)' 'near(operators["adamw"]["median"], 0.1e-3)' \
        '[o["bytes"] for o in p["operators"] if o["group"] == "copies"] == [4096]' 'near(launch["launch_seconds"], 0.5e-6)' \
        'launch["waits"] == 0.5' 'run["source"] == ("nsys" if "nsys" in sys.argv[1] else "rocprofv3")' \
        'run["device"] == ("NVIDIA H200" if "nsys" in sys.argv[1] else "AMD Instinct MI300X")'
done
run 0 report --import rocpd.db --out again
says out "rocpd database, 5 kernels, 3 copies, 4 calls, 3 ranges"
run 0 report --import nsys.sqlite --out again
says out "nsys database, 5 kernels, 4 copies, 3 calls, 3 ranges"

# without markers, or with unreadable ones: reported, not guessed
for file in rocpd_unmarked.db rocpd_extra.db rocpd_blob.db nsys_few.sqlite; do
    run 0 report --import $file --out "of-$file"
    says out "There is no range measured_steps in these files"
    figures "of-$file" 'near(step["kernel_seconds"], 6.8e-3)'
done
run 0 report --import nsys_short.sqlite --out short
run 0 report --import rocpd_hostile.db --out hostile
says hostile/profile.json 'a,b|c'

# forged: one line says where, and nothing is written
for case in "bad_column.db|rocpd_kernel_dispatch_0198c7d2_4b1e_7a33_9f00_5b6c7d8e9f01: the database cannot be read: no such column: K.start" \
    "bad_null.db|row 1: start and end must be whole numbers" "bad_text.db|row 1: start and end must be" \
    "bad_real.db|row 1: start and end must be" "bad_order.db|the end not before the start" "bad_huge.db|row 1: start and end must be" \
    "bad_name.db|row 1: its name is not in the database" "bad_symbols.db|no such table: rocpd_info_kernel_symbol" \
    "none.db|nothing was recorded" "bad_nsys.sqlite|NVTX_EVENTS: the database cannot be read: no such column: E.end"; do
    run 1 report --import "${case%%|*}" --out never
    says err "${case#*|}"
    checks=$((checks + 1))
    [ "$(wc -l <err)" -eq 1 ] || fail "${case%%|*}: more than a line: $(cat err)"
done
run 2 report --import other.db --out never
says err "neither rocpd's (rocprofv3, rocprof-sys) nor nsys's"
[ -e never ] && fail "a failed import left a folder"

# damaged: cut anywhere or with bytes changed, a result or an error, never a crash
size=$(wc -c <rocpd.db)
for ((at = 0; at < size; at += size / 5)); do
    head -c "$at" rocpd.db >damaged.db
    "$TT" report --import damaged.db --out damaged >out 2>err </dev/null
    got=$?
    checks=$((checks + 1))
    [ $got -le 2 ] || fail "cut at $at: exit code $got"
    cp rocpd.db damaged.db
    printf '\377\377\377\377\377\377\377\377' | dd of=damaged.db bs=1 seek=$((at + 16)) conv=notrunc 2>/dev/null
    "$TT" report --import damaged.db --out damaged >out 2>err </dev/null
    got=$?
    checks=$((checks + 1))
    [ $got -le 2 ] || fail "changed at $at: exit code $got"
done
head -c 20000 rocpd.db >cut.db
run 1 report --import cut.db --out never
says err "the database is damaged"
cp rocpd.db open.db && echo journal >open.db-wal
run 1 report --import open.db --out never
says err "the program that wrote this database has not closed it"

# nothing is written to a database or beside it, and its folder may be read-only; names with characters special in a URI
mkdir -p "odd #1?x=%41"
cp rocpd.db "odd #1?x=%41/a b.db"
before=$(cksum <rocpd.db)
chmod 500 "odd #1?x=%41"
run 0 report --import "odd #1?x=%41/a b.db" --out odd
[ "$(ls "odd #1?x=%41")" = "a b.db" ] || fail "something was written beside a database: $(ls "odd #1?x=%41")"
[ "$(cksum <"odd #1?x=%41/a b.db")" = "$before" ] || fail "a database was changed"
chmod 700 "odd #1?x=%41"

# without SQLite: what to do instead, and a separate exit code
mkdir lib && : >lib/libsqlite3.so.0
LD_LIBRARY_PATH=$PWD/lib "$TT" report --import rocpd.db --out never >out 2>err
got=$?
checks=$((checks + 1))
[ $got -eq 4 ] || fail "without SQLite: exit code $got"
says err "rocpd convert -i"
says err "nsys stats"

finish

#!/usr/bin/env bash
# tt profile with several ranks: their collectives, how they differ, and one trace of all of them. On a CPU through MPI;
# on a GPU all ranks share it.
. tests/lib.sh
needs_ranks
has python3 || skip "no python3 to read JSON with"
export XDG_CACHE_HOME=$dir/cache
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$dir" || exit 1

shape="--hidden-dim 48 --num-layers 3 --num-heads 4 --num-kv-heads 2 --ffn-dim 72 --seq-len 24 --batch-size 2"
quick="--num-steps 2 --warmup 1"
profile() { # profile ARGUMENTS...
    # shellcheck disable=SC2086 # words
    timeout 600 "$TT" profile $shape $quick "$@" >"$dir/out" 2>"$dir/err"
}
info() { # info RANKS SHARD: the prediction, as JSON
    # shellcheck disable=SC2086
    "$TT" info $shape --ranks "$1" --shard "$2" --json >"$dir/info"
}
looks_right() { # looks_right FOLDER RANKS SHARD
    python3 - "$@" "$dir/info" <<'PYTHON'
import json, sys
folder, ranks, shard = sys.argv[1], int(sys.argv[2]), sys.argv[3]
p = json.load(open(folder + "/profile.json"))
predicted = [s for s in json.load(open(sys.argv[4]))["shards"] if s["shard"] == shard][0]
job, rows = p["job"], p["collectives"]
near = lambda a, b: abs(a - b) <= 1e-9 * max(abs(a), abs(b))
total = lambda key: sum(r[key] for r in rows)
assert job["ranks"] == ranks and job["shard"] == shard, job
assert total("count") == predicted["collectives"], (total("count"), predicted)
assert near(total("sent_bytes"), predicted["sent_bytes"]) and near(job["sent_bytes"], predicted["sent_bytes"])
assert near(total("seconds"), job["communication"]) and near(job["hidden"] + job["exposed"], job["communication"])
for r in rows:
    factor = (2 if r["name"] == "all_reduce" else 1) * (ranks - 1) / ranks
    assert near(r["hidden"] + r["exposed"], r["seconds"]) and r["hidden"] >= 0 and r["exposed"] >= 0, r
    assert near(r["bus_bandwidth"], factor * r["bytes"] / r["fastest"]), r
assert [r["rank"] for r in p["ranks"]] == list(range(ranks))
for r in p["ranks"]:
    assert r["seconds"] > 0 and r["own_seconds"] > 0 and near(r["hidden"] + r["exposed"], r["communication"]), r
assert p["ranks"][job["slowest"]]["own_seconds"] == max(r["own_seconds"] for r in p["ranks"])
assert near(p["step"]["samples_per_second"] * p["step"]["seconds"], 2 * ranks)

trace = json.load(open(folder + "/trace.json"))
names = {(e["pid"], e.get("tid", 0)): e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"}
assert "clock" in trace["otherData"]["clocks"] and len(trace["otherData"]["clocks_within_us"]) == ranks
steps = set()
for rank in range(ranks):
    events = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["pid"] == rank + 1]
    assert names[rank + 1, 0].startswith("rank %d on " % rank), names
    together = [e for e in events if e["cat"] == "collective"]
    assert len(together) == 2 * predicted["collectives"], len(together)
    assert all(names[rank + 1, e["tid"]] == "communication" for e in together)
    assert any(e["cat"] == "kernel" and names[rank + 1, e["tid"]] == "compute" for e in events)
    on_track = sorted((e["ts"], e["ts"] + e["dur"]) for e in together)
    assert all(a[1] <= b[0] + 1e-3 for a, b in zip(on_track, on_track[1:])), "collectives of a rank overlap"
    steps.add(tuple(e["args"]["step"] for e in together))
    first = [e for e in together if e["args"]["step"] == together[0]["args"]["step"]]
    times = [(e["ts"], e["ts"] + e["dur"]) for e in first]
    if rank == 0: of_rank_0 = times
    # no rank has the sum before all have begun: on one clock, the same collective overlaps on all ranks
    assert all(a[0] <= b[1] and b[0] <= a[1] for a, b in zip(times, of_rank_0)), (times, of_rank_0)
assert len(steps) == 1, steps
PYTHON
}

profile --ranks 2 --out two || die "two ranks are not profiled"
info 2 none
check "two ranks" looks_right two 2 none
check "rank 0 alone prints" test "$(grep -c '^saved' out)" = 1
for words in '^ranks   2 by tt --ranks through ' '^comm\. ' '^slowest rank [01] ' '^all_reduce ' '^communication '; do shows "$words"; done
for file in summary.md report.html; do says two/$file "Ranks and communication"; done
profile --ranks 3 --shard weights --out three || die "three ranks are not profiled"
info 3 weights
check "three ranks" looks_right three 3 weights
expect 0 "saved" "$TT" report three
says three/report.html "Ranks and communication"
profile --ranks 2 --fault late-bucket --out late || die "a fault of ranks is not profiled"
info 2 none
check "sums that come late" looks_right late 2 none
check "are all exposed" python3 -c 'import json
p = json.load(open("late/profile.json"))
for r in [p["job"]] + p["ranks"]: assert r["communication"] > 0 and r["hidden"] <= 0.05 * r["communication"], r
for r in p["collectives"]: assert r["seconds"] > 0 and r["bus_bandwidth"] > 0, r'
passed "profiles of several ranks"

if on_cpu && has mpirun; then
    under="timeout 300 mpirun --quiet --map-by slot:OVERSUBSCRIBE --bind-to none -n 2"
    # shellcheck disable=SC2086
    expect 0 '"slowest":' $under "$TT" profile $shape $quick --shard optimizer --out mpi --json
    info 2 optimizer
    check "under mpirun" looks_right mpi 2 optimizer
    # shellcheck disable=SC2086
    expect 0 "ran     2 steps" $under "$TT" profile $shape $quick --bare
    check "which rank 0 says alone" test "$(grep -c '^ran' out)" = 1
fi
mkdir thesis && echo precious >thesis/chapter1.tex
profile --ranks 2 --out thesis; code=$?
check "another folder is refused with 2, not $code" test $code = 2
check "which is said once" test "$(grep -c 'holds other files' "$dir/err")" = 1
profile --ranks 2 --sweep batch --out x; check "no sweep" grep -q -- "--sweep is for one rank" err
profile --ranks 2 --with nsys --out x; check "no tool" grep -q -- "--with runs a tool over one process" err
check "and leaves no folder" test ! -e x
finish

#!/usr/bin/env bash
# tt diagnose with several ranks: the bandwidth of collectives in the form of nccl-tests, the slowest pair, and what a
# step sends.
. tests/lib.sh
needs_ranks
has python3 || skip "no python3 to read JSON with"
export XDG_CACHE_HOME=$dir/cache
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$dir" || exit 1

shape="--hidden-dim 32 --num-layers 2 --num-heads 2 --num-kv-heads 1 --ffn-dim 32 --seq-len 16 --batch-size 4"
looks_right() { # looks_right RANKS SHARD: checks the diagnosis in `out` against the prediction in `info`
    python3 - "$@" out info <<'PYTHON'
import json, sys
ranks, shard = int(sys.argv[1]), sys.argv[2]
r = json.load(open(sys.argv[3]))["ranks"]
predicted = [s for s in json.load(open(sys.argv[4]))["shards"] if s["shard"] == shard][0]
near = lambda a, b: abs(a - b) <= 1e-6 * max(abs(a), abs(b))
assert r["ranks"] == ranks and r["shard"] == shard, r
for name in "all_reduce", "reduce_scatter", "all_gather":
    rows = [row for row in r["bandwidth"] if row["collective"] == name]
    assert len(rows) == 3 and [row["size_bytes"] for row in rows] == sorted(row["size_bytes"] for row in rows), rows
    for row in rows:
        assert row["count"] % ranks == 0 and row["size_bytes"] == 4 * row["count"] and row["type"] == "float", row
        assert near(row["algbw_gb_per_s"], row["size_bytes"] / row["time_us"] / 1e3), row
        factor = (2 if name == "all_reduce" else 1) * (ranks - 1) / ranks
        assert near(row["busbw_gb_per_s"], factor * row["algbw_gb_per_s"]), row
assert r["pairs"] == ranks * (ranks - 1) // 2 and r["no_pairs"] == "", r
slow, fast = r["slowest_pair"], r["fastest_pair"]
assert 0 < slow["gb_per_s"] <= fast["gb_per_s"] and slow["ranks"][0] < slow["ranks"][1] < ranks and all(slow["hosts"]), r
for i, seat in enumerate(r["each"]):
    assert seat["rank"] == i and seat["host"] and seat["free_bytes"] > 0, seat
    assert abs(seat["peak_bytes"] / predicted["total_bytes"] - 1) < 0.05, (seat, predicted)
step = r["step"]
assert near(step["sent_bytes"], predicted["sent_bytes"]) and step["collectives"] == predicted["collectives"], step
assert 0 <= step["predicted_exposed_ms"] <= step["predicted_communication_ms"] and step["measured_step_ms"] > 0 and step["kernels_ms"] > 0, step
PYTHON
}
diagnose() { # diagnose RANKS SHARD
    # shellcheck disable=SC2086 # words
    timeout 600 "$TT" diagnose $shape --quick --ranks "$1" --shard "$2" --json >out 2>err
    code=$?
    # shellcheck disable=SC2086
    "$TT" info $shape --ranks "$1" --shard "$2" --json >info
    check "$1 ranks: exit 0 or, with warnings, 6, not $code" test "$code" = 0 -o "$code" = 6
    check "$1 ranks, shard $2" looks_right "$1" "$2"
    check "nothing is left behind" test ! -e runs
}
diagnose 2 none
diagnose 3 weights
if on_cpu && has mpirun; then
    # shellcheck disable=SC2086
    timeout 300 mpirun --quiet --map-by slot:OVERSUBSCRIBE --bind-to none -n 2 "$TT" diagnose $shape --quick >out 2>err
    check "a step is said to be that of a rank" grep -q "^model .*, 4 x 16 tokens a step of each rank, version" out
    for words in "^ranks +2 by Open MPI" "size +count +type +time +algbw +busbw" "^  all_reduce +65536 +16384 +float" \
        "^pairs +slowest: ranks 0 \\(.*\\) and 1 \\(.*GB/s; 1 measured" "^comm\\. +a rank sends"; do shows "$words"; done
    check "rank 0 alone prints" test "$(grep -c '^device' out)" = 1
fi
# one signal is enough: there is nothing to save
timeout 600 "$TT" diagnose --preset small --ranks 2 >out 2>err &
sleep 3
begin=$SECONDS
pkill -TERM -P $! -f diagnose || kill -TERM $!
wait $!
code=$?
check "SIGTERM ends it in $((SECONDS - begin)) s" test $((SECONDS - begin)) -le 15
check "with 130, not $code" test $code = 130
# a run that would fail fails on all ranks, with one message
touch file
# shellcheck disable=SC2086
timeout 300 "$TT" diagnose $shape --quick --ranks 2 --out file/run >out 2>err
code=$?
check "exit 1, not $code" test $code = 1
check "which is said once" test "$(grep -c 'the run would fail' err)" = 1
finish

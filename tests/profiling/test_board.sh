#!/usr/bin/env bash
# tt profile --tensorboard, read by TensorBoard's profile plugin if Python has it (pip install xprof).
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
small="--num-layers 1 --hidden-dim 32 --num-heads 2 --num-kv-heads 1 --ffn-dim 32 --batch-size 2 --seq-len 16"
"$TT" profile $small --num-steps 1 --warmup 1 --out profiles/one/ --tensorboard board >out 2>&1 || die "$(cat out)"
[ -s board/plugins/profile/one/rank0.xplane.pb ] || die "no file for TensorBoard: $(find board)"
grep -q "^look .*tensorboard --logdir board" out || die "it is not said how to look at it: $(cat out)"
cp board/plugins/profile/one/rank0.xplane.pb first
"$TT" profile $small --num-steps 1 --warmup 1 --out profiles/one --tensorboard board >out 2>&1 || die "$(cat out)"
cmp -s first board/plugins/profile/one/rank0.xplane.pb || die "a profile of the same name was replaced"
[ -s board/plugins/profile/one-2/rank0.xplane.pb ] && grep -q "^look .*the profile is called one-2" out || die "it got no number: $(cat out)"
echo mine >note
"$TT" profile $small --num-steps 1 --warmup 1 --out profiles/two --tensorboard note >out 2>&1
[ $? -eq 2 ] && [ ! -e profiles/two ] || die "a file as --tensorboard is not refused before anything is written: $(cat out)"

python=${PYTHON:-python3}
"$python" -c 'import xprof' 2>/dev/null || skip "python3 has no xprof, the profile plugin"
"$TT_BUILD"/tests/test_xspace gpu || die "no trace of a GPU"
"$python" - 2>log <<'PYTHON' || die "$(tail -n 5 log)"
import json, os
from xprof.convert import raw_to_tool_data

def tables(path, tool):
    data, _ = raw_to_tool_data.xspace_to_tool_data([path], tool, {"use_saved_result": False})
    data = json.loads(data)
    return data if isinstance(data, list) else [data]

def rows(table):
    return [[cell.get("v") for cell in row["c"]] for row in table["rows"]]

def steps(path):
    return rows(tables(path, "overview_page")[1])

def operations(path):  # rank, host or device, kind, name, how often, microseconds
    return [row[1:6] for row in rows(tables(path, "framework_op_stats")[1])]

# measured on this machine
here = "board/plugins/profile/one/rank0.xplane.pb"
events = json.load(open("profiles/one/trace.json"))["traceEvents"]
kernels = [e for e in events if e.get("cat") == "kernel"]
traced = {e["args"]["step"] for e in kernels}
assert len(steps(here)) == len(traced), steps(here)
found = operations(here)
assert sum(row[3] for row in found) >= len(kernels), found
gemms = sum(row[4] for row in found if row[1] == "gemm")
assert abs(gemms - sum(e["dur"] for e in kernels if e["name"].startswith("gemm "))) < 0.01 * gemms + 1, gemms
trace = json.loads(raw_to_tool_data.xspace_to_tool_data([here], "trace_viewer", {"use_saved_result": False})[0])
assert sum(":" in e.get("name", "") or e.get("name") == "gemm" for e in trace["traceEvents"]) > 10

# a GPU's, made by hand: two steps of 80 us of kernels each
gpu = "gpu/plugins/profile/gpu/rank0.xplane.pb"
assert sorted(row[1:4] for row in operations(gpu)) == [["gemm", "attention_output/gemm", 2.0], ["gemm", "qkv_projection/gemm", 2.0]]
assert all(row[0] == "Device" for row in operations(gpu))
assert [round(step[1] * 1e3) for step in steps(gpu)] == [80, 80], steps(gpu)  # device compute, ms
print("ok   the profile plugin reads what was written")
PYTHON
passed "the profile plugin"
finish

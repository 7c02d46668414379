#!/usr/bin/env bash
# tt train --tensorboard, read by TensorBoard's own reader if Python has it.
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
small="--num-layers 1 --hidden-dim 32 --num-heads 2 --num-kv-heads 1 --ffn-dim 32 --batch-size 2 --seq-len 16"
"$TT" train $small --num-steps 12 --val-interval 6 --out run --tensorboard board --quiet >log 2>&1 || die "$(cat log)"
[ "$(ls board | wc -l)" -eq 1 ] || die "not one event file: $(ls board)"
"$TT" train $small --num-steps 2 --out '' --tensorboard /proc/none --quiet >log 2>err && die "wrote into /proc"
grep -q /proc/none err || die "the error does not name the folder: $(cat err)"
echo mine >note
"$TT" train $small --num-steps 2 --out beside --tensorboard note --quiet >log 2>err
[ $? -eq 2 ] && [ ! -e beside ] || die "a file as --tensorboard is not refused before anything is written: $(cat err)"

# A run is killed after step 12, with a checkpoint of step 8, and resumed: the repeated steps appear once. The same for
# a new run that replaces another one.
"$TT" train $small --num-steps 12 --save-interval 4 --val-interval 4 --out again --tensorboard resumed --quiet >log 2>&1 || die "$(cat log)"
rm -r again/step-00000012
"$TT" train --resume auto --out again --tensorboard resumed --quiet >log 2>&1 || die "$(cat log)"
for seed in 1 2; do
    "$TT" train $small --num-steps 3 --seed $seed --out "new-$seed" --tensorboard replaced --quiet >log 2>&1 || die "$(cat log)"
done
[ "$(ls resumed | wc -l)" -eq 2 ] || die "a resumed run writes a file of its own: $(ls resumed)"

python=${PYTHON:-python3}
"$python" -c 'import tensorboard' 2>/dev/null || skip "python3 has no tensorboard"
"$python" - <<'PYTHON'
import json
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

board = EventAccumulator("board", size_guidance={"scalars": 0, "histograms": 0})  # 0: all of them
board.Reload()
steps = [json.loads(line) for line in open("run/metrics.jsonl")]
losses = {s["step"]: s["loss"] for s in steps if "loss" in s}
read = {e.step: e.value for e in board.Scalars("train/loss")}
assert read.keys() == losses.keys() and len(read) == 12, read
assert all(abs(read[s] - losses[s]) < 1e-5 for s in read)
assert [e.step for e in board.Scalars("validation/loss")] == [6, 12]
h = board.Histograms("gradients/norm_by_tensor")
assert [e.step for e in h] == [6, 12]
norms = {s["step"]: s["grad_norm"] for s in steps if "loss" in s}
for e in h:  # the squares of the tensors' norms sum to the square of the whole norm
    assert abs(e.histogram_value.sum_squares ** 0.5 - norms[e.step]) < 1e-3 * norms[e.step]
    assert sum(e.histogram_value.bucket) == e.histogram_value.num == 11, e
assert b"hidden-dim: 32" in board.Tensors("config")[0].tensor_proto.string_val[0]

def losses_of(folder, tag="train/loss"):
    board = EventAccumulator(folder, size_guidance={"scalars": 0})
    board.Reload()
    return [(e.step, e.value) for e in board.Scalars(tag)]

for tag, steps in (("train/loss", range(1, 13)), ("validation/loss", (4, 8, 12))):
    assert [s for s, _ in losses_of("resumed", tag)] == list(steps), losses_of("resumed", tag)
second = {s["step"]: s["loss"] for s in map(json.loads, open("new-2/metrics.jsonl")) if "loss" in s}
assert [s for s, _ in losses_of("replaced")] == [1, 2, 3] and all(abs(v - second[s]) < 1e-5 for s, v in losses_of("replaced"))
print("ok   TensorBoard reads what was written")
PYTHON

"""Uses the Python module as a program would, and checks what it answers. Leaves a run in the folder it is given, for
test_python.sh to compare with one of tt train. Without NumPy the checks of its arrays are left out."""
import array
import copy
import ctypes
import gc
import json
import os
import pathlib
import pickle
import signal
import sys
import threading
import time
import warnings

import tinytransformer as tt

try:
    import numpy as np
except ImportError:
    np = None

SETTINGS = dict(hidden_dim=32, num_layers=2, batch_size=4, seq_len=16, grad_accum=2, num_steps=6, threads=1)
failures = 0


def check(good, what):
    global failures
    if not good:
        failures += 1
        print("FAIL", what)


def refuses(kind, words, call, *arguments, **settings):
    try:
        call(*arguments, **settings)
    except kind as e:
        check(words in str(e), f"{type(e).__name__} without {words!r}: {e}")
    else:
        check(False, f"no {kind.__name__}: {words}")


def go_on(device, folder):
    """Half of a run, saved; the other half by a model that is loaded from there."""
    losses = []
    with device.create(**SETTINGS) as model:
        check(model.shape[6:11] == (8, 4, 16, 0, 6), model.shape)
        losses += [model.step().loss for _ in range(3)]
        loss = model.evaluate()
        model.save(folder)
    with device.load(folder, threads=1) as model:
        check(model.evaluate() == loss, "another loss after loading")
        metrics = [model.step() for _ in range(3)]
        losses += [m.loss for m in metrics]
        check([m.step for m in metrics] == [4, 5, 6] and all(m.applied and m.grad_norm > 0 for m in metrics), metrics)
        model.save(folder)
        tokens = model.generate([0], max_tokens=20, seed=7)
        check(model.encode(model.decode(tokens)) == tokens, "text does not come back")
        check(model.generate(model.decode([0]), max_tokens=20, seed=7) == tokens, "a text continues otherwise")
        model.export(folder + ".hf", dtype="bf16")
        refuses(tt.UsageError, "not empty", model.export, folder + ".hf")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model.export(folder + ".gguf")
        check(["left out" in str(w.message) for w in said] == [True], "an export without its tokenizer is silent")
        refuses(TypeError, "token numbers", model.generate, [[1], [2]])
        refuses(TypeError, "token numbers", model.generate, [1 << 40])
        refuses(TypeError, "token numbers", model.decode, "text")
        refuses(TypeError, "not int", model.encode, 5)
    with device.load(folder, data="none") as model:
        model.save(folder + ".again")
    with device.load(folder + ".again") as model:
        check(model.encode(model.decode(tokens)) == tokens, "the tokenizer was not saved without data")
    with open(folder + ".json", "w", encoding="utf-8") as f:
        json.dump({"losses": losses, "tokens": tokens}, f)


def own_tokens(device):
    """Sequences of the caller's: the same loss however they are given, and clear words where they are wrong."""
    rows = array.array("i", (i % 11 for i in range(4 * 17)))
    view = memoryview(rows).cast("B").cast("i", (4, 17))
    with device.create(data="none", vocab_size=11, hidden_dim=32, num_layers=1, batch_size=4, seq_len=16,
                       learning_rate=0.01, warmup_steps=0) as model:
        before = model.evaluate(view)
        check(model.evaluate(view.toreadonly()) == before, "read-only tokens: another loss")
        first = model.step(view).loss
        check(abs(first - before) < 1e-5, f"{first} is not {before}")
        for _ in range(30):
            last = model.step(view).loss
        check(last < 0.5 * first, f"it does not learn: {first}, {last}")
        refuses(ValueError, "the shape is (68,), not (4, 17)", model.step, rows)
        refuses(TypeError, "not int32", model.step, array.array("q", rows))
        refuses(TypeError, "not list", model.step, list(rows))
        refuses(tt.UsageError, "data: none", model.step)
        refuses(tt.UsageError, "no tokenizer", model.generate, "text")
        check(model.generate(max_tokens=4, temperature=0) == model.generate([0], max_tokens=4, temperature=0),
              "nothing does not start at token 0")
        refuses(tt.UsageError, "max_tokens", model.generate, [1], max_tokens=0)
        refuses(tt.UsageError, "seed -1: use 0", model.generate, [1], seed=-1)
        refuses(tt.UsageError, "seed 18446744073709551616: use 0", model.generate, [1], seed=2**64)
        rows[40] = 11
        refuses(tt.UsageError, "token 6 of sequence 2 is 11", model.step, view)
        rows[40] = 7
        if np:
            numpy_tokens(model, np.array(rows, dtype=np.int32).reshape(4, 17), model.evaluate(view))


def numpy_tokens(model, x, loss):
    check(model.evaluate(x) == loss, "an array of NumPy: another loss")
    inputs, targets = np.ascontiguousarray(x[:, :-1]), np.ascontiguousarray(x[:, 1:])
    check(model.evaluate(inputs, targets) == loss, "tokens and targets: another loss")
    refuses(TypeError, "int64, not int32", model.step, x.astype("int64"))
    refuses(ValueError, "the shape is (4, 16), not (4, 17)", model.step, inputs)
    refuses(ValueError, "not contiguous", model.step, np.asfortranarray(x))
    refuses(ValueError, "not contiguous", model.step, np.repeat(x, 2, axis=1)[:, ::2])
    refuses(ValueError, "not the next tokens", model.step, inputs, inputs)
    masked = np.ma.masked_array(x, mask=x == x[0, 0])
    refuses(TypeError, "tokens: the array is masked", model.step, masked)
    refuses(TypeError, "targets: the array is masked", model.step, inputs, np.ma.masked_array(targets))
    refuses(TypeError, "prompt: the array is masked", model.generate, masked[0])
    refuses(TypeError, "targets", model.step, inputs, targets.astype("float32"))


def misuse(device):
    model = device.create(**SETTINGS)
    threads = [threading.Thread(target=lambda: [model.step() for _ in range(5)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(model.shape.step == 15, f"{model.shape.step} steps of three threads")
    for what in (model, device):
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            refuses(TypeError, "cannot be copied or pickled", attempt, what)
    gc.collect()
    child = os.fork()
    if not child:
        try:
            model.step()
        except tt.UsageError as e:
            os._exit(0 if "fork" in str(e) else 1)
        os._exit(2)
    check(os.waitpid(child, 0)[1] == 0, "a model is used after a fork")
    check(model.step().step == 16, "the parent goes on")
    for _ in range(2):
        model.close()
    for call in (model.step, model.evaluate, lambda: model.shape, lambda: model.save("x")):
        refuses(tt.UsageError, "the model is closed", call)
    refuses(tt.UsageError, "there is no option hidden_dims; did you mean hidden_dim?", device.create, hidden_dims=3)
    refuses(TypeError, "None is not a setting", device.create, data=None)
    refuses(tt.UsageError, "seed: -1 is out of range", device.create, seed=-1)
    refuses(tt.UsageError, "or leave update_share out", device.create, update_share=0.5)
    refuses(tt.UsageError, "tt train --ranks", device.create, ranks=2)  # the message writes a command as it is typed
    refuses(tt.UsageError, "my-len.txt; check", device.create, data="my-len.txt")  # and a path too
    refuses(tt.UsageError, "no data file no such #1.txt", device.create, data=pathlib.Path("no such #1.txt"))
    refuses(tt.UsageError, "/no/such", device.load, "/no/such/run")
    for call in (device.load, device.create(**SETTINGS).save, device.create(**SETTINGS).export):
        refuses(ValueError, "zero byte", call, "one\0two")


def cycles():
    """Devices and models that refer to each other are collected in any order: a device is closed after its models."""
    lib, said = tt._library.library(), []
    free, close = lib.libtt_free, lib.libtt_close
    lib.libtt_free = lambda pointer: (said.append("free"), free(pointer))
    lib.libtt_close = lambda pointer: (said.append("close"), close(pointer))
    for _ in range(3):
        device = tt.open(threads=1)
        models = [device.create(**SETTINGS) for _ in range(2)]
        device.friends = models[0].friends = [device, models]
        del device, models
        gc.collect()
    device = tt.open(threads=1)
    model = device.create(**SETTINGS)
    device.close()
    model.close()
    lib.libtt_free, lib.libtt_close = free, close
    check(said == ["free", "free", "close"] * 3 + ["free", "close"], f"freed in the order {said}")


def interrupted(device):
    """Ctrl-C ends a long generation, and the model is as before."""
    with device.create(**SETTINGS) as model:
        want = model.generate([0], max_tokens=5)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        start = time.monotonic()
        try:
            model.generate([0], max_tokens=1 << 17)
            check(False, "no KeyboardInterrupt")
        except KeyboardInterrupt:
            print(f"     ended after {time.monotonic() - start:.1f} s")
        timer.join()
        check(signal.getsignal(signal.SIGINT) is signal.default_int_handler, "the handler of Ctrl-C was not put back")
        check(model.generate([0], max_tokens=5) == want, "other tokens afterwards")


def profiles(folder):
    first = tt.profile(folder, hidden_dim=32, num_layers=1, batch_size=2, seq_len=16, num_steps=2, threads=1)
    shown = first._repr_html_()
    check(first.data["run"]["hidden_dim"] == 32, "a profile of another model")
    check(shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;') and shown.count("<") == 2, shown[:80])
    check("allow-same-origin" not in shown, "the page may reach the notebook")
    check(tt.Profile(folder)._repr_html_() == shown, "it opens otherwise")
    refuses(tt.UsageError, "profile has no option no_such", tt.profile, folder, no_such=1)


def structs():
    """Of the sizes that a C compiler gave them."""
    sizes = [ctypes.sizeof(getattr(tt._library, name)) for name in ("CError", "CShape", "CMetrics", "CSampling")]
    check(sizes == [int(word) for word in os.environ["TT_SIZES"].split()], f"structs of {sizes} bytes")


def main():
    structs()
    check(tt.version().startswith("0.1."), tt.version())
    device = tt.open(threads=1)
    check(device.name, "a device without a name")
    go_on(device, sys.argv[1])
    own_tokens(device)
    misuse(device)
    cycles()
    interrupted(device)
    profiles(sys.argv[1] + ".profile")
    model = device.create(**SETTINGS)
    device.close()
    refuses(tt.UsageError, "the model is closed", model.step)
    refuses(tt.UsageError, "the backend is closed", device.create)
    refuses(tt.UsageError, "threads", tt.open, threads=-3)
    print("FAIL" if failures else "ok  ", "the module answers", "" if np else "(without NumPy)")
    sys.exit(failures != 0)


main()

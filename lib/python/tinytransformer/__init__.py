"""Train a small LLaMA from Python, with the bits of `tt train`.

    import tinytransformer as tt

    with tt.open() as device:
        model = device.create(preset="tiny", batch_size=16)
        for _ in range(100):
            metrics = model.step()
        model.save("runs/mine")
    tt.profile("profiles/first", version="baseline")    # a notebook shows the report

Settings are the options of `tt train` (`tt help train` lists them), with _ for -. Tokens are int32 arrays of NumPy, or
anything else with such a buffer (array.array, memoryview). A failure raises Error, with the message of tt.
"""
from __future__ import annotations

import array
import ctypes as c
import html
import json
import os
import signal
import subprocess
import threading
import warnings
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence, Union

from . import _library
from ._library import DeviceError, Error, Shape, UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Tokens = Union[npt.NDArray[np.int32], array.array[int], memoryview]
Setting = Union[str, int, float, "os.PathLike[str]"]
Folder = Union[str, "os.PathLike[str]"]

__all__ = ["Backend", "DeviceError", "Error", "Metrics", "Model", "Profile", "Shape", "UsageError", "open", "profile",
           "version"]


class Metrics(NamedTuple):
    step: int
    loss: float  # mean over the tokens of the step, in nats
    grad_norm: float
    learning_rate: float
    applied: bool  # False: loss or gradients were not finite, so the weights were not updated


def version() -> str:
    """The version of libtt, with its backend: "0.1.0 (cuda)"."""
    return str(_library.library().libtt_version().decode())


def _word(value: Setting) -> str:
    if value is None:
        raise TypeError("None is not a setting; leave it out, or write \"none\" where the option has that")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _lines(settings: dict[str, Setting]) -> bytes:
    """The settings as libtt reads them: YAML."""
    words = {k: json.dumps(os.fspath(v), ensure_ascii=False) if isinstance(v, (str, os.PathLike)) else _word(v)
             for k, v in settings.items()}
    return "".join(f"{key.replace('_', '-')}: {word}\n" for key, word in words.items()).encode()


def _refuse_mask(tokens: Any, what: str) -> None:
    if hasattr(tokens, "mask") and hasattr(tokens, "filled"):
        raise TypeError(f"{what}: the array is masked, which says nothing here; use array.filled(token) or array.data")


def _view(tokens: Any, shape: tuple[int, int], what: str) -> c.Array[c.c_int32]:
    """The tokens, if they are int32, contiguous and of that shape; copied only if they are read-only."""
    _refuse_mask(tokens, what)
    try:
        view = memoryview(tokens)
    except TypeError:
        raise TypeError(f"{what}: an int32 array is needed, not {type(tokens).__name__}") from None
    if view.format not in ("i", "l", "<i", "=i") or view.itemsize != 4:
        raise TypeError(f"{what}: the elements are {getattr(tokens, 'dtype', view.format)}, not int32; "
                        "use array.astype('int32')")
    if view.shape != shape:
        raise ValueError(f"{what}: the shape is {view.shape}, not {shape}")
    if not view.c_contiguous:
        raise ValueError(f"{what}: the array is not contiguous; use numpy.ascontiguousarray(array)")
    kind = c.c_int32 * (shape[0] * shape[1])
    return kind.from_buffer_copy(view) if view.readonly else kind.from_buffer(view)


def _path(path: Folder) -> bytes:
    if b"\0" in (name := os.fsencode(path)):
        raise ValueError("a path has no zero byte")  # C would read it to there
    return name


def _numbers(tokens: Any, what: str) -> c.Array[c.c_int32]:
    _refuse_mask(tokens, what)
    try:
        numbers = array.array("i", list(tokens))
    except (TypeError, OverflowError) as e:
        raise TypeError(f"{what}: a list of token numbers is needed: {e}") from None
    return (c.c_int32 * len(numbers))(*numbers)


def _join(tokens: Tokens | None, targets: Tokens | None, rows: int, length: int) -> c.Array[c.c_int32] | None:
    """The sequences as libtt takes them: with one more token, the last target."""
    if targets is None:
        return None if tokens is None else _view(tokens, (rows, length + 1), "tokens")
    import numpy as np
    for name, array_ in (("tokens", tokens), ("targets", targets)):
        _view(array_, (rows, length), name)
    x, y = np.asarray(tokens), np.asarray(targets)
    if not np.array_equal(x[:, 1:], y[:, :-1]):
        raise ValueError("targets: they are not the next tokens, targets[:, :-1] == tokens[:, 1:]")
    return _view(np.concatenate([x, y[:, -1:]], axis=1), (rows, length + 1), "tokens")


def _ask(name: str, *arguments: Any) -> Any:
    """Calls a function of libtt. Returns its result; where that is only success, its note, or ""."""
    error = _library.CError()
    result = getattr(_library.library(), "libtt_" + name)(*arguments, c.byref(error))
    text = error.text.decode(errors="replace")
    _library.check(error.code, text)
    return text if result is True else result


class _Device:
    """What a backend and its models share. The last of them to be closed closes the device, in whatever order Python
    collects them."""

    def __init__(self, settings: bytes) -> None:
        self.lock, self.users = threading.RLock(), 0
        self.pointer: int = _ask("open", settings)

    def drop(self, pointer: int) -> None:
        self.users -= 1
        if pointer != self.pointer:
            _library.library().libtt_free(pointer)
        if not self.users:
            _library.library().libtt_close(self.pointer)


class _Handle:
    """A pointer of libtt. Threads take turns; after a fork only the process that opened it may use it."""
    _pointer: int | None = None

    def __init__(self, device: _Device, pointer: int) -> None:
        self._device, self._lock, self._pid = device, device.lock, os.getpid()
        self._pointer = pointer
        device.users += 1

    def _open(self) -> int:
        if not self._pointer:
            raise UsageError(f"the {type(self).__name__.lower()} is closed")
        return self._pointer

    def _call(self, name: str, *arguments: Any) -> Any:
        if self._pid != os.getpid():
            raise UsageError("it was opened in another process, before a fork; open a device in this one")
        with self._lock:
            return _ask(name, self._open(), *arguments)

    def close(self) -> None:
        """Frees its memory. It may be closed twice."""
        if not self._pointer or self._pid != os.getpid():
            return
        with self._lock:
            pointer, self._pointer = self._pointer, None
            if pointer:
                self._device.drop(pointer)

    def __reduce__(self) -> str:  # of copy and pickle: a second object would free the same pointer
        raise TypeError(f"a {type(self).__name__.lower()} cannot be copied or pickled; save a model, and load it")

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class Backend(_Handle):
    """A device; tt.open() opens it."""

    def __init__(self, settings: bytes) -> None:
        self._models: weakref.WeakSet[Model] = weakref.WeakSet()
        device = _Device(settings)
        super().__init__(device, device.pointer)
        self.name: str = _library.library().libtt_device(self._pointer).decode()

    def __enter__(self) -> Backend:
        return self

    def create(self, **settings: Setting) -> Model:
        """A new model with random weights, ready to train. With data="none" every call needs tokens."""
        return Model(self, None, _lines(settings))

    def load(self, path: Folder, **settings: Setting) -> Model:
        """A checkpoint, or the newest undamaged one of a run. Settings override those of the checkpoint."""
        return Model(self, _path(path), _lines(settings))

    def close(self) -> None:
        """Closes its models, then the device."""
        for model in list(self._models):
            model.close()
        super().close()


class Model(_Handle):
    """A model on a device; Backend.create and Backend.load make it."""

    def __init__(self, backend: Backend, path: bytes | None, settings: bytes) -> None:
        with backend._lock:
            super().__init__(backend._device, backend._call("load", path, settings))
            backend._models.add(self)
        self._backend = backend  # lives as long as its models

    def __enter__(self) -> Model:
        return self

    @property
    def shape(self) -> Shape:
        with self._lock:
            shape = _library.library().libtt_shape(self._open())
        return Shape(*(getattr(shape, name) for name in Shape._fields))

    @property
    def end_token(self) -> int | None:
        """The token that ends a text: that of the data's documents, else the tokenizer's; None: there is none."""
        with self._lock:
            token = int(_library.library().libtt_end_token(self._open()))
        return None if token < 0 else token

    def step(self, tokens: Tokens | None = None, targets: Tokens | None = None) -> Metrics:
        """One optimiser step over tokens (rows, length + 1), or over tokens and targets (rows, length), where targets
        are the next tokens. Without either, over the next sequences of the data."""
        m = _library.CMetrics()
        self._call("step", _join(tokens, targets, self.shape.rows, self.shape.length), c.byref(m))
        return Metrics(m.step, m.loss, m.grad_norm, m.learning_rate, m.applied)

    def evaluate(self, tokens: Tokens | None = None, targets: Tokens | None = None) -> float:
        """The mean loss over eval_rows sequences, given as for step; without them over the held-out data."""
        loss = c.c_double()
        self._call("evaluate", _join(tokens, targets, self.shape.eval_rows, self.shape.length), c.byref(loss))
        return loss.value

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, with the one before it that the tokenizer puts before texts, if it does."""
        if not isinstance(text, str):
            raise TypeError(f"text: a str is needed, not {type(text).__name__}")
        data = text.encode()
        room = (c.c_int32 * self._call("encode", data, len(data), None, 0))()
        self._call("encode", data, len(data), room, len(room))
        return list(room)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens; what is not UTF-8 becomes U+FFFD."""
        given = _numbers(tokens, "tokens")
        room = c.create_string_buffer(self._call("decode", given, len(given), None, 0))
        self._call("decode", given, len(given), room, len(room))
        return room.raw.decode(errors="replace")

    def generate(self, prompt: str | Sequence[int] = "", max_tokens: int = 128, temperature: float = 0.8,
                 top_k: int = 0, top_p: float = 1.0, repetition_penalty: float = 1.0, seed: int = 42,
                 ignore_end: bool = False) -> list[int]:
        """New tokens after a text, after tokens, or after nothing, as `tt generate` draws them; decode makes text of
        them. A token that ends a text is the last one; Ctrl-C stops at the next token."""
        if not 0 <= seed < 2**64:
            raise UsageError(f"seed {seed}: use 0 to {2**64 - 1}")
        # an empty text needs no tokenizer
        start = _numbers(self.encode(prompt) if isinstance(prompt, str) and prompt else prompt, "prompt")
        stopped: list[int] = []
        ask = _library.OnToken(lambda token, arg: not stopped)
        how = _library.CSampling(max_tokens, temperature, top_k, top_p, repetition_penalty, seed, ignore_end, ask, None)
        out, made = (c.c_int32 * max(max_tokens, 1))(), c.c_int64()
        mine = (threading.current_thread() is threading.main_thread()
                and signal.getsignal(signal.SIGINT) is signal.default_int_handler)
        if mine:
            signal.signal(signal.SIGINT, lambda number, frame: stopped.append(number))
        try:
            self._call("generate", start, len(start), c.byref(how), out, c.byref(made))
        finally:
            if mine:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        if stopped:
            raise KeyboardInterrupt
        return out[:made.value]

    def save(self, folder: Folder) -> None:
        """Saves a checkpoint in the folder of a run; load and `tt train --resume` read it."""
        self._call("save", _path(folder))

    def export(self, path: Folder, dtype: str = "fp32") -> None:
        """Writes the model for transformers into a new or empty folder, or for llama.cpp if the path ends in .gguf.
        dtype: fp32, bf16 or fp16; for llama.cpp also q8_0. Warns if it left the tokenizer out."""
        note = self._call("export", _path(path), dtype.encode())
        if note:
            warnings.warn(note, stacklevel=2)


class Profile:
    """A profile that tt wrote: its folder, and profile.json as data. A notebook shows its report."""

    def __init__(self, folder: Folder) -> None:
        self.folder = Path(folder)
        self.data: dict[str, Any] = json.loads((self.folder / "profile.json").read_text(encoding="utf-8"))

    def _repr_html_(self) -> str:
        """In a frame of its own: neither its styles nor its script reach the notebook."""
        page = html.escape((self.folder / "report.html").read_text(encoding="utf-8"))
        return (f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="profile" '
                'style="width: 100%; height: 700px; border: 1px solid #ccc"></iframe>')


def open(**settings: Setting) -> Backend:
    """Opens a device. Only its own settings are used: device, threads, precision, kernels, gemm_tune."""
    return Backend(_lines(settings))


def profile(folder: Folder, **settings: Setting) -> Profile:
    """Measures a training step with `tt profile` and writes the profile into a folder. Settings are its options."""
    words = [f"--{key.replace('_', '-')}={_word(value)}" for key, value in settings.items()]
    done = subprocess.run([_library.program(), "profile", "--out", os.fspath(folder), "--quiet", *words], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    _library.check(done.returncode, done.stderr.strip() or f"tt profile ended with {done.returncode}")
    return Profile(folder)

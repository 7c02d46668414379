"""libtt.h for ctypes: its structs, functions and errors; and where the program tt is."""
from __future__ import annotations

import ctypes as c
import functools
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

ABI = "0.1."  # the structs below are those of this version


class Shape(NamedTuple):
    parameters: int
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    vocabulary: int
    rows: int  # sequences in a step: batch-size times grad-accum
    eval_rows: int  # sequences in an evaluation: batch-size
    length: int  # seq-len; a sequence is passed with one more token, the target of the last
    step: int  # steps done
    steps: int  # num-steps, where the learning rate schedule ends; more are allowed
    device_bytes: int


class Error(RuntimeError):
    """A valid request that failed: a damaged file, no permission, no disk space, no memory."""


class UsageError(Error, ValueError):
    """An invalid request: a bad setting or value, a path that does not exist, a closed model."""


class DeviceError(Error):
    """No usable GPU, driver or runtime."""


class CError(c.Structure):
    _fields_ = [("code", c.c_int), ("text", c.c_char * 1000)]


class CShape(c.Structure):
    _fields_ = [(name, c.c_size_t if name == "device_bytes" else c.c_int64) for name in Shape._fields]


class CMetrics(c.Structure):
    _fields_ = [("step", c.c_int64), ("loss", c.c_float), ("grad_norm", c.c_float), ("learning_rate", c.c_float),
                ("applied", c.c_bool)]


OnToken = c.CFUNCTYPE(c.c_bool, c.c_int32, c.c_void_p)


class CSampling(c.Structure):
    _fields_ = [("max_tokens", c.c_int64), ("temperature", c.c_double), ("top_k", c.c_int64), ("top_p", c.c_double),
                ("repetition_penalty", c.c_double), ("seed", c.c_uint64), ("ignore_end", c.c_bool),
                ("on_token", OnToken), ("arg", c.c_void_p)]


# --batch-size, and the options that messages name without dashes: an unknown one, and the one that was meant
NAMES = re.compile(r"(?:(?<!\S)--|(?<=no option )|(?<=did you mean ))([a-z][a-z0-9-]*)")


def spoken(text: str) -> str:
    """A message of tt with the names that arguments have here; commands to type stay as they are."""
    parts = re.split(r"(\btt [a-z]+ [^;]*)", re.sub(r"^line \d+: ", "", text.removeprefix("tt: ")))
    return "".join(p if i % 2 else NAMES.sub(lambda m: m[1].replace("-", "_"), p) for i, p in enumerate(parts))


def check(code: int, text: str) -> None:
    """Raises the exception of an error code of libtt or an exit code of tt; 0 raises none."""
    if code:
        raise {2: UsageError, 3: DeviceError}.get(code, Error)(spoken(text))


def find(name: str, variable: str, folder: str) -> str | None:
    """The file beside this module, else what the environment variable names, else that in a folder of sys.prefix."""
    beside, placed = Path(__file__).with_name(name), Path(sys.prefix, folder, name)
    return str(beside) if beside.exists() else os.environ.get(variable) or (str(placed) if placed.exists() else None)


def program() -> str:
    found = find("tt", "TT_PROGRAM", "bin") or shutil.which("tt")
    if not found:
        raise Error("no program tt beside the module or in PATH; name it with TT_PROGRAM")
    return found


def main() -> None:
    """The command tt: this process becomes the program."""
    os.execv(program(), ["tt", *sys.argv[1:]])


@functools.lru_cache(maxsize=None)
def library() -> c.CDLL:
    path = find("libtt.so", "TT_LIBRARY", "lib") or "libtt.so.0"
    try:
        lib = c.CDLL(path)
        lib.libtt_version.restype = c.c_char_p
        version = lib.libtt_version().decode()
    except (OSError, AttributeError) as e:
        raise Error(f"libtt cannot be loaded; name it with TT_LIBRARY: {e}") from None
    if not version.startswith(ABI):
        raise Error(f"{path} is libtt {version}, but this module is for {ABI}x")
    handle, text, tokens, i64, error = c.c_void_p, c.c_char_p, c.POINTER(c.c_int32), c.c_int64, c.POINTER(CError)
    types: dict[str, tuple[Any, list[Any]]] = {
        "open": (handle, [text, error]), "device": (text, [handle]), "close": (None, [handle]),
        "load": (handle, [handle, text, text, error]), "free": (None, [handle]), "shape": (CShape, [handle]),
        "end_token": (c.c_int32, [handle]), "step": (c.c_bool, [handle, tokens, c.POINTER(CMetrics), error]),
        "evaluate": (c.c_bool, [handle, tokens, c.POINTER(c.c_double), error]),
        "save": (c.c_bool, [handle, text, error]), "export": (c.c_bool, [handle, text, text, error]),
        "generate": (c.c_bool, [handle, tokens, i64, c.POINTER(CSampling), tokens, c.POINTER(i64), error]),
        "encode": (i64, [handle, text, i64, tokens, i64, error]),
        "decode": (i64, [handle, tokens, i64, text, i64, error])}
    for name, (result, arguments) in types.items():
        function = getattr(lib, "libtt_" + name)
        function.restype, function.argtypes = result, arguments
    return lib

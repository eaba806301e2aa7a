"""Inputs that decorated functions were called with, recorded from running programs.

They serve editors, and functions that do not state their shapes. A hint, never a part of an answer: it lies by path,
and its value is checked like any other input.
"""

from __future__ import annotations

import hashlib
import os

import msgpack

from mirage.errors import ProtocolError
from mirage.ir.dtypes import dtype_of
from mirage.link.request_parameters import Inputs
from mirage_daemon.cache_store import CacheStore

KIND = "shapes"
ROWS, FUNCTIONS = 16, 64  # kept of one function, and of one file
MAX_TENSORS, MAX_RANK, MAX_SIZE, MAX_NAME = 64, 16, 1 << 48, 200


def record(store: CacheStore, path: str, function: str, inputs: Inputs) -> bool:
    """Whether these inputs are new for the function. They become its latest. ProtocolError for what no call can have."""
    _check(path, function, inputs)
    known = of(store, path)
    rows = known.pop(function, [])
    new = inputs not in rows
    if not new and rows[-1] == inputs:
        return False
    known[function] = [*(r for r in rows if r != inputs), inputs][-ROWS:]
    while len(known) > FUNCTIONS:
        del known[next(iter(known))]
    store.put(KIND, _key(path), msgpack.packb(known))
    return new


def of(store: CacheStore, path: str) -> dict[str, list[Inputs]]:
    """What is known of a file's functions, each with its latest inputs last."""
    value = store.get(KIND, _key(path))
    known = {} if value is None else msgpack.unpackb(value)
    return {f: [[(n, list(s), d) for n, s, d in row] for row in rows] for f, rows in known.items()}


def _key(path: str) -> bytes:
    return hashlib.sha256(os.fsencode(path)).digest()


def _check(path: str, function: str, inputs: Inputs) -> None:
    sound = (
        os.path.isabs(path)
        and len(path) < 4096
        and len(function) <= MAX_NAME
        and 0 < len(inputs) <= MAX_TENSORS
        and all(
            len(name) <= MAX_NAME
            and len(shape) <= MAX_RANK
            and dtype_of(dtype)
            and all(0 <= n < MAX_SIZE for n in shape)
            for name, shape, dtype in inputs
        )
    )
    if not sound:
        raise ProtocolError("a call cannot have had these inputs")

"""PyTorch's largest shared library, loaded on another core while this process imports something else."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from threading import Thread

LIBRARY = "libtorch_cpu.so"  # linking it is a fifth of PyTorch's import, and holds no lock of the interpreter


@contextmanager
def loading() -> Iterator[None]:
    """Begins to load it, and ends when it is loaded. Where there is none, or it does not load, whatever imports PyTorch says so."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        yield
        return
    thread = Thread(target=_load, args=(os.path.join(os.path.dirname(spec.origin), "lib", LIBRARY),))
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _load(path: str) -> None:
    with suppress(OSError):
        ctypes.CDLL(path)

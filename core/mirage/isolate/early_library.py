"""What shortens PyTorch's import: its largest shared library is loaded on another core, and modules are found by their names."""

from __future__ import annotations

import ctypes
import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from threading import Thread
from types import FrameType, ModuleType

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


@contextmanager
def modules_by_name() -> Iterator[None]:
    """The module of a frame is the one whose globals it has. PyTorch asks for it, and for lines of text, some two hundred times while it
    registers operators; `inspect` resolves the paths of all imported modules to find it by its file, a sixth of PyTorch's import."""
    by_file = inspect.getmodule

    def module_of(object: object, _filename: str | None = None) -> ModuleType | None:
        if isinstance(object, FrameType):
            named = sys.modules.get(object.f_globals.get("__name__", ""))
            if named is not None and vars(named) is object.f_globals:
                return named
        return by_file(object, _filename)

    inspect.getmodule = module_of
    try:
        yield
    finally:
        inspect.getmodule = by_file


def _load(path: str) -> None:
    with suppress(OSError):
        ctypes.CDLL(path)

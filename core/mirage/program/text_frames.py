"""Who is calling: the traced text, or PyTorch's own Python code. Only what the text asks is its own."""

from __future__ import annotations

import os
import sys
from types import FrameType

FILE = "<function>"  # the file name of a traced text
_FORWARDING = ("overrides.py", "_tensor.py")  # of torch: they pass a call of the text on


def current_line() -> int | None:
    """The line of the text that is running, however deep in PyTorch."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == FILE:
            return frame.f_lineno
        frame = frame.f_back
    return None


def asking_line() -> int | None:
    """The line of the text if it is the text that calls; None if PyTorch's own code does. Python's library speaks for whoever
    calls it."""
    import torch

    library = os.path.dirname(torch.__file__)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name == FILE:
            return frame.f_lineno
        if name.startswith(library) and os.path.relpath(name, library) not in _FORWARDING:
            return None
        frame = frame.f_back
    return None

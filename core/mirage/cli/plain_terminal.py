"""A terminal on which text from elsewhere is only shown: what it says to the terminal itself is written out.

Messages carry words of others: what a function raised, what a server answered, names of files.
"""

from __future__ import annotations

import sys
from typing import TextIO, cast

REDRAW = "\r\033[K"  # with which the line of progress begins, and nothing else
_KEPT = "\n\t"
# Those that tell a terminal to do something, and those that turn the direction of what follows
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {c: f"\\x{c:02x}" if c < 0x100 else f"\\u{c:04x}" for c in _CONTROLS if chr(c) not in _KEPT}


def visible(text: str) -> str:
    """The text with its control characters written as Python writes them in a string."""
    ours = REDRAW if text.startswith(REDRAW) else ""
    return ours + text[len(ours) :].translate(_SHOWN)


class PlainTerminal:
    """A stream that is a terminal, written to by `visible`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(visible(text))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def enter() -> None:
    """Standard output and error of this process, where they are terminals. A file or a program gets what is said as it is."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, PlainTerminal) and stream.isatty():
            setattr(sys, name, cast(TextIO, PlainTerminal(stream)))

"""Mistakes in a graph that a script builds, with the line of the script that made them."""

from __future__ import annotations

import sys
from pathlib import Path

from mirage.errors import GraphMistake

HERE = str(Path(__file__).parent)
Place = tuple[str, int]


def caller() -> Place | None:
    """File and line of the innermost call that comes from outside the builder."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(HERE):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


def mistake(message: str, next_step: str | None = None, place: Place | None = None) -> GraphMistake:
    """A GraphMistake at `place`, or at the call that is being made."""
    path, line = place or caller() or (None, None)
    return GraphMistake(message, next_step=next_step, path=path, line=line)

"""The layout of emitted lines: calls broken as ruff would format them, without needing ruff."""

from __future__ import annotations

from collections.abc import Sequence

INDENT = "    "
WIDTH = 96  # of a line in a kernel's body before its indentation, so that nested ones stay below 120


def call(head: str, arguments: Sequence[str], tail: str = "") -> list[str]:
    """The lines of a call: one if it is short, else one an argument with the trailing comma that keeps them so."""
    line = f"{head}({', '.join(arguments)}){tail}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{head}(", *(f"{INDENT}{a}," for a in arguments), f"){tail}"]


def indented(lines: Sequence[str], by: int = 1) -> list[str]:
    return [INDENT * by + line if line else line for line in lines]

"""The µGraphs that an emitted module carries, as comments: one for each of its rows of sizes, in the order of the rows.

A verifier judges the module's text against them, and them against the function, so none is trusted: they are read as text,
within limits, and nothing of them runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mirage.errors import ModuleUnreadable, MugraphSyntax
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.parse import parse
from mirage.mugraph.text import HEADER, to_text

WIDTH = 120  # of a line, with its comment sign
FURTHER = "... "  # begins the rest of a line that was too long
MAX_CHARS, MAX_ROWS = 1 << 20, 256
_BREAK = re.compile(r"(?<=\S) (?=\S)")


def comment_lines(mugraphs: Iterable[MuGraph]) -> list[str]:
    """The µGraphs in their text form, each line a comment."""
    return [f"# {piece}" for m in mugraphs for line in to_text(m).strip("\n").split("\n") for piece in _folded(line)]


def _folded(line: str) -> Iterator[str]:
    """A line in pieces that fit, broken at single spaces; one without a space in the right place stays too long."""
    room = WIDTH - len("# ")
    while len(line) > room:
        least = len(line) - len(line.lstrip(" ")) + len(FURTHER) + 1  # what is broken off must be less than there was
        at = max((m.start() for m in _BREAK.finditer(line, least, room + 1)), default=0)
        if not at:
            break
        yield line[:at]
        line = FURTHER + line[at + 1 :]
    yield line


def read_carried(part: str, rows: int) -> list[MuGraph]:
    """The µGraphs of a module with so many rows, from its marked part. Raises ModuleUnreadable where it does not hold one for
    each row, MugraphSyntax where one does not parse; none is checked."""
    if len(part) > MAX_CHARS:
        raise ModuleUnreadable(f"the µGraphs of the module take {len(part)} characters; at most {MAX_CHARS}")
    if not 0 < rows <= MAX_ROWS:
        raise ModuleUnreadable(f"the module has {rows} rows of sizes; at most {MAX_ROWS}")
    texts: list[list[str]] = []
    for line in part.split("\n"):
        if not line.startswith("# "):
            raise ModuleUnreadable(f"a line of the module's µGraphs is no comment: {line[:40]!r}")
        text = line.removeprefix("# ")
        if text.startswith(f"{HEADER} "):
            texts.append([text])
        elif not texts:
            raise ModuleUnreadable(f"the module's µGraphs begin with {text[:40]!r}")
        elif text.startswith(FURTHER):
            texts[-1][-1] += " " + text.removeprefix(FURTHER)
        else:
            texts[-1].append(text)
    if len(texts) != rows:
        raise ModuleUnreadable(f"the module carries {len(texts)} µGraphs for {rows} rows of sizes")
    try:
        return [parse("\n".join(lines)) for lines in texts]
    except MugraphSyntax as e:
        message = f"a µGraph that the module carries does not parse at its line {e.line}: {e.message}"
        raise MugraphSyntax(message, next_step="emit the module again with `mirage optimize`") from None

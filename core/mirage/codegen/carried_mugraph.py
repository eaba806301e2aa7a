"""The µGraphs that an emitted module carries, as comments: one for each of its rows of sizes, in the order of the rows.

A verifier judges the module's text against them, and them against the function, so none is trusted: they are read as text,
within limits, and nothing of them runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mirage.errors import InvalidMugraph, ModuleUnreadable, MugraphSyntax
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.parse import parse
from mirage.mugraph.resized import like
from mirage.mugraph.text import HEADER, to_text

WIDTH = 120  # of a line, with its comment sign
FURTHER = "... "  # begins the rest of a line that was too long
MAX_CHARS, MAX_ROWS = 1 << 20, 256
AGAIN = "as number"  # a µGraph's header goes on so where it is an earlier one at other sizes
_AGAIN = re.compile(rf"{HEADER} \S+ {AGAIN} (\d{{1,3}}) with (\w+=\d{{1,15}}(?:, \w+=\d{{1,15}})*)")
_BREAK = re.compile(r"(?<=\S) (?=\S)")


def comment_lines(mugraphs: Iterable[MuGraph]) -> list[str]:
    """The µGraphs in their text form, each line a comment. One that is an earlier one at other sizes says which, and the sizes."""
    lines: list[str] = []
    whole: list[tuple[int, MuGraph]] = []
    for number, m in enumerate(mugraphs, 1):
        model = next((n for n, w in whole if _names(w) == _names(m) and like(w, dict(m.axes)) == m), 0)
        if model:
            sizes = dict(whole[[n for n, _ in whole].index(model)][1].axes)
            changed = ", ".join(f"{a}={n}" for a, n in m.axes if sizes[a] != n)
            lines += _folded(f"{HEADER} {m.name} {AGAIN} {model} with {changed}")
            continue
        whole.append((number, m))
        lines += [piece for line in to_text(m).strip("\n").split("\n") for piece in _folded(line)]
    return [f"# {line}" for line in lines]


def _names(m: MuGraph) -> tuple[str, tuple[str, ...]]:
    return m.name, tuple(a for a, _ in m.axes)


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
    found: list[MuGraph] = []
    try:
        for lines in texts:
            said = _AGAIN.fullmatch(lines[0]) if len(lines) == 1 else None
            found.append(parse("\n".join(lines)) if said is None else _again(found, said[1], said[2]))
        return found
    except MugraphSyntax as e:
        message = f"a µGraph that the module carries does not parse at its line {e.line}: {e.message}"
        raise MugraphSyntax(message, next_step="emit the module again with `mirage optimize`") from None


def _again(earlier: list[MuGraph], number: str, changed: str) -> MuGraph:
    """The µGraph of that number, counted from 1, at other sizes. Raises ModuleUnreadable where there is none, or no such axis."""
    if not 1 <= int(number) <= len(earlier):
        raise ModuleUnreadable(f"the module carries no µGraph number {number} before the one that is like it")
    sizes = {axis: int(n) for axis, _, n in (x.partition("=") for x in changed.split(", "))}
    try:
        return like(earlier[int(number) - 1], sizes)
    except InvalidMugraph as e:
        raise ModuleUnreadable(f"a µGraph of the module at other sizes: {e.message}") from None

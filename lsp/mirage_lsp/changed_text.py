"""The text after a list of changes, each relative to the text before it: one pass, whatever their number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mirage_lsp.text_lines import split_end, split_lines

BLOCK = 256  # lines; a change moves the lines of its block alone


@dataclass(frozen=True)
class TextChange:
    """`text` in place of what lies between two positions (0-based line, UTF-16 column), or of everything (`span` None)."""

    text: str
    span: tuple[int, int, int, int] | None = None


def column_of(line: str, character: int) -> int:
    """The index in a line of a UTF-16 column; inside a surrogate pair it is before the character."""
    if line.isascii():
        return min(character, len(line))
    units = 0
    for i, c in enumerate(line):
        width = 2 if c > "\uffff" else 1
        if units + width > character:
            return i
        units += width
    return len(line)


def apply_changes(text: str, changes: Iterable[TextChange]) -> str:
    """The text after the changes, in their order."""
    rest: _Lines | None = None
    for change in changes:
        if change.span is None:
            text, rest = change.text, None
            continue
        rest = rest or _Lines(text)
        rest.put(change.span, change.text)
    return text if rest is None else rest.text()


class _Lines:
    """The lines of a text, in blocks."""

    def __init__(self, text: str) -> None:
        lines = split_lines(text)
        self._blocks = [lines[i : i + BLOCK] for i in range(0, len(lines), BLOCK)]
        self._near, self._before = 0, 0  # the block of the last change, and the lines before it

    def text(self) -> str:
        return "".join(["".join(block) for block in self._blocks])

    def put(self, span: tuple[int, int, int, int], new: str) -> None:
        """Put `new` between two positions; a position past the end is the end, a range that ends before it begins is empty."""
        first, last = self._find(span[0]), self._find(span[2])
        if first is None:
            end_block = len(self._blocks) - 1
            lines_before = sum(map(len, self._blocks[:-1]))
            self._splice((end_block, len(self._blocks[-1]) - 1), None, None, new, lines_before)
            return
        block, row = first
        line = self._blocks[block][row]
        body, end = split_end(line)
        start = column_of(body, span[1])
        if last == first and "\n" not in new and "\r" not in new:
            body = body[:start] + new + body[max(start, column_of(body, span[3])) :]
            if body:  # an empty one may join its end with the end before it
                self._blocks[block][row] = body + end
                return
        self._splice(first, start, self._tail(first, start, last, span[3]), new, span[0] - row)

    def _tail(
        self, first: tuple[int, int], start: int, last: tuple[int, int] | None, character: int
    ) -> tuple[int, int, int] | None:
        """Where what stays begins: block, row, column; None: at the end of the text."""
        if last is None:
            return None
        if last < first:
            return (*first, start)
        column = column_of(split_end(self._blocks[last[0]][last[1]])[0], character)
        return (*last, max(start, column) if last == first else column)

    def _splice(
        self, first: tuple[int, int], start: int | None, tail: tuple[int, int, int] | None, new: str, before: int
    ) -> None:
        """Put `new` between a column of a line (None: its end) and a tail; `before`: lines before its block. The lines on
        both sides are split anew with it: a CR and a LF may have met."""
        blocks = self._blocks
        head = blocks[first[0]][first[1]]
        head = head if start is None else head[:start]
        stop = (len(blocks) - 1, len(blocks[-1]) - 1) if tail is None else tail[:2]
        rest = "" if tail is None else blocks[stop[0]][stop[1]][tail[2] :]
        begin, self._near, self._before = first, first[0], before
        if first != (0, 0):
            begin = (first[0], first[1] - 1) if first[1] else (first[0] - 1, len(blocks[first[0] - 1]) - 1)
            self._near, self._before = begin[0], before - (len(blocks[begin[0]]) if begin[0] < first[0] else 0)
            head = blocks[begin[0]][begin[1]] + head
        kept = blocks[stop[0]][stop[1] + 1 :]
        lines = split_lines(head + new + rest)
        if not lines[-1] and (kept or stop[0] + 1 < len(blocks)):
            lines.pop()  # what follows is the line that begins there
        whole = [*blocks[begin[0]][: begin[1]], *lines, *kept]
        size = BLOCK if len(whole) > 2 * BLOCK else len(whole)
        blocks[begin[0] : stop[0] + 1] = [whole[i : i + size] for i in range(0, len(whole), size)]

    def _find(self, line: int) -> tuple[int, int] | None:
        """Block and row of a line, None past the last one. Changes lie beside each other, so the search begins at the last."""
        at, before = self._near, self._before
        while at and line < before:
            at -= 1
            before -= len(self._blocks[at])
        while line - before >= len(self._blocks[at]):
            before += len(self._blocks[at])
            at += 1
            if at == len(self._blocks):
                return None
        self._near, self._before = at, before
        return at, line - before

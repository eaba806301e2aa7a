"""A text as its top-level statements, each parsed only when it is asked for.

Parsing a whole file costs more than an editor may wait at each keystroke, and one syntax error would hide everything
else; so the text is cut at the lines that begin a top-level statement, and a statement that does not parse hides
only itself. Line and column of every node are those of the whole text.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict

from mirage.errors import SourceSyntaxError

# A line that goes on with the statement before it although it begins in the first column.
_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b")
_HEAD = re.compile(r"^(?:@|\w+)", re.MULTILINE)
_TRIPLE = re.compile(r'"""|\'\'\'')
_SHORT_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
# How many cuts may turn out to lie inside one statement (names in the first column within brackets).
MERGE = 8
# What `ast.parse` raises on a text that is not Python, on null bytes, and on absurd nesting.
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


class Place(TypedDict):
    """Where something stands, as MirageError takes it: 1-based line, 0-based column in characters."""

    path: str
    line: int
    column: int


@dataclass(frozen=True)
class Chunk:
    """The offsets of one top-level statement (with its decorators), its 1-based first line, and its first word."""

    index: int
    start: int
    end: int
    line: int
    head: str


class Chunks:
    """The top-level statements of a text. Never raises for what the text holds."""

    def __init__(self, text: str, path: str = "<text>") -> None:
        self.text, self.path = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), path
        self._parsed: dict[int, list[ast.stmt] | None] = {}

    @cached_property
    def newlines(self) -> list[int]:
        """Offsets of the newlines."""
        return [m.start() for m in re.finditer("\n", self.text)]

    def line_of(self, offset: int) -> int:
        """The 1-based line of an offset."""
        return bisect_right(self.newlines, offset - 1) + 1

    def column(self, line: int, byte_column: int) -> int:
        """A column counted in characters from `ast`'s column counted in UTF-8 bytes."""
        start = self.newlines[line - 2] + 1 if line > 1 else 0
        end = self.newlines[line - 1] if line <= len(self.newlines) else len(self.text)
        return len(self.text[start:end].encode("utf-8", "replace")[:byte_column].decode("utf-8", "ignore"))

    def place(self, node: ast.AST) -> Place:
        """Where a node of this text stands; the text's beginning for a node without a position."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return {"path": self.path, "line": line, "column": self.column(line, column)}

    @cached_property
    def all(self) -> list[Chunk]:
        """Every chunk, in the order of the text."""
        strings = _long_strings(self.text)
        starts = [s for s, _ in strings]
        heads: list[tuple[int, str]] = []
        decorated = False
        for m in _HEAD.finditer(self.text):
            at = m.start()
            i = bisect_right(starts, at) - 1
            if i >= 0 and strings[i][0] < at < strings[i][1]:
                continue
            if _CONTINUES.match(self.text, at):
                continue
            if not decorated:
                heads.append((at, m.group()))
            decorated = m.group() == "@"
        ends = [at for at, _ in heads[1:]] + [len(self.text)]
        return [Chunk(i, at, end, self.line_of(at), word) for i, ((at, word), end) in enumerate(zip(heads, ends))]

    def at(self, offset: int) -> Chunk | None:
        """The chunk that holds an offset."""
        i = bisect_right([c.start for c in self.all], offset) - 1
        return self.all[i] if i >= 0 else None

    def at_line(self, line: int) -> Chunk | None:
        """The chunk that holds a 1-based line."""
        return self.at(self.newlines[line - 2] + 1 if 1 < line <= len(self.newlines) + 1 else 0)

    def source(self, chunk: Chunk) -> str:
        return self.text[chunk.start : chunk.end]

    def parse(self, chunk: Chunk) -> list[ast.stmt] | None:
        """The chunk's statements, or None where it does not parse."""
        if chunk.index not in self._parsed:
            self._parsed[chunk.index] = None
            for last in self.all[chunk.index : chunk.index + MERGE]:
                tree = try_parse("\n" * (chunk.line - 1) + self.text[chunk.start : last.end])
                if isinstance(tree, ast.Module):
                    self._parsed[chunk.index] = tree.body
                    break
        return self._parsed[chunk.index]

    @cached_property
    def syntax_error(self) -> SourceSyntaxError | None:
        """What is wrong with the text as a whole. This parses all of it."""
        tree = try_parse(self.text)
        if isinstance(tree, ast.Module):
            return None
        return as_error(tree, self.path)


def try_parse(text: str) -> ast.Module | BaseException:
    """The tree, or what the parser raised. Warnings about the user's escapes are not ours to print."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except UNPARSABLE as error:
            return error


def as_error(error: BaseException, path: str) -> SourceSyntaxError:
    """The parser's complaint with a code, the line and the column (0-based)."""
    line = getattr(error, "lineno", None)
    offset = getattr(error, "offset", None)
    said = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
    return SourceSyntaxError(said, path=path, line=line or 1, column=max(0, (offset or 1) - 1))


def _long_strings(text: str) -> list[tuple[int, int]]:
    """The spans of the triple-quoted strings, in order."""
    spans: list[tuple[int, int]] = []
    at = 0
    while m := _TRIPLE.search(text, at):
        line_start = max(text.rfind("\n", 0, m.start()) + 1, at)
        before = _SHORT_STRING.sub("", text[line_start : m.start()])
        if "#" in before or "'" in before or '"' in before:
            at = m.end()  # within a comment or a short string
            continue
        end = m.end()
        while (end := text.find(m.group(), end)) >= 0 and _escaped(text, end):
            end += 1
        at = len(text) if end < 0 else end + 3
        spans.append((m.start(), at))
    return spans


def _escaped(text: str, at: int) -> bool:
    slashes = 0
    while text[at - 1 - slashes] == "\\":
        slashes += 1
    return slashes % 2 == 1

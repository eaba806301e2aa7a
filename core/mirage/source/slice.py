"""The part of a file that one function needs: the function, its helpers, constants and imports, and nothing else.

The slice keeps the user's own text at its own lines and columns: what is left out becomes blank, the decorator and the
annotations too (so that jaxtyping need not be installed where the slice runs). An error raised in the slice therefore
names the line of the user's file.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from mirage.errors import FunctionNotFound
from mirage.source.detect import Decorated, find
from mirage.source.module_names import Import


@dataclass(frozen=True)
class Slice:
    """`text` is the part of the file, line for line; `names` what it binds at module level, in the order of the text,
    the function last; `digest` its identity, which comments, formatting, docstrings and annotations do not change."""

    text: str
    function: str
    names: tuple[str, ...]
    digest: str

    @property
    def readable(self) -> str:
        """The text without the gaps that blanked annotations leave in signatures: for a file that people read."""
        lines = self.text.split("\n")
        for node in ast.walk(ast.parse(self.text)):
            if isinstance(node, ast.FunctionDef):
                for i in range(node.lineno - 1, node.body[0].lineno - 1):
                    lines[i] = re.sub(r" {2,}(?=[,:)=])", "", lines[i]).rstrip()
        return "\n".join(lines)


def cut(text: str, function: str | Decorated, path: str = "<text>") -> Slice:
    """The slice that a decorated function needs. Raises FunctionNotFound, UnsafeReference, SideEffect, or the
    function's own error. Nothing is run."""
    if isinstance(function, Decorated):
        return cut_decorated(function)
    functions = find(text, path).functions
    for found in functions:
        if found.name == function:
            return cut_decorated(found)
    have = ", ".join(f.name for f in functions) or "it has none"
    raise FunctionNotFound(f"there is no decorated function `{function}` ({have})", path=path)


def cut_decorated(function: Decorated) -> Slice:
    """As `cut`, for a function that `detect.find` gave."""
    references, digest = function.followed()
    assert function.names is not None and function.node is not None  # else it would have raised
    helpers = {n.name: n for n in references.helpers.values()}
    kept = sorted({**helpers, function.name: function.node}.values(), key=lambda n: n.lineno)
    sheet = _Sheet(function.names.chunks.text)
    for item in references.imports.values():
        sheet.write_import(item)
    for name, constant in references.constants.items():
        if name in references.taken_apart:
            sheet.write(constant.lineno, ast.unparse(constant))
            continue
        sheet.keep(constant)
        _blank_annotations(constant, sheet)
    for node in kept:
        sheet.keep(node)
        _blank_annotations(node, sheet)
    bound = [
        *(i.name for i in references.imports.values()),
        *references.constants,
        *(h for h in helpers if h != function.name),
    ]
    return Slice(sheet.text(), function.name, (*bound, function.name), digest)


class _Sheet:
    """The lines of a text, blank at first; parts are copied back, and blanked again, by `ast`'s positions."""

    def __init__(self, text: str) -> None:
        self.source = [line.encode("utf-8", "surrogatepass") for line in text.split("\n")]
        self.lines = [bytearray() for _ in self.source]

    def keep(self, node: ast.stmt) -> None:
        """Copy a top-level statement: of a function, the lines from `def` on."""
        first, last = node.lineno, node.end_lineno or node.lineno
        if first == last and self.lines[first - 1].strip():  # two statements share the line
            self.lines[first - 1] += b"; " + self.source[first - 1][node.col_offset : node.end_col_offset]
            return
        for i in range(first - 1, last):
            self.lines[i] = bytearray(self.source[i])
        self.blank((last, node.end_col_offset or 0), (last, len(self.source[last - 1])))
        del self.lines[first - 1][: node.col_offset]  # only a statement after a semicolon has one

    def write_import(self, item: Import) -> None:
        self.write(item.line, item.statement)

    def write(self, number: int, statement: str) -> None:
        """A statement of one line, behind what is on that line."""
        line = self.lines[number - 1]
        line += (b"; " if line else b"") + statement.encode("utf-8", "surrogatepass")

    def between(self, start: tuple[int, int], end: tuple[int, int]) -> bytes:
        """The source from one (line, column) to another."""
        if start[0] == end[0]:
            return self.source[start[0] - 1][start[1] : end[1]]
        inner = self.source[start[0] : end[0] - 1]
        return b"\n".join([self.source[start[0] - 1][start[1] :], *inner, self.source[end[0] - 1][: end[1]]])

    def blank(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Overwrite a range with spaces."""
        for n in range(start[0], end[0] + 1):
            line = self.lines[n - 1]
            first = start[1] if n == start[0] else 0
            last = min(end[1] if n == end[0] else len(line), len(line))
            line[first:last] = b" " * max(0, last - first)

    def text(self) -> str:
        return "\n".join(line.decode("utf-8", "surrogatepass").rstrip() for line in self.lines).rstrip("\n") + "\n"


def _blank_annotations(root: ast.stmt, sheet: _Sheet) -> None:
    for node in ast.walk(root):
        if isinstance(node, ast.arg) and node.annotation is not None:
            _blank(node.annotation, (node.lineno, node.col_offset + len(node.arg.encode())), b":", sheet)
        elif isinstance(node, ast.AnnAssign):
            _blank(node.annotation, (node.target.end_lineno or 0, node.target.end_col_offset or 0), b":", sheet)
            if node.value is None:
                start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
                sheet.blank(start, end)
                sheet.lines[start[0] - 1][start[1] : start[1] + 4] = b"pass"
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            last = [a for a in ast.walk(node.args) if isinstance(a, (ast.arg, ast.expr))]
            ends = [(a.end_lineno or 0, a.end_col_offset or 0) for a in last]
            _blank(node.returns, max([(node.lineno, node.col_offset), *ends]), b"->", sheet)


def _blank(node: ast.expr, after: tuple[int, int], mark: bytes, sheet: _Sheet) -> None:
    """Blank an annotation with the mark before it, and with the brackets around it."""
    begin = (node.lineno, node.col_offset)
    lead = sheet.between(after, begin)
    at = lead.rindex(mark)
    line, column = after[0] + lead.count(b"\n", 0, at), at - (lead.rfind(b"\n", 0, at) + 1)
    start = (line, column + (after[1] if line == after[0] else 0))
    end = (node.end_lineno or begin[0], node.end_col_offset or begin[1])
    for _ in range(lead.count(b"(", at)):
        tail_line, tail_column = end
        while (found := sheet.source[tail_line - 1].find(b")", tail_column)) < 0:
            tail_line, tail_column = tail_line + 1, 0
        end = (tail_line, found + 1)
    sheet.blank(start, end)
    for n in range(start[0], end[0]):  # outside brackets a statement does not go on by itself
        sheet.lines[n - 1] += b"\\"

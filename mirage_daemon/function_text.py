"""What a text says of one of its functions, found by parsing: all of it that a question is about."""

from __future__ import annotations

import ast
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mirage.errors import FunctionNotFound, SourceSyntaxError
from mirage.source.one_parse import PARSING

if TYPE_CHECKING:
    from mirage.source.statements import Chunks


@dataclass(frozen=True)
class FunctionText:
    """What a text says of one function: its slice's digest, its own lines, its inputs, and the least text that asks
    the same question ("" where there is none): what is kept beside a result, and given to a colleague."""

    digest: str
    own: str
    inputs: str
    least: str


def read_within_bounds(text: str, path: str, function: str) -> FunctionText:
    """As `read`; a text that is too deep or whose numbers are too long is an error of the text."""
    try:
        with PARSING:
            return read(text, path, function)
    except (RecursionError, MemoryError, ValueError) as e:
        raise SourceSyntaxError(f"the text cannot be read within bounds ({type(e).__name__})", path=path) from None


def read(text: str, path: str, function: str) -> FunctionText:
    """Parses, runs nothing; raises what `mirage.source` says is wrong."""
    from mirage.source import detect, shapes
    from mirage.source.slice import cut

    scan = detect.find(text, path)
    found, text = scan.functions, scan.chunks.text  # without a byte order mark, its lines as Python counts them
    decorated = next((f for f in found if f.name == function), None)
    if decorated is None:
        have = ", ".join(f.name for f in found) or "it has none"
        raise FunctionNotFound(f"there is no decorated function `{function}` ({have})", path=path)
    rows = [[(i.name, i.shape, i.dtype, i.names) for i in row] for row in shapes.rows(decorated)]
    piece = cut(text, decorated, path)
    own = "\n".join(text.split("\n")[decorated.decorator_line - 1 : decorated.end_line])
    least = least_text(scan.chunks, piece.text, decorated.decorator_line, decorated.end_line)
    return FunctionText(piece.digest, own, json.dumps(rows), least)


def least_text(chunks: Chunks, piece: str, first: int, last: int) -> str:
    """The slice with the function's own lines `first` to `last` (1-based) and the file's imports, and nothing else of
    the file."""
    lines, kept = chunks.text.split("\n"), piece.split("\n")
    kept += [""] * (len(lines) - len(kept))
    own = range(first - 1, last)
    body = _importing(chunks)
    shared = Counter(i for node in body for i in _lines(node))
    for node in body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if all(shared[i] == 1 for i in _lines(node)):
            for i in _lines(node):
                kept[i] = lines[i]
        elif not kept[node.lineno - 1].strip():  # the rest of its line is none of a colleague's
            kept[node.lineno - 1] = ast.unparse(node)
    return "\n".join(lines[i] if i in own else kept[i] for i in range(len(lines))).strip("\n") + "\n"


def _importing(chunks: Chunks) -> list[ast.stmt]:
    """The top-level statements among which the imports are, at the text's own lines. To parse a file takes far longer than to find
    them, so what does not say `import` is left out, where what is left can be parsed."""
    from mirage.source.statements import as_error, try_parse

    at, parts = 0, list[str]()
    for chunk in chunks.all:
        own = chunks.source(chunk)
        parts += ["\n" * chunks.text.count("\n", at, chunk.start), own if "import" in own else "\n" * own.count("\n")]
        at = chunk.end
    tree = try_parse("".join(parts))
    if not isinstance(tree, ast.Module):  # a cut lay within a statement
        tree = try_parse(chunks.text)
    if not isinstance(tree, ast.Module):
        raise as_error(tree, chunks.path)
    return tree.body


def _lines(node: ast.stmt) -> range:
    """The lines, counted from 0, on which a statement stands."""
    return range(node.lineno - 1, node.end_lineno or node.lineno)

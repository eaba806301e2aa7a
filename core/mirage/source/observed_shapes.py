"""Completion of a decorator with the inputs that its function was called with at run time."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mirage.errors import MirageError, MissingShape
from mirage.ir.dtypes import dtype_of
from mirage.source import shapes
from mirage.source.detect import Decorated, find
from mirage.source.module_names import is_decorator

Inputs = Sequence[tuple[str, Sequence[int], str]]


def completed(text: str, function: str, inputs: Inputs, path: str = "<text>") -> str:
    """The text with `inputs=[...]` in the decorator of a function that does not say its shapes; the text itself where it
    does, or where these inputs are not those of its tensor parameters. Lines stay where they are."""
    found = next((f for f in find(text, path).functions if f.name == function), None)
    if found is None or found.options.inputs is not None or not inputs or not _lacks_shapes(found):
        return text
    given = [name for name, _, _ in inputs]
    required = [p.name for p in found.params if p.default is None]
    words = [f'({tuple(map(int, shape))}, "{dtype_of(dtype)}")' for _, shape, dtype in inputs]
    if given not in (required, [p.name for p in found.params][: len(given)]) or '"None"' in "".join(words):
        return text
    new = _insert(found, f"inputs=[{', '.join(words)}]")
    again = next((f for f in find(new, path).functions if f.name == function), None)
    try:
        if again is not None and again.digest == found.digest:
            shapes.rows(again)
            return new
    except MirageError:  # such as a size of zero: no kernel is made for it
        return text
    return text


def _lacks_shapes(function: Decorated) -> bool:
    try:
        shapes.rows(function)
    except MissingShape:
        return True
    except MirageError:
        return False
    return False


def _insert(function: Decorated, words: str) -> str:
    """The text with `words` as the first argument of the function's decorator."""
    assert function.node is not None and function.names is not None
    names = function.names
    decorator = next(d for d in function.node.decorator_list if is_decorator(d, names))
    lines = [line.encode("utf-8", "surrogatepass") for line in names.chunks.text.split("\n")]
    head = decorator.func if isinstance(decorator, ast.Call) else decorator
    row, column = (head.end_lineno or 1) - 1, head.end_col_offset or 0
    if isinstance(decorator, ast.Call):
        while (at := lines[row].find(b"(", column)) < 0:
            row, column = row + 1, 0
        column, addition = at + 1, f"{words}, " if decorator.keywords else words
    else:
        addition = f"({words})"
    lines[row] = lines[row][:column] + addition.encode() + lines[row][column:]
    return b"\n".join(lines).decode("utf-8", "surrogatepass")

"""A digest of syntax trees that comments, formatting, docstrings, annotations and positions do not change.

It is the same on every Python version: `ast.dump` is not, so the trees are written out here.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable

# Fields without meaning for what a function computes.
_IGNORED = {"ctx", "type_comment", "type_ignores", "type_params", "annotation", "returns", "kind", "simple"}


def digest(nodes: Iterable[ast.AST], extra: Iterable[str] = ()) -> str:
    """SHA-256 (hex) of some trees and some words."""
    return of_texts(map(written, nodes), extra)


def written(node: ast.AST) -> str:
    """The text of a tree that goes into its digest."""
    out: list[str] = []
    _write(node, out)
    return "".join(out)


def of_texts(texts: Iterable[str], extra: Iterable[str] = ()) -> str:
    """As `digest`, of trees that are `written` already."""
    return hashlib.sha256("".join([*extra, "\n", *texts]).encode("utf-8", "surrogatepass")).hexdigest()


def _write(node: object, out: list[str]) -> None:
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        node = ast.Assign(targets=[node.target], value=node.value)
    if isinstance(node, ast.AST):
        out.append(type(node).__name__ + "(")
        for name in node._fields:
            value = getattr(node, name, None)
            if name in _IGNORED or value is None or value == []:
                continue
            if name == "body" and isinstance(value, list) and isinstance(node, ast.FunctionDef):
                value = without_docstring(value)
            out.append(name + "=")
            _write(value, out)
            out.append(",")
        out.append(")")
    elif isinstance(node, list):
        out.append("[")
        for item in node:
            _write(item, out)
            out.append(",")
        out.append("]")
    else:
        out.append(f"{type(node).__name__}:{node!r}")


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body

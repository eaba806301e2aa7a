"""Renaming module-level names of a piece of source, leaving attributes, keyword arguments, strings and locals alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from mirage_lsp.errors import CannotMerge

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def bound_in(body: Iterable[ast.AST]) -> set[str]:
    """The names that statements bind in their own scope: assignments, definitions, imports; nested scopes left out."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, _NAMED):
            names.add(node.name)
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {a.asname or a.name.partition(".")[0] for a in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        names |= bound_in(ast.iter_child_nodes(node))
    return names


def rename(source: str, names: Mapping[str, str]) -> str:
    """`source` with its module-level names renamed where they are defined and used. Raises CannotMerge."""
    if not names:
        return source
    lines = source.split("\n")
    edits: set[tuple[int, int, str]] = set()
    for node, hidden in _walk(ast.parse(source), frozenset()):
        if isinstance(node, ast.Name) and node.id in names and node.id not in hidden:
            edits.add((node.lineno, _characters(lines[node.lineno - 1], node.col_offset), node.id))
        elif isinstance(node, _NAMED) and node.name in names and node.name not in hidden:
            line = lines[node.lineno - 1]
            found = re.compile(rf"\b(?:def|class)\s+({node.name})\b").search(line, _characters(line, node.col_offset))
            if found:
                edits.add((node.lineno, found.start(1), node.name))
        elif isinstance(node, ast.Global):
            line = lines[node.lineno - 1]
            for name in names.keys() & set(node.names):
                found = re.compile(rf"\b{name}\b").search(line, _characters(line, node.col_offset))
                if found:
                    edits.add((node.lineno, found.start(), name))
    for number, column, name in sorted(edits, reverse=True):
        text = lines[number - 1]
        if text[column : column + len(name)] != name:  # before 3.12, names within an f-string have no true position
            raise CannotMerge(f"the use of `{name}` in line {number} of the kernel cannot be renamed")
        lines[number - 1] = text[:column] + names[name] + text[column + len(name) :]
    return "\n".join(lines)


def _characters(line: str, byte_column: int) -> int:
    return len(line.encode()[:byte_column].decode(errors="ignore"))


def _walk(node: ast.AST, hidden: frozenset[str]) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """Every node with the names that a function around it binds for itself."""
    yield node, hidden
    inside = hidden
    if isinstance(node, _SCOPES):
        a = node.args
        every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
        body = node.body if isinstance(node.body, list) else [node.body]
        globals_ = {name for n in ast.walk(node) if isinstance(n, ast.Global) for name in n.names}
        inside = (hidden | {arg.arg for arg in every} | bound_in(body)) - globals_
        outer = [*getattr(node, "decorator_list", []), *a.defaults, *filter(None, a.kw_defaults)]
        outer += [*filter(None, (arg.annotation for arg in every)), *filter(None, [getattr(node, "returns", None)])]
        for child in outer:
            yield from _walk(child, hidden)
        for child in body:
            yield from _walk(child, inside)
        return
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, inside)

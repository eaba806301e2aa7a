"""Are the kernels of two emitted modules, and their launches, one text apart from names? Then a time of one is a time of the other.

Names of variables, parameters, kernels, axes and tiles are free, and so are comments, layout and docstrings; what a launcher
refuses before it allocates runs outside a CUDA graph and is left out. Whatever else differs is a difference.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mirage.codegen.emit import split_parts
from mirage.codegen.launcher_text import is_refusal
from mirage.verify.structure.emitted_again import bare

TABLES = ("SIZES", "TILES")


def first_difference(a: str, b: str) -> tuple[str, str] | None:
    """The first lines in which the kernels and launches of two modules of one size differ, names apart; None: in none."""
    mine, theirs = _lines(a), _lines(b)
    for i in range(max(len(mine), len(theirs))):
        pair = tuple(x[i] if i < len(x) else ("", "") for x in (mine, theirs))
        if pair[0][0] != pair[1][0]:
            return pair[0][1], pair[1][1]
    return None


def _lines(module: str) -> list[tuple[str, str]]:
    """Each line of the kernels, the tables of numbers and the launcher, with names by their order, and as it was."""
    parts = split_parts(module)
    kernels, launcher = bare(ast.parse(parts["kernels"])).body, bare(ast.parse(parts["launcher"])).body
    kept = [*kernels, *(s for s in launcher if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) in TABLES)]
    for s in launcher:
        if isinstance(s, ast.FunctionDef) and s.name == "_run":
            s.body = [x for x in s.body if not is_refusal(x)]
            s.args.kwonlyargs, s.args.kw_defaults = [], []  # whether it has to refuse
            kept.append(s)
    had = [ast.unparse(s).split("\n") for s in kept]
    top: dict[str, str] = {}
    keys: dict[str, str] = {}
    parameters: dict[str, dict[str, str]] = {}
    for s in kept:
        if isinstance(s, ast.FunctionDef):
            own = {n: f"v{i}" for i, n in enumerate(dict.fromkeys(_bound(s)))}
            top[s.name] = f"f{len(top)}"
            parameters[top[s.name]] = own
            _renamed(s, {**top, **own}, keys, parameters)
            s.name = top[s.name]
        else:
            _renamed(s, top, keys, parameters)
    return [
        pair for s, old in zip(kept, had, strict=True) for pair in zip(ast.unparse(s).split("\n"), old, strict=True)
    ]


def _bound(function: ast.FunctionDef) -> Iterator[str]:
    """The names that are the function's own: its parameters in their order, then what it assigns."""
    yield from (a.arg for a in function.args.args)
    yield from (n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _renamed(s: ast.stmt, names: dict[str, str], keys: dict[str, str], parameters: dict[str, dict[str, str]]) -> None:
    """In place. A launch's keywords are `parameters` of its kernel; a table's `keys` are numbered as they come."""
    for n in ast.walk(s):
        if isinstance(n, ast.Name):
            n.id = names.get(n.id, n.id)
        elif isinstance(n, ast.arg):
            n.arg = names.get(n.arg, n.arg)
        elif isinstance(n, ast.Dict):
            for key in n.keys:
                _numbered(key, keys)
        elif isinstance(n, ast.Subscript):
            _numbered(n.slice, keys)
    for call in (n for n in ast.walk(s) if isinstance(n, ast.Call) and isinstance(n.func, ast.Subscript)):
        own = parameters.get(ast.unparse(call.func).partition("[")[0], {})
        for k in call.keywords:
            k.arg = own.get(k.arg or "", k.arg)


def _numbered(node: ast.expr | None, keys: dict[str, str]) -> None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node.value = keys.setdefault(node.value, f"k{len(keys)}")

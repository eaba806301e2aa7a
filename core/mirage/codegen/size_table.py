"""The rows of an emitted module: what it runs for which inputs, read from its text."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

from mirage.codegen.launcher_text import RowNames
from mirage.errors import ModuleUnreadable
from mirage.ir.dtypes import TORCH_NAMES
from mirage.ir.program import Program

Inputs = tuple[tuple[tuple[int, ...], str], ...]  # of each input its shape, and its dtype as torch calls it
_LAUNCHER = re.compile(r"(?s)(?<=# mirage:begin launcher\n).*(?=# mirage:end launcher)")


@dataclass(frozen=True)
class Row:
    """One row of `_BY_SIZE`."""

    inputs: Inputs
    names: RowNames


def inputs_of(program: Program) -> Inputs:
    """The inputs that a module for the program is made for."""
    return tuple((i.type.shape, TORCH_NAMES[i.type.dtype]) for i in program.inputs)


def rows_of(text: str) -> list[Row]:
    """The rows of a module; one where it has no table. Raises ModuleUnreadable."""
    found = _LAUNCHER.search(text)
    try:
        assigned = {
            n.targets[0].id: n.value
            for n in ast.parse(found[0] if found else "").body
            if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
        }
        plain = RowNames()
        if "_BY_SIZE" not in assigned:
            return [Row(_inputs(assigned[plain.expected]), plain)]
        table = assigned["_BY_SIZE"]
        if not isinstance(table, ast.Dict):
            raise ValueError("no dict")
        rows = []
        for key, value in zip(table.keys, table.values, strict=True):
            run, sizes, tiles = (_name(e) for e in getattr(value, "elts", ()))
            expected = _name(key)
            rows.append(Row(_inputs(assigned[expected]), RowNames(expected, run, sizes, tiles)))
        return rows
    except (SyntaxError, KeyError, ValueError, AttributeError) as e:
        raise ModuleUnreadable(f"the module's table of sizes cannot be read ({type(e).__name__})") from None


def all_inputs(text: str) -> list[Inputs]:
    """The inputs of every row of a module, with kernels or without. Raises ModuleUnreadable."""
    found = _LAUNCHER.search(text)
    try:
        body = ast.parse(found[0] if found else "").body
        named = [(n.targets[0], n.value) for n in body if isinstance(n, ast.Assign)]
        return [_inputs(v) for t, v in named if isinstance(t, ast.Name) and re.fullmatch(r"_EXPECTED(_\d+)?", t.id)]
    except (SyntaxError, ValueError, AttributeError, LookupError) as e:
        raise ModuleUnreadable(f"the sizes of the module cannot be read ({type(e).__name__})") from None


def _name(node: ast.expr | None) -> str:
    if not isinstance(node, ast.Name):
        raise ValueError("no name")
    return node.id


def _inputs(node: ast.expr) -> Inputs:
    return tuple((tuple(ast.literal_eval(e.elts[0])), e.elts[1].attr) for e in node.elts)  # type: ignore[attr-defined]


def focused(text: str, inputs: Inputs) -> str:
    """The same module with the plain names (`_run`, `SIZES`, `TILES`, `_EXPECTED`) for the row of `inputs`: what reads one
    row's module then reads that row of this one. Names change places in the launcher, and nothing else changes. Raises
    ModuleUnreadable where no row, or more than one, is for the inputs."""
    if "_BY_SIZE" not in text:
        return text  # whether it is for these inputs is the verifier's question
    rows = rows_of(text)
    found = [r for r in rows if r.inputs == inputs]
    if len(found) != 1:
        raise ModuleUnreadable(f"the module has {len(found)} rows for inputs of shapes {[list(s) for s, _ in inputs]}")
    plain, own = RowNames(), found[0].names
    pairs = [(plain.expected, own.expected), (plain.run, own.run), (plain.sizes, own.sizes), (plain.tiles, own.tiles)]
    others = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
    return _LAUNCHER.sub(lambda m: _renamed(m[0], others), text, count=1)


def _renamed(text: str, others: dict[str, str]) -> str:
    lines = text.split("\n")
    names = [
        t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.NAME and t.string in others
    ]  # fmt: skip
    for t in reversed(names):
        row, column = t.start
        line = lines[row - 1]
        lines[row - 1] = line[:column] + others[t.string] + line[column + len(t.string) :]
    return "\n".join(lines)


def launched(text: str, inputs: Inputs) -> list[str]:
    """The kernels that the row of `inputs` launches, in order. Raises ModuleUnreadable."""
    found = _LAUNCHER.search(focused(text, inputs))
    run = next(
        (n for n in ast.parse(found[0] if found else "").body if isinstance(n, ast.FunctionDef) and n.name == "_run"), None
    )  # fmt: skip
    if run is None:
        raise ModuleUnreadable("the module has no launcher")
    calls = [s.value.func for s in run.body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    return [ast.unparse(c.value) for c in calls if isinstance(c, ast.Subscript)]


def headline(inputs: Sequence[tuple[tuple[int, ...], str]]) -> str:
    """A row's shapes in a few words."""
    return ", ".join("x".join(map(str, shape)) or "scalar" for shape, _ in inputs)

"""The numeric test of a law: its text evaluated in float64, by code that knows nothing of terms.

The points are those of a small grid of values, for every choice of small sizes, and random ones. Where the conditions
hold and the left side has a value, the right side must have the same.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from mirage.operators.block_operators import BLOCK

Array = np.ndarray[Any, np.dtype[Any]]
GRID = (-2.0, -1.0, 0.0, 0.5, 1.0, 3.0)
SIZES = (1, 2, 3)
MOST_POINTS = 20_000
RANDOM_POINTS = 4_000
TOLERANCE = 1e-9

_RELATIONS: dict[type[ast.cmpop], Callable[[Array, Array], Array]] = {
    ast.Eq: np.equal, ast.NotEq: np.not_equal, ast.Lt: np.less, ast.LtE: np.less_equal,
    ast.Gt: np.greater, ast.GtE: np.greater_equal,
}  # fmt: skip
_OPERATIONS: dict[type[ast.operator], Callable[[Array, Array], Array]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: np.power,
}  # fmt: skip


@dataclass(frozen=True)
class LawCounterexample:
    """A point at which a law does not hold: the letters' values, the sizes, both sides (or what is not so)."""

    values: Mapping[str, Any]
    sizes: Mapping[str, int]
    left: float
    right: float

    def show(self) -> str:
        point = ", ".join(f"{k} = {v}" for k, v in sorted(self.values.items()))
        return f"at {point} the left side is {self.left:.12g} and the right side is {self.right:.12g}"


class _Text:
    """One law's text: its letters with the axes in their brackets, its values at many points at once."""

    def __init__(self, text: str) -> None:
        claim, _, condition = text.partition(" if ")
        said = ast.parse(claim.strip(), mode="eval").body
        assert isinstance(said, ast.Compare)
        self.left, self.relation, self.right = said.left, type(said.ops[0]), said.comparators[0]
        self.condition = ast.parse(condition.strip(), mode="eval").body if condition else None
        self.axes: list[str] = []
        self.letters: dict[str, tuple[str, ...]] = {}
        for part in (said, self.condition):
            if part is not None:
                self._scan(part)

    def _scan(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            binds = node.func.id in ("sum", "max", "size")
            if binds and isinstance(node.args[0], ast.Name) and node.args[0].id not in self.axes:
                self.axes.append(node.args[0].id)
            for a in node.args[1 if binds else 0 :]:
                self._scan(a)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            self.letters[node.value.id] = tuple(a.id for a in inside if isinstance(a, ast.Name))
        elif isinstance(node, ast.Name):
            self.letters.setdefault(node.id, ())
        else:
            for child in ast.iter_child_nodes(node):
                self._scan(child)

    def elements(self, sizes: Mapping[str, int]) -> int:
        return sum(math.prod(sizes[a] for a in axes) for axes in self.letters.values())

    def point(self, flat: Array, sizes: Mapping[str, int]) -> dict[str, Array]:
        """(points, elements) -> each letter as an array (points, one axis for each of self.axes)."""
        out, at = {}, 0
        for name, axes in self.letters.items():
            n = math.prod(sizes[a] for a in axes)
            own = flat[:, at : at + n].reshape(-1, *(sizes[a] for a in axes))
            at += n
            order = sorted(range(len(axes)), key=lambda i: self.axes.index(axes[i]))
            own = np.transpose(own, [0, *(1 + i for i in order)])
            out[name] = own.reshape(-1, *(sizes[a] if a in axes else 1 for a in self.axes))
        return out

    def value(self, node: ast.AST, at: Mapping[str, Array], sizes: Mapping[str, int]) -> Array:
        if isinstance(node, ast.Constant):
            return np.full((1,) * (1 + len(self.axes)), float(ast.literal_eval(node)))
        if isinstance(node, ast.Name):
            return at[node.id]
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            return at[node.value.id]
        if isinstance(node, ast.UnaryOp):
            return np.asarray(-self.value(node.operand, at, sizes))
        if isinstance(node, ast.BinOp):
            return _OPERATIONS[type(node.op)](self.value(node.left, at, sizes), self.value(node.right, at, sizes))
        if isinstance(node, ast.Compare):
            relation = _RELATIONS[type(node.ops[0])]
            return np.asarray(relation(self.value(node.left, at, sizes), self.value(node.comparators[0], at, sizes)))
        if isinstance(node, ast.BoolOp):
            return np.asarray(
                np.logical_and.reduce(np.broadcast_arrays(*(self.value(v, at, sizes) for v in node.values)))
            )
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        name = node.func.id
        if name == "size":
            assert isinstance(node.args[0], ast.Name)
            return np.full((1,) * (1 + len(self.axes)), float(sizes[node.args[0].id]))
        if name in ("sum", "max"):
            assert isinstance(node.args[0], ast.Name)
            axis = 1 + self.axes.index(node.args[0].id)
            body = self.value(node.args[1], at, sizes)
            shape = list(body.shape)
            shape[axis] = sizes[node.args[0].id]
            body = np.broadcast_to(body, shape)
            return np.asarray((np.sum if name == "sum" else np.max)(body, axis=axis, keepdims=True))
        value = BLOCK[name].float64
        assert value is not None
        return np.asarray(value(*(self.value(a, at, sizes) for a in node.args)))

    def wrong(self, flat: Array, sizes: Mapping[str, int]) -> tuple[LawCounterexample | None, int]:
        """The first point at which the law fails, and at how many it says anything."""
        at = self.point(flat, sizes)
        with np.errstate(all="ignore"):
            left, right = self.value(self.left, at, sizes), self.value(self.right, at, sizes)
            held: Array = self.value(self.condition, at, sizes) if self.condition is not None else np.ones(1, bool)
        # a condition on x[k] is one for all k
        held = np.broadcast_to(held, np.broadcast_shapes(held.shape, (len(flat), *(1,) * len(self.axes))))
        held = np.asarray(np.all(held.reshape(len(flat), -1), axis=1))
        left, right = (
            np.broadcast_to(v, (len(flat), *v.shape[1:])).reshape(len(flat), -1)[:, 0] for v in (left, right)
        )
        says = held & np.isfinite(left)
        with np.errstate(all="ignore"):
            if self.relation is ast.Eq:
                true = np.asarray(np.abs(left - right) <= TOLERANCE * (1 + np.abs(left) + np.abs(right)))
            else:
                strict = self.relation in (ast.Gt, ast.Lt)
                slack = TOLERANCE * (1 + np.abs(left)) * (0 if strict else 1 if self.relation is ast.GtE else -1)
                true = _RELATIONS[self.relation](left + slack, right)
        bad = says & ~true
        if not bad.any():
            return None, int(says.sum())
        i = int(np.argmax(bad))
        shown = {
            n: (v[i].reshape(-1).tolist() if self.letters[n] else float(v[i].reshape(-1)[0])) for n, v in at.items()
        }
        return LawCounterexample(shown, dict(sizes), float(left[i]), float(right[i])), int(says.sum())


def points(elements: int, rng: np.random.Generator) -> Iterator[Array]:
    """Every point of the finest grid that is small enough, then random ones (with ties and zeros among them)."""
    for n in range(len(GRID), 1, -1):
        if n**elements <= MOST_POINTS:
            chosen = [GRID[i] for i in np.linspace(0, len(GRID) - 1, n).round().astype(int)]
            yield np.array(list(product(chosen, repeat=elements))).reshape(-1, elements)
            break
    full = (RANDOM_POINTS, elements)
    value = rng.standard_normal(full) * np.exp(rng.standard_normal(full))
    value[::4] = np.abs(value[::4])
    value[1::4] = rng.choice(GRID, value[1::4].shape)
    yield value


def check(text: str, seed: int = 0) -> tuple[LawCounterexample | None, int]:
    """A point at which the law of a text (one that `read_law` takes) fails, if one was found; how many points spoke."""
    law = _Text(text)
    rng = np.random.default_rng(seed)
    spoken = 0
    for lengths in product(SIZES, repeat=len(law.axes)):
        sizes = dict(zip(law.axes, lengths, strict=True))
        for flat in points(law.elements(sizes), rng):
            wrong, n = law.wrong(flat, sizes)
            spoken += n
            if wrong is not None:
                return wrong, spoken
    return None, spoken

"""The terms of a certificate in numbers: whether a change left its equation true, told by code that knows nothing of laws."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Env = dict[str, int]
LENGTH = 2
POINTS = 3
UNARY: dict[str, Callable[[float], float]] = {
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "tanh": math.tanh, "log": math.log, "abs": abs, "erf": math.erf,
    "sin": math.sin, "cos": math.cos, "floor": math.floor, "not": lambda x: float(x == 0),
    "finite": lambda x: 0.0 if x == -math.inf else x,
}  # fmt: skip
BINARY: dict[str, Callable[[float, float], float]] = {
    "maximum": max, "minimum": min, "lt": lambda x, y: float(x < y), "le": lambda x, y: float(x <= y),
    "eq": lambda x, y: float(x == y), "and": lambda x, y: float(bool(x and y)), "or": lambda x, y: float(bool(x or y)),
}  # fmt: skip


def drawn(*key: object) -> float:
    """A number in [-2, 2] that depends on the key alone."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:4], "big") / 2**30 - 2


class Values:
    """The rows' values at one random point; all axes have two elements."""

    def __init__(self, row: dict[str, Any], seed: int) -> None:
        self.rows, self.seed = row["terms"], seed
        self.flags = {name for name, dtype, _ in row["inputs"] if dtype == "bool"}
        self.lengths = row["axes"] if row["scope"] == "these sizes" else dict.fromkeys(row["axes"], LENGTH)
        self.memo: dict[tuple[int, tuple[tuple[str, int], ...]], float] = {}

    def of(self, i: int, env: Env) -> float:
        key = i, tuple(sorted(env.items()))
        if key not in self.memo:
            self.memo[key] = self._of(self.rows[i], env)
        return self.memo[key]

    def _flat(self, axes: list[str], env: Env) -> int:
        out = 0
        for a in axes:
            out = out * self.lengths[a] + env[a]
        return out

    def _of(self, row: list[Any], env: Env) -> float:
        match row:
            case ["in", name, index]:
                found = drawn(self.seed, name, *(self._flat(axes, env) + o for axes, o in index))
                return float(found > 0) if name in self.flags else found
            case ["num", text]:
                return float(Fraction(text))
            case ["lit", text]:
                return float(text)
            case ["ninf"]:
                return -math.inf
            case ["size", axis]:
                return float(self.lengths[axis])
            case ["index", axes]:
                return float(self._flat(axes, env))
            case ["sum" | "max" as op, axes, x]:
                every = itertools.product(*(range(self.lengths[a]) for a in axes))
                values = [self.of(x, {**env, **dict(zip(axes, at, strict=True))}) for at in every]
                return sum(values) if op == "sum" else max(values)
            case ["fn", "where", c, a, b]:
                return self.of(a if self.of(c, env) else b, env)
            case ["pow", x, n]:
                return self.of(x, env) ** n
            case ["add", *parts]:
                return math.fsum(self.of(k, env) for k in parts)
            case ["mul", *parts]:
                return math.prod(self.of(k, env) for k in parts)
            case ["inv", x]:
                return 1 / self.of(x, env)
            case ["exp" | "sqrt" as op, x]:
                return (math.exp if op == "exp" else math.sqrt)(self.of(x, env))
            case ["fn", name, x]:
                return UNARY[name](self.of(x, env)) if name in UNARY else drawn(name, round(self.of(x, env), 6))
            case ["fn", name, x, y] if name in BINARY:
                return BINARY[name](self.of(x, env), self.of(y, env))
        raise ValueError(f"no value of {row}")


def agree(row: dict[str, Any], equation: dict[str, Any]) -> bool:
    """True if both sides of an equation have one value at every point at which the first has one, and there is such a point."""
    seen = 0
    for seed in range(POINTS):
        values = Values(row, seed)
        for at in itertools.product(range(LENGTH), repeat=1):
            env = dict.fromkeys(row["axes"], at[0])
            try:
                first = values.of(equation["first"], env)
            except (ValueError, ZeroDivisionError, OverflowError):
                continue
            try:
                second = values.of(equation["second"], env)
            except (ValueError, ZeroDivisionError, OverflowError):
                return False
            seen += 1
            if not math.isclose(first, second, rel_tol=1e-6, abs_tol=1e-9):
                return False
    return seen > 0


def all_agree(data: dict[str, Any]) -> bool:
    return all(agree(row, e) for row in data["rows"] for e in row["equations"])

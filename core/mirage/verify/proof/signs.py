"""Which signs a term can have where it is defined, for all inputs and all sizes: the side conditions of algebra's laws.

A set of -1, 0, 1 that holds every sign the term can take (it may hold more). Nothing is computed with numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import reduce
from itertools import product

from mirage.meaning.terms import BOOLEAN, Terms

Signs = frozenset[int]
ANY: Signs = frozenset((-1, 0, 1))
POSITIVE: Signs = frozenset((1,))
NONNEGATIVE: Signs = frozenset((0, 1))
NONZERO: Signs = frozenset((-1, 1))


def of_number(value: float) -> Signs:
    return ANY if math.isnan(value) else frozenset((0 if value == 0 else 1 if value > 0 else -1,))


def _times(a: Signs, b: Signs) -> Signs:
    return frozenset(x * y for x, y in product(a, b))


def _plus(a: Signs, b: Signs) -> Signs:
    if (1 in a and -1 in b) or (-1 in a and 1 in b):
        return ANY
    return frozenset(max(-1, min(1, x + y)) for x, y in product(a, b))


def _pick(choose: Callable[[int, int], int]) -> Callable[..., Signs]:
    return lambda a, b: frozenset(choose(x, y) for x, y in product(a, b))


FUNCTIONS: dict[str, Callable[..., Signs]] = {
    "abs": lambda a: frozenset(abs(x) for x in a),
    "sigmoid": lambda a: POSITIVE,
    "tanh": lambda a: a,
    "erf": lambda a: a,
    "finite": lambda a: a | {0},
    "maximum": _pick(max),
    "minimum": _pick(min),
    "where": lambda c, a, b: a | b,
}


class SignAnalysis:
    """Signs of the terms of one arena; `given` are the signs that inputs are assumed to have."""

    def __init__(self, t: Terms, given: dict[str, Signs] | None = None) -> None:
        self.t, self.given = t, given or {}
        self._memo: dict[int, Signs] = {}

    def of(self, x: int) -> Signs:
        if x not in self._memo:
            self._memo[x] = self._of(x)
        return self._memo[x]

    def _of(self, x: int) -> Signs:
        t = self.t
        n = t.node(x)
        kind = n[0]
        if kind == "const":
            return of_number(float(n[1]) if abs(n[1]) < 1 << 60 else math.copysign(1, n[1]))
        if kind == "lit":
            return of_number(float(n[1]))
        if kind == "in":
            return NONNEGATIVE if n[1] in t.bool_inputs else self.given.get(n[1], ANY)
        if kind in ("exp", "size"):
            return POSITIVE
        if kind == "index":
            return NONNEGATIVE
        if kind == "ninf":
            return frozenset((-1,))
        parts = [self.of(k) for k in t.kids(x)]
        if kind == "add":
            return reduce(_plus, parts)
        if kind == "mul":
            powers = []
            for k, times in Counter(t.kids(x)).items():
                even = frozenset(abs(s) for s in self.of(k))
                powers.append(even if times % 2 == 0 else self.of(k))
            return reduce(_times, powers)
        if kind == "inv":
            return (parts[0] - {0}) or ANY
        if kind == "sqrt":
            return POSITIVE if parts[0] == POSITIVE else NONNEGATIVE
        if kind == "red":
            return parts[0] if n[1] == "max" else reduce(_plus, [parts[0], parts[0]])
        if n[1] in BOOLEAN:
            return NONNEGATIVE
        rule = FUNCTIONS.get(n[1])
        return ANY if rule is None else rule(*parts)

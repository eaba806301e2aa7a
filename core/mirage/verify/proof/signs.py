"""Which signs a term can have where it is defined, for all inputs and all sizes: the side conditions of algebra's laws.

Operators' rules are the table's (`operators/signs.py`); nothing is computed with numbers.
"""

from __future__ import annotations

import math
from collections import Counter

from mirage.meaning.terms import Terms
from mirage.operators.block_operators import BLOCK
from mirage.operators.signs import ANY, NEGATIVE, NONNEGATIVE, POSITIVE, Signs, of_number, plus, product_of, total


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
        if kind == "size":
            return POSITIVE
        if kind == "index":
            return NONNEGATIVE
        if kind == "ninf":
            return NEGATIVE
        parts = [self.of(k) for k in t.kids(x)]
        if kind == "add":
            return total(*parts)
        if kind == "mul":
            powers = []
            for k, times in Counter(t.kids(x)).items():
                even = frozenset(abs(s) for s in self.of(k))
                powers.append(even if times % 2 == 0 else self.of(k))
            return product_of(*powers)
        if kind == "red":
            return parts[0] if n[1] == "max" else plus(parts[0], parts[0])
        entry = BLOCK.get(n[1] if kind == "fn" else kind)
        return ANY if entry is None else entry.signs(*parts)

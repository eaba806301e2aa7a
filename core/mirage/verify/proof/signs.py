"""Signs that a term can have where it is defined, for all inputs and all sizes: the side conditions of algebra's laws.

Operators' rules are the table's (`operators/signs.py`); nothing is computed with numbers.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from mirage.meaning.nodes import Const, FloatLiteral, Index, Input, Mul, NegInf, Reduce, Size
from mirage.meaning.terms import Terms
from mirage.operators.block_operators import BLOCK
from mirage.operators.signs import ANY, NEGATIVE, NONNEGATIVE, POSITIVE, Signs, absolute, of_number, plus, product_of

CLEAR = 1 << 20  # of a size, or of one over it, that no rounding of a float doubts


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
        match t.node(x):
            case Const(value):
                return of_number(float(value) if abs(value) < 1 << 60 else math.copysign(1, value))
            case FloatLiteral(text):
                return of_number(float(text))
            case Input(name):
                return NONNEGATIVE if name in t.bool_inputs else self.given.get(name, ANY)
            case Size():
                return POSITIVE
            case Index():
                return NONNEGATIVE
            case NegInf():
                return NEGATIVE
            case Reduce(op, _, body):
                return self.of(body) if op == "max" else plus(self.of(body), self.of(body))
            case Mul(factors):  # equal factors are a power: x * x is not negative
                powers = Counter(factors)
                return product_of(*(absolute(self.of(k)) if n % 2 == 0 else self.of(k) for k, n in powers.items()))
        return self._of_function(x)

    def _of_function(self, x: int) -> Signs:
        """By the operator's rule; of a function of numbers also by its value."""
        t = self.t
        entry, kids = BLOCK.get(t.operator(x)), t.kids(x)
        if entry is None:
            return ANY
        found = entry.signs(*(self.of(k) for k in kids))
        numbers = [n.value for n in map(t.node, kids) if isinstance(n, Const) and abs(n.value) < CLEAR]
        if found != ANY or entry.form != "pointwise" or entry.float64 is None or not len(numbers) == len(kids) > 0:
            return found
        with np.errstate(all="ignore"):
            value = float(entry.float64(*map(float, numbers)))
        return of_number(value) if 1 / CLEAR < abs(value) < math.inf else ANY

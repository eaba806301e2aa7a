"""Signs that a term can have where it is defined, for all inputs and all sizes: the side conditions of algebra's laws.

Operators' rules are the table's (`operators/signs.py`); nothing is computed with numbers.
"""

from __future__ import annotations

import math
from collections import Counter

from mirage.meaning.nodes import Const, FloatLiteral, Index, Input, Mul, NegInf, Reduce, Size
from mirage.meaning.terms import Terms
from mirage.operators.block_operators import BLOCK
from mirage.operators.signs import ANY, NEGATIVE, NONNEGATIVE, POSITIVE, Signs, absolute, of_number, plus, product_of


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
        entry = BLOCK.get(t.operator(x))
        return ANY if entry is None else entry.signs(*(self.of(k) for k in t.kids(x)))

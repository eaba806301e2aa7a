"""The order in which a value is multiplied and divided by numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mirage.meaning.nodes import Const, FloatLiteral
from mirage.meaning.terms import Terms


def is_number(t: Terms, x: int) -> bool:
    return isinstance(t.node(x), (Const, FloatLiteral))


def number_steps(t: Terms, factors: Sequence[int], divisors: Sequence[int]) -> list[int]:
    """The numbers among `factors` and `divisors`, in an order that keeps what was multiplied so far as near to 1 as it can: what is
    small stays out of the subnormals, where digits are lost, and what is large does not overflow. Empty where the numbers are of
    one kind alone, or stand by themselves: their order does not matter then."""
    left = [(x, sign) for some, sign in ((factors, 1), (divisors, -1)) for x in some if is_number(t, x)]
    if len({sign for _, sign in left}) < 2 or all(is_number(t, f) for f in factors):
        return []
    size, out = 0.0, list[int]()
    while left:
        x, sign = min(left, key=lambda step: abs(size + step[1] * magnitude(t, step[0])))
        size += sign * magnitude(t, x)
        left.remove((x, sign))
        out.append(x)
    return out


def magnitude(t: Terms, x: int) -> float:
    """The logarithm of a number's size; 0 of zero, of what is not finite and of what is no number."""
    n = t.node(x)
    value = abs(float(n.value)) if isinstance(n, Const) else abs(float(n.text)) if isinstance(n, FloatLiteral) else 1.0
    return math.log(value) if 0 < value < math.inf else 0.0

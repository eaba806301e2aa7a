"""Initial values of carried accumulators: tests that an update is finite before the first tile, when sums are 0 and maxima -inf.

A coefficient that is no finite number there makes 0 * inf of the first update: such an update is none. The softmax rescale
exp(old - new) is 0; the difference of two maxima is infinite; the quotient of two running sums is too, their difference is not.
"""

from __future__ import annotations

import math

import numpy as np

from mirage.meaning.nodes import Add, Apply, Change, Const, Exp, FloatLiteral, Inv, Mul, NegInf, Node, Reduce, Sqrt
from mirage.meaning.terms import Terms

GENERIC = (1.25, 0.75, 1.5, 0.5, 1.75)  # for what may have any value


def finite_at_first(t: Terms, coefficient: int, axis: str) -> bool:
    """Has `coefficient`, a term in the changes of running values over `axis`, a finite value at the first tile?"""
    with np.errstate(all="ignore"):
        return math.isfinite(_value(t, coefficient, axis, before=False))


def _value(t: Terms, x: int, axis: str, *, before: bool) -> float:
    """`x` for generic inputs; `before`: with the reductions over `axis` as they are before the first tile."""
    match t.node(x):
        case Change(atom, action):
            new, old = (_value(t, atom, axis, before=b) for b in (False, True))
            return new - old if action == "+" else divided(new, old)
        case Reduce(op, over, body) if before:
            if over == axis:
                return 0.0 if op == "sum" else -math.inf
            return _value(t, body, axis, before=before)
        case Reduce():
            return GENERIC[x % len(GENERIC)]
        case Const(number):
            return float(number)
        case FloatLiteral(text):
            return float(text)
        case NegInf():
            return -math.inf
        case n:
            kids = [_value(t, k, axis, before=before) for k in n.kids]
            return _computed(x, n, kids) if kids else GENERIC[x % len(GENERIC)]


def _computed(x: int, n: Node, kids: list[float]) -> float:
    """The value of an operation on values."""
    match n:
        case Add():
            return sum(kids)
        case Mul():
            return math.prod(kids)
        case Inv():
            return divided(1.0, *kids)
        case Exp():
            return float(np.exp(kids[0]))
        case Sqrt():
            return float(np.sqrt(kids[0]))
        case Apply("finite"):  # the guard holds for final values; a running maximum is read as it is
            return kids[0]
    return GENERIC[x % len(GENERIC)] if all(map(math.isfinite, kids)) else math.nan


def divided(x: float, y: float) -> float:
    return float(np.divide(x, y))

"""What a carried accumulator's update is worth before the first tile, when sums are 0 and maxima -inf.

A coefficient that is no finite number there makes 0 * inf of the first update: such an update is none. The softmax rescale
exp(old - new) is 0; the difference of two maxima is infinite; the quotient of two running sums is too, their difference is not.
"""

from __future__ import annotations

import math

import numpy as np

from mirage.meaning.terms import Terms

GENERIC = (1.25, 0.75, 1.5, 0.5, 1.75)  # for what may have any value


def finite_at_first(t: Terms, coefficient: int, axis: str) -> bool:
    """Has `coefficient`, a term in the changes of running values over `axis`, a finite value at the first tile?"""
    with np.errstate(all="ignore"):
        return math.isfinite(_value(t, coefficient, axis, before=False))


def _value(t: Terms, x: int, axis: str, *, before: bool) -> float:
    """`x` for generic inputs; `before`: with the reductions over `axis` as they are before the first tile."""
    n = t.node(x)
    kind = n[0]
    if kind == "delta":
        new, old = (_value(t, n[1], axis, before=b) for b in (False, True))
        return new - old if n[2] == "+" else divided(new, old)
    if kind == "red":
        if not before:
            return GENERIC[x % len(GENERIC)]
        if n[2] == axis:
            return 0.0 if n[1] == "sum" else -math.inf
        return _value(t, n[3], axis, before=before)
    if kind in ("const", "lit"):
        return float(n[1])
    if kind == "ninf":
        return -math.inf
    kids = [_value(t, k, axis, before=before) for k in t.kids(x)]
    if not kids:
        return GENERIC[x % len(GENERIC)]
    if kind == "add":
        return sum(kids)
    if kind == "mul":
        return math.prod(kids)
    if kind == "inv":
        return divided(1.0, kids[0])
    if kind in ("exp", "sqrt"):
        return float((np.exp if kind == "exp" else np.sqrt)(kids[0]))
    if n[1] == "finite":
        return kids[0]  # the guard holds for final values; a running maximum is read as it is
    return GENERIC[x % len(GENERIC)] if all(map(math.isfinite, kids)) else math.nan


def divided(x: float, y: float) -> float:
    return float(np.divide(x, y))

"""Comparisons of whole numbers with fractions: i < 5/2 is i <= 2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mirage.meaning.nodes import Const

if TYPE_CHECKING:
    from mirage.meaning.terms import Terms

COMPARISONS = ("lt", "le", "eq")


def of_whole_numbers(t: Terms, name: str, xs: Sequence[int]) -> int | None:
    """The comparison of what is whole with a number that is not, by the whole number beside that. NaN and infinities compare alike."""
    if name not in COMPARISONS:
        return None
    for at, number in enumerate(xs):
        n, other = t.node(number), xs[1 - at]
        if isinstance(n, Const) and n.value.denominator != 1 and t.is_whole(other):
            if name == "eq":
                return t.const(0)
            if at == 0:
                return t.fn("le", t.const(math.ceil(n.value)), other)
            return t.fn("le", other, t.const(math.floor(n.value)))
    return None

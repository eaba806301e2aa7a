"""Sets of signs, and how operators map them: what is known of a value without computing with numbers.

A set of -1, 0, 1 that holds every sign the value can take where it is defined (it may hold more). An operator's rule maps
the sets of its arguments to one of its result; an operator that states none gives any sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from itertools import product

Signs = frozenset[int]
SignRule = Callable[..., Signs]
ANY: Signs = frozenset((-1, 0, 1))
POSITIVE: Signs = frozenset((1,))
NEGATIVE: Signs = frozenset((-1,))
NONNEGATIVE: Signs = frozenset((0, 1))
NONZERO: Signs = frozenset((-1, 1))
SIGN_WORDS: dict[Signs, str] = {NONNEGATIVE: ">= 0", POSITIVE: "> 0", NONZERO: "!= 0"}


def of_number(value: float) -> Signs:
    return ANY if math.isnan(value) else frozenset((0 if value == 0 else 1 if value > 0 else -1,))


def unknown(*parts: Signs) -> Signs:
    return ANY


def always(signs: Signs) -> SignRule:
    """A result of these signs, whatever the arguments are."""
    return lambda *parts: signs


def same(a: Signs) -> Signs:
    """A function that keeps its argument's sign."""
    return a


def negative(a: Signs) -> Signs:
    return frozenset(-x for x in a)


def absolute(a: Signs) -> Signs:
    return frozenset(abs(x) for x in a)


def inverse(a: Signs) -> Signs:
    return (a - {0}) or ANY


def root(a: Signs) -> Signs:
    return POSITIVE if a == POSITIVE else NONNEGATIVE


def inverse_root(a: Signs) -> Signs:
    return POSITIVE


def or_zero(a: Signs) -> Signs:
    """The argument, or 0 in its place: a rounding towards zero, a guard that clears what is not finite."""
    return a | {0}


def plus(a: Signs, b: Signs) -> Signs:
    if (1 in a and -1 in b) or (-1 in a and 1 in b):
        return ANY
    return frozenset(max(-1, min(1, x + y)) for x, y in product(a, b))


def minus(a: Signs, b: Signs) -> Signs:
    return plus(a, negative(b))


def times(a: Signs, b: Signs) -> Signs:
    return frozenset(x * y for x, y in product(a, b))


def over(a: Signs, b: Signs) -> Signs:
    return times(a, inverse(b))


def total(*parts: Signs) -> Signs:
    return reduce(plus, parts)


def product_of(*parts: Signs) -> Signs:
    return reduce(times, parts)


def pick(choose: Callable[[int, int], int]) -> SignRule:
    """One of two arguments, chosen by their order."""
    return lambda a, b: frozenset(choose(x, y) for x, y in product(a, b))


def either(condition: Signs, a: Signs, b: Signs) -> Signs:
    return a | b

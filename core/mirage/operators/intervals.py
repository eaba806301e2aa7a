"""Intervals of real numbers, and how operators map them.

An operator's rule maps intervals of its arguments to one that holds every value it can take on them where it is defined.
Ends are computed in float64, without directed rounding; whoever reads them leaves room for that. An operator that states
no rule gives the whole line, which no bound on the inputs makes smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import SupportsFloat


@dataclass(frozen=True)
class Interval:
    low: float
    high: float

    @property
    def size(self) -> float:
        return max(abs(self.low), abs(self.high))


IntervalRule = Callable[..., Interval]
WHOLE = Interval(-math.inf, math.inf)
UNIT = Interval(-1.0, 1.0)
FLAG = Interval(0.0, 1.0)


def unknown(*parts: Interval) -> Interval:
    return WHOLE


def always(low: float, high: float) -> IntervalRule:
    """A result between two numbers, whatever the arguments are."""
    out = Interval(low, high)
    return lambda *parts: out


def increasing(value: Callable[..., SupportsFloat]) -> IntervalRule:
    """A function of one argument that does not fall: its values at the ends bound it."""
    return lambda x: Interval(float(value(x.low)), float(value(x.high)))


def same(x: Interval) -> Interval:
    return x


def zero_times(a: float, b: float) -> float:
    """A product of ends: zero times an unbounded end is zero, since no element is infinite."""
    return 0.0 if a == 0 or b == 0 else a * b


def plus(*parts: Interval) -> Interval:
    return Interval(sum(x.low for x in parts), sum(x.high for x in parts))


def negative(x: Interval) -> Interval:
    return Interval(-x.high, -x.low)


def minus(x: Interval, y: Interval) -> Interval:
    return plus(x, negative(y))


def times(x: Interval, y: Interval) -> Interval:
    ends = [zero_times(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    return Interval(min(ends), max(ends))


def product(*parts: Interval) -> Interval:
    out = Interval(1.0, 1.0)
    for x in parts:
        out = times(out, x)
    return out


def inverse(x: Interval) -> Interval:
    if x.low > 0 or x.high < 0:
        return Interval(1 / x.high, 1 / x.low)
    return WHOLE


def over(x: Interval, y: Interval) -> Interval:
    return times(x, inverse(y))


def exponential(x: Interval) -> Interval:
    low, high = (math.inf if v > 700 else math.exp(v) for v in (x.low, x.high))
    return Interval(low, high)


def root(x: Interval) -> Interval:
    return Interval(math.sqrt(max(x.low, 0.0)), math.sqrt(max(x.high, 0.0)))


def inverse_root(x: Interval) -> Interval:
    below = root(x)
    return inverse(below) if below.low > 0 else Interval(1 / below.high if below.high > 0 else 0.0, math.inf)


def logarithm(x: Interval) -> Interval:
    return Interval(math.log(x.low) if x.low > 0 else -math.inf, math.log(max(x.high, 1e-300)))


def absolute(x: Interval) -> Interval:
    return Interval(0.0 if x.low <= 0 <= x.high else min(abs(x.low), abs(x.high)), x.size)


def largest(x: Interval, y: Interval) -> Interval:
    return Interval(max(x.low, y.low), max(x.high, y.high))


def smallest(x: Interval, y: Interval) -> Interval:
    return Interval(min(x.low, y.low), min(x.high, y.high))


def either(condition: Interval, x: Interval, y: Interval) -> Interval:
    return Interval(min(x.low, y.low), max(x.high, y.high))


def or_zero(x: Interval) -> Interval:
    """The argument, or 0 in the place of an infinity, which no interval speaks of."""
    return x


def summed(x: Interval, length: float) -> Interval:
    """The sum of so many elements."""
    return Interval(zero_times(x.low, length), zero_times(x.high, length))

"""Values of block operators in float64 by numpy, where numpy has no function of its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


def product(*xs: Doubles) -> Doubles:
    out = np.asarray(1.0)
    for x in xs:
        out = out * x
    return out


def total(*xs: Doubles) -> Doubles:
    out = np.asarray(0.0)
    for x in xs:
        out = out + x
    return out


def erf(x: Doubles) -> Doubles:
    """The error function: its series near zero, a continued fraction for the rest; within 1e-14."""
    a = np.abs(np.asarray(x, np.float64))
    near = np.minimum(a, 3.0)
    term = near.copy() if near.ndim else np.asarray(near)
    total = term
    for n in range(1, 90):
        term = term * (-near * near) / n
        total = total + term / (2 * n + 1)
    far = np.maximum(a, 3.0)
    tail = np.zeros_like(far)
    for n in range(80, 0, -1):
        tail = (n / 2) / (far + tail)
    rest = 1.0 - np.exp(-far * far) / np.sqrt(np.pi) / (far + tail)
    return np.asarray(np.where(np.isnan(a), np.nan, np.sign(x) * np.where(a < 3.0, total * 2 / np.sqrt(np.pi), rest)))


def rounding(bits: int, least_exponent: int, largest: float, overflow: float) -> Callable[[Doubles], Doubles]:
    """Rounding to a float format with so many significand bits, ties to even. `least_exponent` is that of the least
    normal number (as frexp counts); what is larger than `largest` becomes `overflow`."""

    def value(x: Doubles) -> Doubles:
        _, exponent = np.frexp(x)
        step = np.ldexp(1.0, np.maximum(exponent - bits, least_exponent - bits))
        with np.errstate(invalid="ignore"):
            out = np.where(np.isfinite(x), np.rint(x / step) * step, x)
        return np.asarray(np.where(np.abs(out) > largest, np.copysign(overflow, x), out))

    return value


def quotient(x: Doubles, y: Doubles) -> Doubles:
    """The largest whole number that is not above x / y; of integers an integer."""
    whole = np.asarray(x).dtype.kind == "i" and np.asarray(y).dtype.kind == "i"
    return np.asarray(np.floor_divide(x, y) if whole else np.floor(np.asarray(x) / np.asarray(y)))


def sigmoid(x: Doubles) -> Doubles:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def finite(x: Doubles) -> Doubles:
    return np.where(np.isneginf(x), 0.0, x)


def where(c: Doubles, a: Doubles, b: Doubles) -> Doubles:
    return np.where(c != 0, a, b)


def conjunction(a: Doubles, b: Doubles) -> Doubles:
    return np.asarray((a != 0) & (b != 0), np.float64)


def disjunction(a: Doubles, b: Doubles) -> Doubles:
    return np.asarray((a != 0) | (b != 0), np.float64)


def negation(a: Doubles) -> Doubles:
    return np.asarray(a == 0, np.float64)

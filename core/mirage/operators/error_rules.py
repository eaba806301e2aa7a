"""Rounding errors of float32 arithmetic, and how operators carry the errors of their arguments on.

An operator's rule gets its value on the exact arguments, these, and a bound on how far each computed argument is off. It
gives a bound on how far the computed result is off: what the errors of the arguments may make of it, all orders
included, and what computing it in float32 adds. A bound of infinity says nothing; a 0/1 operator gives 1 where its result may be the
other one. Rules are computed in float64; whoever reads them leaves room for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirage.ir.dtypes import DTYPES

Array = NDArray[Any]  # values, and the errors of values; flags and integers among them
ErrorRule = Callable[[Array, Sequence[Array], Sequence[Array]], Array]
UNIT = DTYPES["fp32"].roundoff
LARGEST = DTYPES["fp32"].largest
SMALL = 64  # elements of a factor that is looked at for ones
TINY = 2 * DTYPES["fp32"].smallest  # more than an approximate instruction may flush to zero
STRETCH = 2.0**-4  # how much larger, relatively, a value may be that is only known up to a common factor


@dataclass(frozen=True)
class FunctionAccuracy:
    """The largest relative error of a function in float32, of the device's instruction and of the interpreter's numpy, and who
    states it."""

    relative: float
    source: str


# A relative error of one unit in the last place is 2^-23 at most.
PRECISIONS = {
    "div": FunctionAccuracy(2.0**-22, "PTX ISA, div.full.f32: 2 ulp"),
    "exp": FunctionAccuracy(3 * 2.0**-23, "PTX ISA, ex2.approx.f32: 2^-22; numpy's exp: 2.52 ulp"),
    "sqrt": FunctionAccuracy(2.0**-23, "PTX ISA, sqrt.approx.f32: 2^-23"),
    "rsqrt": FunctionAccuracy(2.0**-22, "PTX ISA, rsqrt.approx.f32: 2^-22.9; as 1 / sqrt in numpy: two roundings"),
    "log": FunctionAccuracy(4 * 2.0**-23, "CUDA C++ guide, logf: 1 ulp; numpy's log: 3.83 ulp"),
    "erf": FunctionAccuracy(2.0**-22, "CUDA C++ guide, erff: 2 ulp"),
    "sin": FunctionAccuracy(2.0**-22, "CUDA C++ guide, sinf: 2 ulp; numpy's sin: 1.5 ulp"),
    "cos": FunctionAccuracy(2.0**-22, "CUDA C++ guide, cosf: 2 ulp; numpy's cos: 1.5 ulp"),
}


# ---- roundings
def half_unit(size: Array, dtype: str = "fp32") -> Array:
    """Half a unit in the last place of numbers up to `size`: what rounding to nearest adds at most. Infinity beyond the dtype."""
    d = DTYPES[dtype]
    with np.errstate(all="ignore"):
        mantissa, _ = np.frexp(size)
        half = np.maximum(np.abs(size) / mantissa * (d.roundoff / 2), d.subnormal / 2)
        return np.where(size <= d.largest, np.where(size == 0, 0.0, half), np.inf)


def own_unit(size: Array, dtype: str = "fp32") -> Array:
    """`half_unit` of a value that may be larger by STRETCH: bounds on exponentials then hold for every shift of their arguments
    that is off by less than half of that."""
    with np.errstate(all="ignore"):
        return half_unit(size * (1 + STRETCH), dtype)


def absolute(value: Array, error: Array) -> Array:
    """The largest size that the computed value may have."""
    return np.asarray(np.abs(value) + error)


def times(a: Array, b: Array) -> Array:
    """A product of sizes, where zero times infinity is zero: no error, whatever it is multiplied by, is none."""
    if not np.any(b):
        return np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b)))
    with np.errstate(all="ignore"):
        out = np.asarray(a * b)
        return np.where((a == 0) | (b == 0), 0.0, out) if np.isnan(out).any() else out


def settled(out: Array, error: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    """No error where an infinite argument without error makes an infinite result, as a mask of -inf does; infinity where the
    result or the error is no number, or the computed one may be beyond float32."""
    with np.errstate(all="ignore"):
        held = absolute(out, error) <= LARGEST
    if held.all():
        return error
    exact = np.isinf(out) & np.any([np.isinf(x) & (e == 0) for x, e in zip(np.broadcast_arrays(*xs), es)], axis=0)
    return np.where(exact, 0.0, np.where(held, error, np.inf))


def plus_zero(xs: Sequence[Array], es: Sequence[Array]) -> Array:
    """Where at most one of the arguments is not an exact zero: their sum is not rounded."""
    return np.asarray(np.sum([(x != 0) | (e != 0) for x, e in zip(np.broadcast_arrays(*xs), es)], axis=0) <= 1)


def whole(xs: Sequence[Array], es: Sequence[Array]) -> Array:
    """Where the arguments are whole numbers without error whose sum float32 holds, in any order."""
    with np.errstate(all="ignore"):
        small = sum(np.abs(x) for x in xs) <= 1 / UNIT
        exact = [(e == 0) & (np.floor(x) == x) for x, e in zip(xs, es)]
    return np.asarray(np.logical_and.reduce(np.broadcast_arrays(small, *exact)))


def power_of_two(x: Array, e: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray((np.frexp(np.abs(x))[0] == 0.5) & (e == 0))


# ---- rules
def unknown(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    return np.full(np.shape(out), np.inf)


def total(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    """Of sums: of two arguments one rounding of the result; of more, in any order, one for each of them but one."""
    carried = np.asarray(sum(es[1:], es[0]))
    if len(xs) <= 2:
        own = own_unit(absolute(out, carried))
    else:
        own = (len(xs) - 1) * UNIT * np.asarray(sum(absolute(x, e) for x, e in zip(xs, es)))
    return settled(out, carried + np.where(plus_zero(xs, es) | whole(xs, es), 0.0, own), xs, es)


def product(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    """Of products, one rounding for each factor but one; none where a number is a power of two and the result is no tiny one."""
    value, error = np.asarray(xs[0], np.float64), es[0]
    for x, e in zip(xs[1:], es[1:]):
        size = np.abs(value)
        carried = times(size, e) + times(np.abs(x) + e, error)
        value = times(value, x)
        own = own_unit(absolute(value, carried))
        exact = [power_of_two(s, off) for s, off in ((np.abs(x), e), (size, error)) if s.size <= SMALL]
        if exact:
            own = np.where(np.any(np.broadcast_arrays(*exact), axis=0) & ~(np.abs(value) <= TINY + carried), 0.0, own)
        error = carried + own
    return settled(out, error, xs, es)


def quotient(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    with np.errstate(all="ignore"):
        room = np.abs(xs[1]) - es[1]
        carried = np.where(room > 0, (es[0] + times(np.abs(out), es[1])) / room, np.inf)
    return _computed("div", out, carried, xs, es)


def inverse(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    return quotient(out, (np.ones_like(out), xs[0]), (np.zeros_like(out), es[0]))


def root(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    with np.errstate(all="ignore"):
        low = xs[0] - es[0]
        carried = np.where(es[0] == 0, 0.0, np.where(low >= 0, es[0] / (out + np.sqrt(low)), np.inf))
    return _computed("sqrt", out, carried, xs, es)


def inverse_root(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    with np.errstate(all="ignore"):
        part = es[0] / xs[0]
        carried = np.where(part < 1, out * np.expm1(-0.5 * np.log1p(-part)), np.inf)
    return _computed("rsqrt", out, carried, xs, es)


def exponential(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    """As 2^(x log2 e): the exponent is rounded too, and so is log2 e."""
    with np.errstate(all="ignore"):
        off = es[0] + 2 * UNIT * absolute(xs[0], es[0])
        carried = times(out, np.expm1(np.where(np.isinf(xs[0]), es[0], off)))
    return _computed("exp", out, carried, xs, es)


def logarithm(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    with np.errstate(all="ignore"):
        part = np.where(es[0] == 0, 0.0, es[0] / xs[0])
        carried = np.where(part < 1, -np.log1p(-part), np.inf)
    return _computed("log", out, carried, xs, es)


def _logistic(s: Array, x: Array, e: Array) -> tuple[Array, Array]:
    """(what an error of x makes of s = 1 / (1 + exp(-x)), what computing it so adds). s(1 - s)(e^t - 1) bounds s(x + t) - s(x)
    for t of either sign."""
    with np.errstate(all="ignore"):
        carried = times(s * (1 - s), np.expm1(e))
        exponent = np.expm1(2 * UNIT * np.where(np.isinf(x), 0.0, absolute(x, e))) + PRECISIONS["exp"].relative
        least = np.minimum(s, 1 - s) + carried
        return carried, least * exponent + (s + carried) * (2 * UNIT + PRECISIONS["div"].relative) + TINY


def sigmoid(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    carried, own = _logistic(np.asarray(out), xs[0], es[0])
    return settled(out, carried + own, xs, es)


def tanh(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    """As 2 sigmoid(2x) - 1. 1 - tanh^2 changes by a factor of e^2t at most where x changes by t."""
    with np.errstate(all="ignore"):
        carried = np.minimum(es[0], times(1 - out * out, np.expm1(2 * es[0]) / 2))
        _, own = _logistic((1 + out) / 2, 2 * xs[0], 2 * es[0])
    own = 2 * own + own_unit(absolute(out, carried + 2 * own))
    return settled(out, carried + own, xs, es)


def error_function(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    with np.errstate(all="ignore"):
        nearest = np.maximum(np.abs(xs[0]) - es[0], 0.0)
        carried = np.minimum(2.0, times(np.exp(-nearest * nearest) * (2 / np.sqrt(np.pi)), es[0]))
    return _computed("erf", out, carried, xs, es)


def wave(name: str) -> ErrorRule:
    """Of sin and cos, whose slope is one at most."""
    return lambda out, xs, es: _computed(name, out, np.minimum(2.0, es[0]), xs, es)


def _computed(name: str, out: Array, carried: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    """With the error of the function itself; a result of zero from an exact argument is exact."""
    with np.errstate(all="ignore"):
        size = absolute(out, carried)
        own = np.where(size == 0, 0.0, PRECISIONS[name].relative * size + TINY)
    return settled(out, carried + own, xs, es)


def same(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    """Of functions that are not rounded and spread nothing: a negation, an absolute value, a maximum."""
    return settled(out, np.asarray(np.max(np.broadcast_arrays(*es), axis=0)), xs, es)


def _steps(value: Callable[[Array], Array]) -> ErrorRule:
    """Of a function that does not fall and goes up by jumps."""

    def rule(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
        with np.errstate(all="ignore"):
            ends = np.maximum(value(xs[0] + es[0]) - out, out - value(xs[0] - es[0]))
        return settled(out, ends, xs, es)

    return rule


floor, nearest = _steps(np.floor), _steps(np.rint)


def whole_quotient(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    """Of the quotient rounded down: a jump where the division's error reaches a whole number."""
    with np.errstate(all="ignore"):
        ratio = np.asarray(xs[0] / xs[1])
    return floor(out, (ratio,), (quotient(ratio, xs, es),))


def select(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    """Of where: both errors and the distance between them where the condition may be the other one."""
    chosen = np.where(xs[0] != 0, es[1], es[2])
    with np.errstate(all="ignore"):
        either = np.maximum(es[1], es[2]) + np.abs(np.asarray(xs[1], np.float64) - xs[2])
    return np.where(es[0] != 0, np.where(np.isnan(either), np.inf, either), chosen)


def comparison(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    """1 where the arguments are nearer to each other than their errors."""
    off = es[0] + es[1]
    with np.errstate(all="ignore"):
        return np.asarray((off > 0) & ~(np.abs(np.asarray(xs[0], np.float64) - xs[1]) > off), np.float64)


def conjunction(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    """1 unless both are certain, or one is certainly false."""
    no = np.any([(x == 0) & (e == 0) for x, e in zip(np.broadcast_arrays(*xs), es)], axis=0)
    return np.asarray((np.max(np.broadcast_arrays(*es), axis=0) != 0) & ~no, np.float64)


def disjunction(out: Array, xs: Sequence[Array], es: Sequence[Array]) -> Array:
    return conjunction(out, [np.asarray(x) == 0 for x in xs], es)


def narrowed(dtype: str) -> ErrorRule:
    """Of a rounding to a dtype: the function's exact value is that without it."""
    return lambda out, xs, es: es[0] + half_unit(absolute(xs[0], es[0]), dtype)

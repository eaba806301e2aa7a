"""Error limits of the float opinion: the allowed distance of a kernel's output from the function's, infinities and NaN included."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from mirage.ir.dtypes import DTYPES, EIGHT_BIT
from mirage.ir.fp8_formats import FORMATS
from mirage.verify.floats.regimes import LARGEST, SATURATES, UNIT
from mirage.verify.semantics.arrays import Array

TIMES_EAGER = 2.0
UNITS = 8.0  # of the output's dtype, and of float32 for each sqrt(K)
UNITS_EIGHT = 1.25  # of an 8-bit output: half its digits are no budget
ROUNDINGS, NEARLY = 8, 8.0  # runs, where an error is not more than so many times what is allowed
MOST_PAST = 0.5  # of an element: how far below the dtype's largest number an infinity may stand for it


@dataclass(frozen=True)
class Compared:
    """One output of a kernel (`got`) and what is wanted in float64; the function's own in its dtype (`eager`, None where
    it did not run) and in float32 (`single`).

    `free`: where `want` is the shifted term's; the function has no error of its own there, and what rounding to float32
    costs the shifted term (`short`) takes its place. `others`: the function's outputs with other roundings."""

    got: Array
    want: Array
    eager: Array | None
    single: Array
    dtype: str
    free: Array | None = None
    short: Array | None = None
    others: Sequence[Array] = ()


class Figures(TypedDict):
    """The largest `error`, the function's own (`eager`), the `budget` of the dtype, the largest error `allowed`; `far`: an
    error is larger than that; `why` the output fails, or ""."""

    error: float
    eager: float
    budget: float
    allowed: float
    far: bool
    why: str


@dataclass(frozen=True)
class _Errors:
    """Errors relative to `scale`, the larger of the element and the output's root mean square (`size`). `rounded` is what is
    wanted with infinities for what the dtype cannot hold."""

    rounded: Array
    scale: Array
    size: float
    error: Array
    own: float  # the function's largest
    rounding: float  # what float32 costs the shifted term

    @property
    def finite(self) -> Array:
        return np.isfinite(self.rounded)


def judge(x: Compared, k: int, wild: bool) -> tuple[Figures, tuple[int, ...] | None]:
    """(figures, the index of the first element that fails, or None). `k`: the length of the longest sum; `wild`: the function
    as written may overflow where the kernel does not."""
    top = LARGEST.get(x.dtype, math.inf)
    if x.dtype in SATURATES:
        x = replace(x, want=np.clip(x.want, -top, top), single=np.clip(x.single, -top, top))
        top = math.inf
    free = np.zeros(x.want.shape, bool) if x.free is None else x.free
    e = _errors(x, free, top)
    budget = _budget(x.dtype, k, e.size)
    limits = np.where(free, max(UNITS * e.rounding, budget), max(TIMES_EAGER * e.own, budget))
    figures: Figures = {
        "error": float(e.error.max(initial=0.0)),
        "eager": e.own,
        "budget": budget,
        "allowed": float(limits.max(initial=budget)),
        "far": False,
        "why": "",
    }
    excused, infinite = _infinities(x, e, limits, free, top)
    lost = e.finite & np.isfinite(x.single) & ~np.isfinite(x.got) & ~excused
    if lost.any():
        return {**figures, "why": "not finite where the function is"}, _first(lost)
    if not wild:
        missing = (("NaN", np.isnan(x.want) & ~np.isnan(x.got)), ("infinity", infinite & np.isfinite(x.got)))
        for what, there in missing:
            if there.any():
                return {**figures, "why": f"a number where the function gives {what}"}, _first(there)
    if not (e.error > limits).any():
        return figures, None
    at = tuple(int(i) for i in np.unravel_index(int((e.error / limits).argmax()), e.error.shape))
    own = f"the function's own is {e.own:.3g}"
    why = f"error {float(e.error[at]):.3g} against {float(limits[at]):.3g} allowed ({own})"
    return {**figures, "far": True, "why": why}, at


def _errors(x: Compared, free: Array, top: float) -> _Errors:
    want = x.want
    with np.errstate(all="ignore"):
        rounded = np.where(np.abs(want) > top, np.sign(want) * np.inf, want)
        finite = np.isfinite(rounded)
        size = float(np.sqrt(np.mean(np.square(want[finite])))) if finite.any() else 0.0
        scale = np.maximum(np.abs(want), max(size, 1e-300))

        def largest(found: Array, where: Array) -> float:
            return float(np.where(where & np.isfinite(found), np.abs(found - want) / scale, 0.0).max(initial=0.0))

        error = np.where(finite & np.isfinite(x.got), np.abs(x.got - want) / scale, 0.0)
        own = 0.0
        if x.eager is not None:
            usable = finite & np.isfinite(x.eager) & ~free
            own = largest(x.eager, usable)
            off = [largest(o, usable) for o in x.others]
            own = max(own, float(np.mean(off))) if off else own
        rounding = largest(x.short, finite & free) if x.short is not None else 0.0
    return _Errors(rounded, scale, size, error, own, rounding)


def _budget(dtype: str, k: int, size: float) -> float:
    """The error that an output of the dtype may have, whatever the function's own error is."""
    unit = UNIT.get(dtype, 0.0)
    budget = (UNITS_EIGHT if dtype in FORMATS else UNITS) * unit + UNITS * UNIT["fp32"] * math.sqrt(k)
    if size:  # below the smallest normal number, rounding is absolute
        budget += _absolute(dtype) / size
    return budget


def _absolute(dtype: str) -> float:
    """A few of the smallest numbers of a dtype; of an 8-bit one, one."""
    if dtype == "fp64":  # that in which outputs are compared
        return 0.0
    return DTYPES[dtype].subnormal * (1 if dtype in EIGHT_BIT else 8)


def _infinities(x: Compared, e: _Errors, limits: Array, free: Array, top: float) -> tuple[Array, Array]:
    """(where an infinity of the kernel is excused, where one is wanted)."""
    want, got = x.want, x.got
    with np.errstate(all="ignore"):  # an error that is allowed may carry an element past the dtype's largest number
        slack = np.minimum(limits, MOST_PAST)
        excused = (np.abs(want) * (1 + slack) >= top) & np.isinf(got) & (np.sign(got) == np.sign(want))
        if x.eager is not None:  # the function's own roundings make an infinity there, of either sign
            past = np.sign(got) * want + limits * e.scale >= top
            excused |= ~free & (np.abs(x.eager) >= top) & np.isinf(got) & past
        infinite = np.isinf(e.rounded) & ~(np.abs(want) * (1 - slack) <= top)
    return excused, infinite


def _first(mask: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0])

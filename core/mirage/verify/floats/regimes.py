"""Input regimes of the float opinion: the distributions and masks that a kernel's inputs are drawn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from mirage.ir.dtypes import DTYPES, FLOATING
from mirage.ir.fp8_formats import FORMATS
from mirage.meaning.nodes import Add, Exp, Input
from mirage.meaning.terms import Terms
from mirage.verify.semantics.arrays import Array

Rng = np.random.Generator
UNIT = {name: d.roundoff for name, d in FLOATING.items()}
LARGEST = {name: d.largest for name, d in FLOATING.items()}
SMALLEST = {name: d.smallest for name, d in FLOATING.items()}
SATURATES = {"fp8e4m3"}  # it has no infinity: what is too large becomes the largest number


@dataclass(frozen=True)
class Regime:
    """`draw(rng, shape, dtype, k)`: an input's values, k being the length of the longest contraction. In a `wild` one the
    function as written may overflow where the kernel does not. `first`: the first floating-point input's values, where
    they are of another kind. `flags`: values of inputs that are masks, boolean or added (0 and -inf); a regime that has
    them is for programs with such inputs alone."""

    name: str
    draw: Callable[[Rng, tuple[int, ...], str, int], Array]
    wild: bool = False
    first: Callable[[Rng, tuple[int, ...], str, int], Array] | None = None
    flags: Callable[[Rng, tuple[int, ...]], Array] | None = None
    eight_bit: bool = False  # for programs with 8-bit floats alone
    whole: bool = False  # integers are anything that their dtype holds; for programs with such inputs alone

    def fits(self, dtypes: Iterable[str], masks: bool) -> bool:
        """Whether it is for a program with inputs of these dtypes, with or without masks."""
        known = set(dtypes)
        if self.whole and not any(d != "bool" and not DTYPES[d].floating for d in known):
            return False
        return (self.flags is None or masks) and (not self.eight_bit or not known.isdisjoint(FORMATS))


def _heavy(rng: Rng, shape: tuple[int, ...], dtype: str, k: int) -> Array:
    """Student's t with 3 degrees of freedom, clipped: a few elements are far out."""
    return np.asarray(np.clip(rng.standard_t(3, shape), -200, 200))


def _large(rng: Rng, shape: tuple[int, ...], dtype: str, k: int) -> Array:
    """Products of two such inputs over k elements reach 60000."""
    return np.asarray(rng.standard_normal(shape) * _deviation(k))


def _deviation(k: int) -> float:
    return math.sqrt(60000 / (3 * math.sqrt(k)))


def _around(rng: Rng, shape: tuple[int, ...], dtype: str, mean: float, deviation: float) -> Array:
    """A normal draw, with the least deviation that an 8-bit float shows there where that is larger."""
    least = abs(mean) * UNIT[dtype] if dtype in FORMATS else 0.0
    return np.asarray(mean + max(deviation, least) * rng.standard_normal(shape))


def _codes(rng: Rng, shape: tuple[int, ...], dtype: str, k: int) -> Array:
    """Every number of an 8-bit float up to twice the deviation of `_large`, as often as any other; a normal draw of other
    dtypes."""
    if dtype not in FORMATS:
        return np.asarray(rng.standard_normal(shape))
    values = FORMATS[dtype].values
    return np.asarray(rng.choice(values[np.abs(values) <= 2 * _deviation(k)], shape))


def whole_lines(rng: Rng, shape: tuple[int, ...]) -> Array:
    """Random flags; every third row (of the last axis) is false, every third one true in its last element alone."""
    flags = rng.integers(0, 2, shape).astype(bool)
    if shape:
        row = np.indices(shape)[:-1].sum(axis=0) % 3 if len(shape) > 1 else np.zeros(shape, int)
        last = np.arange(shape[-1]) == shape[-1] - 1
        flags = np.where(row == 0, False, np.where(row == 1, last, flags))
    return np.asarray(flags)


# Far below zero: scores are so, whether they are the first input or its products, and exp of any of them is 0 unless
# their largest is subtracted, not 0 or the padding.
REGIMES: tuple[Regime, ...] = (
    Regime("normal", lambda r, s, d, k: r.standard_normal(s)),
    Regime("times 10", lambda r, s, d, k: 10 * r.standard_normal(s)),
    Regime("mean 1000 x deviation", lambda r, s, d, k: _around(r, s, d, 8, 0.008)),
    Regime(
        "far below zero",
        lambda r, s, d, k: 300 / k * _around(r, s, d, 1, 0.03),
        first=lambda r, s, d, k: _around(r, s, d, -150, 1),
    ),
    Regime("heavy tail", _heavy, wild=True),
    Regime("zeros", lambda r, s, d, k: np.zeros(s)),
    Regime("subnormal", lambda r, s, d, k: r.standard_normal(s) * SMALLEST[d] / 4, wild=True),
    Regime("scores of 60000", _large, wild=True),
    Regime("whole rows masked", lambda r, s, d, k: r.standard_normal(s), flags=whole_lines),
    Regime("every 8-bit number", _codes, wild=True, eight_bit=True),
    Regime("every integer", lambda r, s, d, k: r.standard_normal(s), wild=True, whole=True),
)


def added_masks(t: Terms, roots: Iterable[int]) -> set[str]:
    """Inputs that are only ever added to scores (what exponentials and maxima are taken of), as masks of 0 and -inf are."""
    every = {x for r in roots for x in t.walk(r)}
    scores = {y for x in every if isinstance(t.node(x), Exp) or t.is_maximum(x) for y in t.kids(x)}
    sums = {x for x in scores if isinstance(t.node(x), Add)}
    read: dict[str, bool] = {}
    for x in every:
        for n in map(t.node, t.kids(x)):
            if isinstance(n, Input):
                read[n.name] = read.get(n.name, True) and x in sums
    return {n for n, added in read.items() if added and n not in t.bool_inputs}


def round_to(x: Array, dtype: str) -> Array:
    """float64 values rounded to a dtype (to nearest even; 8-bit floats saturate), still as float64."""
    with np.errstate(all="ignore"):
        if dtype == "fp16":
            return x.astype(np.float16).astype(np.float64)
        if dtype == "bf16":
            bits = np.ascontiguousarray(x.astype(np.float32)).view(np.uint32)
            rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
            return np.where(np.isnan(x), np.nan, rounded.view(np.float32).reshape(x.shape)).astype(np.float64)
        if dtype in FORMATS:
            return FORMATS[dtype].rounded(x).astype(np.float64)
        return x.astype(np.float32).astype(np.float64) if dtype == "fp32" else x

"""The float opinion on the range of two functions: does one of them leave the range of its dtypes where the other does not?

(x + y) / 2 and x / 2 + y / 2 have one value over the reals. Where x + y is beyond the dtype's largest number the first is
infinite; where a square is below the least, its root is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from mirage.ir.dtypes import DTYPES, FLOATING
from mirage.ir.program import Program
from mirage.verify.floats.directed_inputs import (
    ENDS,
    EVERY_INTEGER,
    HUGE,
    LARGE,
    OPPOSITE,
    SHORT_END,
    TINY,
    Draw,
    draw,
    of_magnitude,
    takes_integers,
)
from mirage.verify.floats.regimes import round_to
from mirage.verify.label_ranges import Ranges
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.program_values import EXTENDED, ResultPrecision, run

RANGED = ResultPrecision(rounded=round_to, inside=True, ranged=True)
SHORT = 1e6  # a dtype whose largest number is below this is left by ordinary products
RIGHT = 0.01  # of itself: how far what is in range may be from its value to be one
GONE = 0.5  # of its value: what is lost of one that vanished
LEAVES = "one of the two leaves the range of its dtypes where the other does not"
VANISHES = "a value of one of the two falls below the least number of its dtypes where the other keeps it"
MAGNITUDES = tuple(10.0**k for k in range(3, 308, 3))  # rows of one draw are up to 256 times smaller: none is left out
ORDINARY = 1e15  # beyond this are no data: a square, and a sum of thousands of them, is in range up to here
Where = tuple[int, tuple[int, ...], str, str]


@dataclass(frozen=True)
class Apart:
    """Inputs on which one program leaves the range alone: how they were drawn, the values, and (output, index, both
    values)."""

    kind: Draw
    seed: int
    inputs: list[Array]
    where: Where
    why: str


def overflowing_alone(a: Program, b: Program, inputs: Sequence[Array]) -> Where | None:
    """(output, index, both values) where one is right in its own dtypes, and the other is infinite or NaN. Where neither is
    right they do not differ in what they are good for. Raises NoValue."""
    one, two = (run(p, inputs, RANGED)[0] for p in (a, b))
    if not any((np.isfinite(x) ^ np.isfinite(y)).any() for x, y in zip(one, two, strict=True)):
        return None
    for i, (x, y, v) in enumerate(zip(one, two, run(a, inputs)[0], strict=True)):
        left, right, value = (np.asarray(z, np.float64) for z in (x, y, v))
        with np.errstate(all="ignore"):
            best = np.where(np.isfinite(left), left, right)
            wrong = np.isfinite(value) & (np.abs(best - value) > RIGHT * np.abs(value))
        apart = (np.isfinite(left) ^ np.isfinite(right)) & ~wrong
        if apart.any():
            at = tuple(int(k) for k in np.argwhere(apart)[0])
            return i, at, repr(float(left[at])), repr(float(right[at]))
    return None


def _flushed(x: Array, dtype: str) -> Array:
    """Zero where it is below the dtype's least number, else as it is: no digit is lost."""
    return np.asarray(np.where(2 * np.abs(x) < DTYPES[dtype].subnormal, np.zeros_like(x), x))


def vanishing_alone(a: Program, b: Program, inputs: Sequence[Array], extended: bool) -> Where | None:
    """(output, index, both values) where one keeps a value that its dtype holds, and the other loses it because something
    on the way to it vanished. Digits do not count: both run with a range as their dtypes', and all digits of float64, or
    in `extended` precision, which holds what vanishes in float64. Raises NoValue."""
    kind = np.longdouble if extended and EXTENDED else np.float64
    exact, short = (
        [run(p, inputs, ResultPrecision(kind, rounded=how, inside=True))[0] for p in (a, b)] for how in (None, _flushed)
    )
    for i, (v, w, x, y) in enumerate(zip(*exact, *short, strict=True)):
        dtype = a.type_of(a.outputs[i]).dtype
        if dtype not in FLOATING:
            continue
        with np.errstate(all="ignore"):
            held = (np.abs(v) >= FLOATING[dtype].smallest) & (np.abs(v - w) <= RIGHT * np.abs(v))
            left, right = np.abs(x - v), np.abs(y - v)
            kept, gone = np.minimum(left, right), np.maximum(left, right)
            apart = held & np.isfinite(gone) & (kept <= RIGHT * np.abs(v)) & (gone > GONE * np.abs(v))
        if apart.any():
            at = tuple(int(k) for k in np.argwhere(apart)[0])
            return i, at, repr(float(x[at])), repr(float(y[at]))
    return None


@dataclass(frozen=True)
class RangeSearch:
    """A search over the ends of the dtypes' ranges, which stops soon after it is `late`. Raises NoValue."""

    a: Program
    b: Program
    numbers: Sequence[float]
    late: Callable[[], bool]
    extended: bool
    ranges: Ranges = field(default_factory=dict)

    @property
    def floating(self) -> list[str]:
        return [i.type.dtype for i in self.a.inputs if DTYPES[i.type.dtype].floating]

    def drawn(self, draws: Iterable[Draw]) -> Iterator[tuple[Draw, int, list[Array]]]:
        """Inputs of each kind: one draw for each input that may be the one at the end."""
        for kind in draws:
            for seed in range(len(self.floating) if kind.others is not None else 1):
                yield kind, seed, draw(kind, self.a.inputs, self.numbers, seed, self.ranges)

    def first(self, draws: Iterable[Draw]) -> Apart | None:
        """The first difference in what is infinite or NaN."""
        for n, (kind, seed, inputs) in enumerate(self.drawn(draws)):
            if n > 1 and self.late():
                break
            where = overflowing_alone(self.a, self.b, inputs)
            if where is not None:
                return Apart(kind, seed, inputs, where, LEAVES)
        return None

    def near(self) -> Apart | None:
        """The first difference on inputs that are not huge."""
        short = [SHORT_END] if any(DTYPES[d].largest < SHORT for d in self.floating) else []
        whole = [EVERY_INTEGER] * takes_integers(self.a)
        return self.first([*whole, LARGE, TINY, OPPOSITE, *short])

    def far(self) -> Apart | None:
        """The first difference on larger inputs: at the dtypes' ends, then at each magnitude, since of two squares that
        overflow the one with its scale before it does so later."""
        return self.first([HUGE, *ENDS, *(kind for most in self.magnitudes for kind in of_magnitude(most)[:2])])

    @property
    def magnitudes(self) -> list[float]:
        """Those that every input can have."""
        most = min((DTYPES[d].largest for d in self.floating), default=0.0)
        return [m for m in MAGNITUDES if m < most]

    def vanishing(self) -> Apart | None:
        """A value that vanishes in one of the two."""
        for kind, seed, inputs in self.drawn([TINY]):
            where = vanishing_alone(self.a, self.b, inputs, self.extended)
            if where is not None:
                return Apart(kind, seed, inputs, where, VANISHES)
        return None

    def reach(self) -> float | None:
        """The largest tried magnitude of inputs up to which neither leaves the range alone; None where that is no more than
        data may have, where a 16-bit dtype is in either program, whose range ordinary products leave, or where it is late."""
        dtypes = {*self.floating, *(n.type.dtype for p in (self.a, self.b) for n in p.nodes)}
        if any(FLOATING[d].bytes < FLOATING["fp32"].bytes for d in dtypes & FLOATING.keys()):
            return None
        found = None
        for most in self.magnitudes:
            if self.late():
                return None
            if self.first(of_magnitude(most)) is not None:
                break
            found = most
        return found if found is not None and found >= ORDINARY else None

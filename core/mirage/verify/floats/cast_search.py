"""The float opinion on the roundings that two functions state: does one of them lose digits or range that the other keeps?

Terms know no dtypes but the narrowest, so a product in float16 whose result is float32 means there what a product in
float32 means. Here both are run with every result rounded whose dtype is coarser than the outputs'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mirage.ir.dtypes import DTYPES, FLOATING
from mirage.ir.program import Program
from mirage.verify.floats.directed_inputs import EQUAL_ROWS, Draw
from mirage.verify.floats.regimes import round_to
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.program_values import ResultPrecision, run

LOSES = 16.0  # times the other's loss
NOTHING = 1e-12  # of the inputs' size
DRAWS = (
    Draw("normal", lambda r, s, p: r.standard_normal(s)),
    Draw("positive", lambda r, s, p: np.abs(r.standard_normal(s)) + 0.01),
    EQUAL_ROWS,
    Draw("of the size of 100000", lambda r, s, p: 1e5 * r.standard_normal(s)),
)


@dataclass(frozen=True)
class Loss:
    """What roundings cost an output: the largest error (of the element and the root mean square), where it is, the values
    with and without them, and where a value that is finite without them is not."""

    error: float
    index: tuple[int, ...]
    rounded: Array
    lost: Array


@dataclass(frozen=True)
class Coarse:
    """Rounding to the dtypes that are coarser, or reach less far, than the finest of the outputs."""

    unit: float
    largest: float

    def rounds(self, dtype: str) -> bool:
        return DTYPES[dtype].roundoff > self.unit or DTYPES[dtype].largest < self.largest

    def __call__(self, x: Array, dtype: str) -> Array:
        if DTYPES[dtype].roundoff > self.unit:
            return round_to(x, dtype)
        return overflowing(x, dtype) if DTYPES[dtype].largest < self.largest else x


def overflowing(x: Array, dtype: str) -> Array:
    """Infinite where it is beyond the dtype, else as it is."""
    return np.asarray(np.where(np.abs(x) > DTYPES[dtype].largest, np.copysign(np.inf, x), x))


def coarse(a: Program, b: Program) -> Coarse | None:
    """None where neither program states a rounding of that kind."""
    outputs = [FLOATING[d] for d in (a.type_of(o).dtype for o in a.outputs) if d in FLOATING]
    if not outputs:
        return None
    found = Coarse(min(d.roundoff for d in outputs), max(d.largest for d in outputs))
    return found if stated(a, b, found) else None


def stated(a: Program, b: Program, how: Coarse) -> list[str]:
    """The dtypes of such roundings. Of inputs that are numbers of one of them nothing is lost by a cast that both make."""
    return sorted({d for p in (a, b) for n in p.nodes if (d := n.type.dtype) in FLOATING and how.rounds(d)})


def in_dtype(inputs: Sequence[Array], dtype: str) -> list[Array]:
    """The same inputs as numbers of a dtype."""
    return [round_to(x, dtype) if x.dtype.kind == "f" else x for x in inputs]


def loss(exact: Array, rounded: Array, inputs: float) -> Loss:
    """The loss of an output of a program whose inputs are of the size `inputs`."""
    finite = np.isfinite(exact)
    with np.errstate(over="ignore"):
        size = float(np.sqrt(np.mean(np.square(exact[finite])))) if finite.any() else 0.0
    if size <= NOTHING * inputs:  # zero but for float64's own roundings: no digits to lose
        size = inputs
    with np.errstate(all="ignore"):
        error = np.abs(rounded - exact) / (np.abs(exact) + size)
    error = np.where(finite & np.isfinite(error), error, 0.0)
    at = np.unravel_index(int(error.argmax()), error.shape) if error.size else ()
    index = tuple(int(i) for i in at)
    return Loss(float(error[index]), index, rounded, finite & ~np.isfinite(rounded))


def losses(p: Program, inputs: Sequence[Array], how: ResultPrecision) -> list[Loss | None]:
    """What running a program so costs each of its outputs; None of one that is not floating. Raises NoValue."""
    exact, rounded = run(p, inputs)[0], run(p, inputs, how)[0]
    size = max((float(np.max(np.abs(x), initial=0.0)) for x in inputs if x.dtype.kind == "f"), default=1.0)
    floating = [p.type_of(o).dtype in FLOATING for o in p.outputs]
    return [loss(x, y, size) if f else None for x, y, f in zip(exact, rounded, floating, strict=True)]


def lossier(
    a: Program, b: Program, inputs: Sequence[Array], how: Coarse
) -> tuple[int, tuple[int, ...], str, str] | None:
    """(output, index, both values) where one program's stated roundings lose more than the other's. Raises NoValue."""
    pairs = zip(*(losses(p, inputs, ResultPrecision(rounded=how)) for p in (a, b)), strict=True)
    for i, (one, two) in enumerate(pairs):
        if one is None or two is None:
            continue
        more, less = (one, two) if one.error > two.error else (two, one)
        index: tuple[int, ...] | None = more.index if more.error > LOSES * less.error + how.unit else None
        apart = one.lost ^ two.lost
        if index is None and apart.any():
            index = tuple(int(k) for k in np.argwhere(apart)[0])
        if index is not None:
            return i, index, repr(float(one.rounded[index])), repr(float(two.rounded[index]))
    return None

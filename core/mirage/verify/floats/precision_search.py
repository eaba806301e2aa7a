"""The float opinion on the roundings that two functions make as PyTorch runs them: does one lose digits that the other keeps?

Over the reals (x - mean)^2 and x^2 - mean^2 have one mean. In float32 the second has no digit left where the mean is a
thousand deviations. Here both run with every result rounded to its own dtype, beside float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from mirage.ir.dtypes import DTYPES, FLOATING
from mirage.ir.program import Program
from mirage.operators.call_functions import FAR_FROM_ZERO, NEAR_ZERO
from mirage.results.verdict import Word
from mirage.verify.floats.cast_search import losses
from mirage.verify.floats.directed_inputs import (
    BESIDE_FLOATS,
    EQUAL_ROWS,
    EVERY_INTEGER,
    NEIGHBOURS,
    Draw,
    Rng,
    takes_integers,
)
from mirage.verify.floats.regimes import round_to
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.program_values import ResultPrecision

OWN = ResultPrecision(rounded=round_to, inside=True)
TIMES = 16.0  # the other's loss
UNITS = 32.0  # of the output's roundoff: what sums in other orders leave
FINEST = DTYPES["fp64"].roundoff  # float64 is the reference: of what is computed in it nothing can be said


@dataclass(frozen=True)
class LossRegime:
    """Inputs of one kind, how many units of the output's roundoff a loss may reach there, and what is said of more."""

    kind: Draw
    word: Word
    half: bool = False

    def allowed(self, unit: float) -> float:
        """With `half`, half of the dtype's digits."""
        return float(np.sqrt(unit)) if self.half else UNITS * unit


def _around_one(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    return np.asarray(1 + 0.001 * r.standard_normal(shape))


def _near_zero(dtype: str) -> float:
    """So far below one that a quarter of the dtype's digits is left of 1 + x."""
    return float(DTYPES[dtype].roundoff ** 0.75)


def _exponent(dtype: str) -> float:
    """Whose exponential is about as far below one."""
    return math.log(_near_zero(dtype))


def _whole_mantissas(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    return np.asarray(r.choice((-1.0, 1.0), shape) * r.uniform(1, 2, shape))


def _from_to(low: float, high: float, r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    return np.asarray(r.uniform(low, high, shape))


# Inputs that no user calls unusual reject. Where digits cancel the two are equal as functions of real numbers and not as
# PyTorch computes them: nothing is decided then.
REGIMES = (
    LossRegime(Draw("normal", lambda r, s, p: r.standard_normal(s)), "REJECTED"),
    LossRegime(Draw("positive", lambda r, s, p: np.abs(r.standard_normal(s)) + 0.01), "REJECTED"),
    LossRegime(Draw("mean 1000 x deviation", _around_one), "UNDECIDED"),
    LossRegime(EQUAL_ROWS, "UNDECIDED"),
    LossRegime(Draw("of the size of 1/1000", lambda r, s, p: 0.001 * r.standard_normal(s)), "UNDECIDED", half=True),
)  # fmt: skip
# Casts of integers round too: PyTorch compares integers as they are, and floats of them after the rounding.
INTEGER_REGIMES = tuple(LossRegime(kind, "REJECTED") for kind in (NEIGHBOURS, BESIDE_FLOATS, EVERY_INTEGER))
# Where one of the two calls a function that is kept for its digits near zero
NEAR_ZERO_REGIMES = (
    LossRegime(Draw("near zero, with all digits", _whole_mantissas, unit=_near_zero, reach=None), "UNDECIDED", half=True),
    LossRegime(Draw("one near zero, with all digits", _whole_mantissas, unit=_near_zero, reach=None,
                    others=lambda r, s, p: r.standard_normal(s)), "UNDECIDED", half=True),
    LossRegime(Draw("exponentials near zero", lambda r, s, p: r.uniform(1, 1.1, s), unit=_exponent, reach=None), "UNDECIDED", half=True),
)  # fmt: skip


# Where one calls a function that is kept for its digits where it is small: each part of that by itself, since a larger value hides others
FAR_REGIMES = tuple(
    LossRegime(Draw(f"from {low:g} to {high:g}", partial(_from_to, low, high), reach=None), "UNDECIDED", half=True)
    for low, high in ((1.5, 2.0), (2.5, 3.0), (4.5, 6.0), (-2.0, -1.5), (-3.0, -2.5), (-6.0, -4.5))
)


def regimes(a: Program, b: Program) -> tuple[LossRegime, ...]:
    """Those on which these two are compared."""
    near = any(n.op in NEAR_ZERO for p in (a, b) for n in p.nodes)
    far = any(n.op in FAR_FROM_ZERO for p in (a, b) for n in p.nodes)
    more = (*(NEAR_ZERO_REGIMES if near else ()), *(FAR_REGIMES if far else ()))
    return (*(INTEGER_REGIMES if takes_integers(a) else ()), *REGIMES, *more)


@dataclass(frozen=True)
class Lost:
    """An element of an output at which one program's own roundings cost much more than the other's."""

    output: int
    index: tuple[int, ...]
    left: str
    right: str
    why: str


def unit_of(a: Program, output: int) -> float | None:
    """The roundoff of an output; None where float64 tells nothing of its errors."""
    dtype = a.type_of(a.outputs[output]).dtype
    return FLOATING[dtype].roundoff if dtype in FLOATING and FLOATING[dtype].roundoff > FINEST else None


def much_lost(a: Program, b: Program, inputs: list[Array], regime: LossRegime) -> Lost | None:
    """The first output whose digits one of the two loses and the other keeps. Raises NoValue."""
    pairs = zip(losses(a, inputs, OWN), losses(b, inputs, OWN), strict=True)
    for i, (one, two) in enumerate(pairs):
        unit = unit_of(a, i)
        if unit is None or one is None or two is None:
            continue
        more, less = (one, two) if one.error > two.error else (two, one)
        if more.error > TIMES * less.error + regime.allowed(unit):
            at = more.index
            why = (
                f"one of the two loses digits that the other keeps: errors of {one.error:.1e} and {two.error:.1e} "
                f"where {FLOATING[a.type_of(a.outputs[i]).dtype].torch} rounds by {unit:.1e}"
            )
            return Lost(i, at, repr(float(one.rounded[at])), repr(float(two.rounded[at])), why)
    return None

"""The probability that a wrong program passes one random draw, by the theorem that applies; docs/verification.md has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mirage.verify.counts import Counts
from mirage.verify.field import Field

Array = np.ndarray[Any, np.dtype[Any]]
FLOOR = 2.0**-128  # the generator of the draws has no more entropy than this


@dataclass(frozen=True)
class Bound:
    """`a_draw` is the chance that a wrong program passes a draw (None: no theorem applies), `theorem` in words."""

    a_draw: float | None
    theorem: str
    degree: float = 0.0
    terms: float = 1.0

    def after(self, draws: int) -> float | None:
        """The chance that it passes all of `draws` independent draws; None where that is no better than 1."""
        if self.a_draw is None or self.a_draw >= 1:
            return None
        return max(float(self.a_draw**draws), FLOOR) if draws else None


def bound_of(counts: Counts, outputs: list[Array], field: Field, roots: int, *, scores: int | None = None) -> Bound:
    """The bound for programs whose outputs have the figures `outputs`, the candidate's being taken as no larger.

    roots: the most square roots whose arguments were conditioned to be squares by redrawing the same inputs;
    scores: the exponentials' arguments are independent and uniform, at most so many sharing inputs (None: not known).
    """
    figures = [counts.lift(o) for o in outputs]
    # one output element: N/D - N'/D' = (N D' - N' D) / (D D')
    with np.errstate(over="ignore"):  # more terms than a float counts: no bound holds
        k = max(float((2 * f["kn"] * f["kd"]).max(initial=1)) for f in figures)
    d = max(float((f["dn"] + f["dd"]).max(initial=0)) for f in figures) + counts.degree
    d = max(d, 1.0)
    if counts.nested:
        return Bound(None, "an exponential inside an exponential: no theorem applies", d, k)
    if counts.root_of_exp or (counts.exps and roots):
        return Bound(None, "roots and exponentials together: no theorem applies", d, k)
    if counts.exps:
        value = _exponential(d, k, field)
        theorem = "Mirage, theorem 2: 8 d k^4 / q + q^(-1/k^2)"
        if scores is not None:
            # a polynomial in y = omega^score and in the shifts' y, of degree 2 e for each factor, both sides
            e = max(float((f["en"] + f["ed"]).max(initial=1)) for f in figures)
            better = (2 * COEFFICIENT * e + d + scores) / field.q
            if better < value:
                value = better
                theorem = (
                    "Schwartz-Zippel over independent exponentials (the scores' rank was computed): (2 c e + d + r) / q, "
                    f"for programs whose exponents are combinations of the scores with coefficients up to c = {COEFFICIENT}"
                )
    else:
        # the roots r_i^2 = S_i are eliminated by the norm (degree 2^n d); the condition that each S_i is a square costs 2^n
        value = 4.0 ** min(roots, 500) * d / field.p
        theorem = "Schwartz-Zippel: d / p" + (f", times 4^{roots} for the square roots" if roots else "")
    if counts.oracles:
        terms = counts.oracle_terms * 2
        apart = (
            _exponential(counts.oracle_degree, terms, field)
            if terms > 2 and counts.exps
            else (max(counts.oracle_degree, 1.0) / field.p)
        )
        value += counts.oracles**2 * apart
        theorem += "; distinct arguments of opaque functions are told apart"
    picks = max(float(f["picks"].max(initial=0)) for f in figures)
    if picks:
        value = 1 - 2.0**-picks * (1 - min(value, 1.0))
        theorem += f"; each case of {picks:.3g} bits of comparisons is drawn with its chance"
    return Bound(min(value, 1.0), theorem, d, k)


COEFFICIENT = 64


def _exponential(d: float, k: float, field: Field) -> float:
    if k > 1e6:
        return 1.0
    return float(min(8 * d * k**4 / field.q + field.q ** (-1 / k**2), 1.0))

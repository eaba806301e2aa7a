"""The probability that a wrong program passes one random draw, by the theorem that applies; docs/verification.md has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mirage.results.verdict import SAYS_NOTHING
from mirage.verify.field.arithmetic import Field
from mirage.verify.field.expression_size import ExpressionCounts
from mirage.verify.field.sampling import Conditions
from mirage.verify.semantics.arrays import Array

FLOOR = 2.0**-128  # the generator of the draws has no more entropy than this


@dataclass(frozen=True)
class Bound:
    """`a_draw` is the chance that a wrong program passes a draw (None: no theorem applies), `theorem` in words; `general`
    that of one whose exponents are no combinations of the scores (the same where the theorem asks for none)."""

    a_draw: float | None
    theorem: str
    degree: float = 0.0
    terms: float = 1.0
    general: float | None = None

    def after(self, draws: int) -> float | None:
        """The chance that it passes all of `draws` independent draws; None where that says nothing, at `SAYS_NOTHING`."""
        if self.a_draw is None or self.a_draw >= 1 or not draws:
            return None
        chance = max(float(self.a_draw**draws), FLOOR)
        return chance if chance < SAYS_NOTHING else None


def bound_of(
    counts: ExpressionCounts, outputs: list[Array], field: Field, conditions: Conditions, *, scores: int | None = None
) -> Bound:
    """The bound for programs whose outputs have the figures `outputs`, the candidate's being taken as no larger.

    conditions: what the redrawing for square roots costs; scores: the exponentials' arguments are independent and
    uniform, so many in all (None: not known).
    """
    figures = [counts.lift(o) for o in outputs]
    # one output element: N/D - N'/D' = (N D' - N' D) / (D D')
    with np.errstate(over="ignore"):  # more terms than a float counts: no bound holds
        k = max(float((2 * f["kn"] * f["kd"]).max(initial=1)) for f in figures)
    d = max(max(float((f["dn"] + f["dd"]).max(initial=0)) for f in figures) + counts.degree, 1.0)
    if counts.nested:
        return Bound(None, "an exponential inside an exponential: no theorem applies", d, k)
    if counts.root_of_exp:
        return Bound(None, "a root of an exponential: no theorem applies", d, k)
    paid = conditions.factor
    if counts.exps:
        e = max(float((f["en"] + f["ed"]).max(initial=1)) for f in figures)
        value = paid * (d / field.p + exponents_meet(e * counts.degree, k, field.q)) + sparse(k, field.q)
        theorem = "sums of k exponentials (sharper than Mirage's theorem 2): a d / p + a e g k^2 / q + z(k)"
        general = value
        if scores is not None:
            better = 2 * LENGTH * e / field.q + paid * (d + scores * counts.degree) / field.q
            if better < value:
                value = better
                theorem = (
                    "Schwartz-Zippel over independent exponentials (the scores' rank was computed): "
                    "(2 c e + a d + a r g) / q, for programs whose exponents are integer combinations of the scores of "
                    f"length up to c = {LENGTH}"
                )
    else:
        value = general = paid * d / field.p
        theorem = "Schwartz-Zippel: d a / p" if conditions.roots else "Schwartz-Zippel: d / p"
    if counts.oracles:
        apart = paid * max(counts.oracle_degree, 1.0) / field.p
        terms = counts.oracle_terms * 2
        if terms > 2 and counts.exps:
            apart += paid * exponents_meet(terms * counts.degree, terms, field.q) + sparse(terms, field.q)
        value, general = (v + counts.oracles**2 * apart for v in (value, general))
        theorem += "; distinct arguments of opaque functions are told apart"
    if counts.exps or conditions.roots:
        theorem += f"; a = {conditions.text} for the square roots"
    picks = max(float(f["picks"].max(initial=0)) for f in figures) + conditions.signs
    if picks:
        value, general = (1 - 2.0**-picks * (1 - min(v, 1.0)) for v in (value, general))
        theorem += f"; each case of {picks:.3g} bits of comparisons and signs is drawn with its chance"
    return Bound(min(value, 1.0), theorem, d, k, min(general, 1.0))


LENGTH = 64  # the sum of the absolute values of an exponent's coefficients


def exponents_meet(degree: float, k: float, q: int) -> float:
    """The chance that two of k different exponents, quotients of polynomials of this degree, have equal residues."""
    return min(degree * k * k / q, 1.0)


def sparse(k: float, q: int) -> float:
    """The largest part of the elements z != 1 of a group of prime order q, in a field, at which a sum of k terms
    c_i z^(a_i) with c_i != 0 and distinct a_i modulo q can be zero."""
    if k <= 1:
        return 0.0
    n = k - 1
    return float(min(1 - 1 / k, 2 * ((n + 1) * float(q)) ** (-1 / n)) * q / (q - 1))

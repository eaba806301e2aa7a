"""Index arithmetic as data: linear forms over variables and over their quotients and remainders by constants.

Sizes and tiles are numbers here, so that an index into memory is a linear form. A variable stands for a block's number,
a loop's counter or a lane of a tile. Conditions are trees over `form <= 0` and `form == 0`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mirage.verify.semantics.arrays import Indices

if TYPE_CHECKING:
    from z3 import ArithRef


@dataclass(frozen=True)
class Var:
    """An integer in [low, high]."""

    name: str
    low: int
    high: int


@dataclass(frozen=True)
class Quotient:
    """`form // by` (or its remainder), for a form that is never negative and a positive `by`."""

    form: LinearForm
    by: int
    rest: bool = False


Atom = Var | Quotient


@dataclass(frozen=True)
class LinearForm:
    """constant + the sum of coefficient * atom; terms are sorted and have no zero coefficients."""

    terms: tuple[tuple[Atom, int], ...] = ()
    constant: int = 0

    @property
    def number(self) -> int | None:
        return None if self.terms else self.constant


def build(terms: Mapping[Atom, int], constant: int) -> LinearForm:
    kept = [(a, c) for a, c in terms.items() if c]
    return LinearForm(tuple(sorted(kept, key=repr)), constant)


def of(x: Atom | int) -> LinearForm:
    return LinearForm((), x) if isinstance(x, int) else LinearForm(((x, 1),), 0)


def add(x: LinearForm, y: LinearForm, factor: int = 1) -> LinearForm:
    """x + factor * y"""
    terms = dict(x.terms)
    for a, c in y.terms:
        terms[a] = terms.get(a, 0) + factor * c
    return build(terms, x.constant + factor * y.constant)


def scale(x: LinearForm, by: int) -> LinearForm:
    return add(of(0), x, by)


def atom_span(a: Atom) -> tuple[int, int]:
    if isinstance(a, Var):
        return a.low, a.high
    high = span(a.form)[1]
    return (0, min(a.by - 1, high)) if a.rest else (0, high // a.by)


def span(x: LinearForm) -> tuple[int, int]:
    """An interval that contains the form's values."""
    low = high = x.constant
    for a, c in x.terms:
        ends = [c * e for e in atom_span(a)]
        low, high = low + min(ends), high + max(ends)
    return low, high


def divide(x: LinearForm, by: int, rest: bool) -> LinearForm | None:
    """x // by or x % by; None where x may be negative (then languages differ) or `by` is not positive."""
    if by <= 0 or span(x)[0] < 0:
        return None
    whole = LinearForm(tuple((a, c // by) for a, c in x.terms if c % by == 0), x.constant // by)
    left = LinearForm(tuple((a, c) for a, c in x.terms if c % by), x.constant % by)
    low, high = span(left)
    if low >= 0 and high < by:
        return left if rest else whole
    return of(Quotient(x, by, rest))


def rename(x: LinearForm, names: Mapping[str, str]) -> LinearForm:
    """The form with variables renamed, inside quotients too."""
    out: dict[Atom, int] = {}
    for a, c in x.terms:
        b: Atom = (
            Var(names.get(a.name, a.name), a.low, a.high)
            if isinstance(a, Var)
            else Quotient(rename(a.form, names), a.by, a.rest)
        )
        out[b] = out.get(b, 0) + c
    return build(out, x.constant)


def variables(x: LinearForm) -> Iterator[Var]:
    for a, _ in x.terms:
        if isinstance(a, Var):
            yield a
        else:
            yield from variables(a.form)


@dataclass(frozen=True)
class Cond:
    """`kind` is "<=" or "==" (form against 0), "and", "or" or "not"; an "and" of nothing is true."""

    kind: str
    form: LinearForm = LinearForm()
    parts: tuple[Cond, ...] = ()


TRUE, FALSE = Cond("and"), Cond("or")


def at_most(x: LinearForm, y: LinearForm) -> Cond:
    return known(Cond("<=", add(x, y, -1)))


def equal(x: LinearForm, y: LinearForm) -> Cond:
    return known(Cond("==", add(x, y, -1)))


def known(c: Cond) -> Cond:
    """A comparison whose outcome does not depend on its variables becomes that outcome."""
    low, high = span(c.form)
    if (c.kind == "<=" and high <= 0) or (c.kind == "==" and low == high == 0):
        return TRUE
    if low > 0 or (c.kind == "==" and high < 0):
        return FALSE
    return c


def both(*parts: Cond) -> Cond:
    if any(p == FALSE for p in parts):
        return FALSE
    kept = tuple(p for p in parts if p != TRUE)
    return kept[0] if len(kept) == 1 else Cond("and", parts=kept)


def either(*parts: Cond) -> Cond:
    if any(p == TRUE for p in parts):
        return TRUE
    kept = tuple(p for p in parts if p != FALSE)
    return kept[0] if len(kept) == 1 else Cond("or", parts=kept)


def negated(c: Cond) -> Cond:
    return {TRUE: FALSE, FALSE: TRUE}.get(c) or Cond("not", parts=(c,))


def rename_cond(c: Cond, names: Mapping[str, str]) -> Cond:
    return Cond(c.kind, rename(c.form, names), tuple(rename_cond(p, names) for p in c.parts))


def evaluate(x: LinearForm, values: Mapping[str, int | Indices]) -> int | Indices:
    """The form's value at numbers, or at arrays of them."""
    out: int | Indices = x.constant
    for a, c in x.terms:
        if isinstance(a, Var):
            out = out + c * values[a.name]
        else:
            inner = evaluate(a.form, values)
            out = out + c * (inner % a.by if a.rest else inner // a.by)
    return out


def translate(x: LinearForm, atom: Callable[[Atom], ArithRef]) -> ArithRef | int:
    """The form with each atom replaced by `atom(a)`."""
    out: ArithRef | int = x.constant
    for a, c in x.terms:
        out = out + c * atom(a)
    return out

"""Factors, monomials and polynomials of the normal form, and the text by which they are ordered.

Every factor class ends in a `kind` of its own: a NamedTuple hashes and compares as the tuple of its fields, so that two
classes with equal fields would be one key without it. A polynomial inside a factor is given by its id in a `Normalizer`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

from mirage.ir.index import DimIndex


class InputFactor(NamedTuple):
    """An element of an input."""

    name: str
    at: tuple[DimIndex, ...]
    boolean: bool
    kind: Literal["in"] = "in"


class LiteralFactor(NamedTuple):
    """A float that is equal to itself alone."""

    text: str
    kind: Literal["lit"] = "lit"


class NegInfFactor(NamedTuple):
    """Minus infinity."""

    kind: Literal["ninf"] = "ninf"


class SizeFactor(NamedTuple):
    """The size of an axis."""

    axis: str
    kind: Literal["size"] = "size"


class IndexFactor(NamedTuple):
    """The index along flattened axes."""

    axes: tuple[str, ...]
    kind: Literal["index"] = "index"


class ExpFactor(NamedTuple):
    """e to the power of a polynomial; a monomial has at most one."""

    poly: int
    kind: Literal["exp"] = "exp"


class SqrtFactor(NamedTuple):
    """The square root of a polynomial."""

    poly: int
    kind: Literal["sqrt"] = "sqrt"


class PolyFactor(NamedTuple):
    """A polynomial of several terms: in a monomial to a negative power only, since others are multiplied out."""

    poly: int
    kind: Literal["poly"] = "poly"


class InvFactor(NamedTuple):
    """The inverse of a monomial with a 0/1 factor: not the product of the factors' inverses."""

    poly: int
    kind: Literal["inv"] = "inv"


class MaxFactor(NamedTuple):
    """The maximum of a polynomial over axes."""

    axes: frozenset[str]
    poly: int
    kind: Literal["max"] = "max"


class SumFactor(NamedTuple):
    """The sum of a monomial over axes, all of which it uses."""

    axes: frozenset[str]
    body: Mono
    kind: Literal["sum"] = "sum"


class CallFactor(NamedTuple):
    """A pointwise function of polynomials."""

    name: str
    args: tuple[int, ...]
    boolean: bool
    kind: Literal["fn"] = "fn"


Factor: TypeAlias = (
    InputFactor
    | LiteralFactor
    | NegInfFactor
    | SizeFactor
    | IndexFactor
    | ExpFactor
    | SqrtFactor
    | PolyFactor
    | InvFactor
    | MaxFactor
    | SumFactor
    | CallFactor
)
Power: TypeAlias = "tuple[Factor, int]"
Mono: TypeAlias = "tuple[Power, ...]"
Poly: TypeAlias = "frozenset[tuple[Mono, Fraction]]"
ONE: Fraction = Fraction(1)


def is_boolean(f: Factor) -> bool:
    """True if it is 0 or 1 everywhere, hence its own square."""
    return isinstance(f, (InputFactor, CallFactor)) and f.boolean


def text(f: Factor) -> str:
    """The same for equal factors in every process (a set's own text is not), to order factors by."""
    match f:
        case InputFactor(name, at, boolean):
            return repr(("bool" if boolean else "in", name, at))
        case CallFactor(name, args, boolean):
            return repr(("bool" if boolean else "fn", name, *args))
        case LiteralFactor(digits):
            return repr(("lit", digits))
        case NegInfFactor():
            return repr(("ninf",))
        case SizeFactor(axis):
            return repr(("size", axis))
        case IndexFactor(along):
            return repr(("index", along))
        case MaxFactor(axes, poly):
            return f"('max', {sorted(axes)}, {poly})"
        case SumFactor(axes, body):
            return f"('sum', {sorted(axes)}, {[(text(g), e) for g, e in body]})"
        case ExpFactor() | SqrtFactor() | PolyFactor() | InvFactor():
            return repr((f.kind, f.poly))

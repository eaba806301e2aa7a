"""The normal form: terms as sums of products with binders pushed inward. Equal normal forms are a proof of equality.

It decides commutativity, associativity, distributivity, interchange of sums, exp(a + b) = exp(a) exp(b) and 1/(ab);
everything else (roots of sums, opaque functions, maxima) is an atom keyed by the normal form of its argument. The guard
`finite` is the identity here: it differs only on rows without any finite score. Sizes stay symbols, so that an equality
holds for all sizes of the axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from mirage.meaning.factors import (
    ONE,
    CallFactor,
    ExpFactor,
    Factor,
    IndexFactor,
    InputFactor,
    InvFactor,
    LiteralFactor,
    MaxFactor,
    Mono,
    NegInfFactor,
    Poly,
    PolyFactor,
    Power,
    SizeFactor,
    SqrtFactor,
    SumFactor,
    is_boolean,
    text,
)
from mirage.meaning.nodes import (
    Add,
    Apply,
    Const,
    Exp,
    FloatLiteral,
    Index,
    Input,
    Inv,
    Mul,
    NegInf,
    Node,
    Reduce,
    Size,
    Sqrt,
)
from mirage.meaning.terms import Terms
from mirage.operators.block_operators import commutes

LIMIT = 4000  # monomials of one polynomial


class TooLarge(Exception):
    """The expansion passes the limit: the normal form is silent about this term."""


class NoNumber(TooLarge):
    """Arithmetic with an infinity, a NaN, or a division by zero: the laws of numbers say nothing about it."""


class Normalizer:
    """Normal forms of the terms of one arena. Polynomials are interned, so that factors hold small ids."""

    def __init__(self, t: Terms) -> None:
        self.t = t
        self._memo: dict[int, Poly] = {}
        self._ids: dict[Poly, int] = {}
        self._polys: list[Poly] = []
        self._axes: dict[Factor, frozenset[str]] = {}
        self._texts: dict[Factor, str] = {}

    def equal(self, a: int, b: int) -> bool | None:
        """True: proved equal. None: different normal forms, which proves nothing outside the fragment, or too large."""
        try:
            return True if self.of(a) == self.of(b) else None
        except TooLarge:
            return None

    # ---- polynomials
    def intern(self, p: Poly) -> int:
        if p not in self._ids:
            self._ids[p] = len(self._polys)
            self._polys.append(p)
        return self._ids[p]

    def poly(self, i: int) -> Poly:
        """The polynomial of an id that stands in a factor."""
        return self._polys[i]

    def constant(self, c: Fraction) -> Poly:
        return frozenset([((), c)]) if c else frozenset()

    def atom(self, f: Factor, axes: frozenset[str]) -> Poly:
        return frozenset([(((self.known(f, axes), 1),), ONE)])

    def known(self, f: Factor, axes: frozenset[str]) -> Factor:
        """`f`, the axes along which it varies being on record."""
        self._axes[f] = axes
        return f

    def exp_of(self, p: Poly) -> Factor:
        return self.known(ExpFactor(self.intern(p)), self.axes_of(p))

    def ordered(self, powers: Iterable[Power]) -> Mono:
        """The powers as a monomial: in the one order that all monomials have."""
        return tuple(sorted(powers, key=self._text_of))

    def terms(self, p: Poly) -> list[tuple[Mono, Fraction]]:
        """The terms of a polynomial in an order that is the same in every process."""
        return sorted(p, key=lambda term: self._key(*term))

    def _key(self, m: Mono, _: Fraction) -> list[tuple[str, int]]:
        return [(self._text_of((f, e)), e) for f, e in m]

    def _text_of(self, power: Power) -> str:
        f, _ = power
        found = self._texts.get(f)
        if found is None:
            found = self._texts[f] = text(f)
        return found

    def plus(self, ps: list[Poly]) -> Poly:
        out: dict[Mono, Fraction] = {}
        for p in ps:
            for m, c in p:
                out[m] = out.get(m, Fraction(0)) + c
        if len(out) > LIMIT:
            raise TooLarge
        return frozenset((m, c) for m, c in out.items() if c)

    def monos(self, a: Mono, b: Mono) -> Mono:
        """The product of two monomials; the exponentials join into one."""
        powers: dict[Factor, int] = {}
        exponents: list[Poly] = []
        for f, e in (*a, *b):
            if isinstance(f, ExpFactor):
                exponents.append(self.scale(self.poly(f.poly), Fraction(e)))
            elif is_boolean(f):
                powers[f] = 1
            else:
                powers[f] = powers.get(f, 0) + e
        total = self.plus(exponents) if exponents else None
        if total:
            powers[self.exp_of(total)] = 1
        return self.ordered((f, e) for f, e in powers.items() if e)

    def scale(self, p: Poly, c: Fraction) -> Poly:
        return frozenset((m, k * c) for m, k in p)

    def times(self, a: Poly, b: Poly) -> Poly:
        if len(a) * len(b) > LIMIT:
            raise TooLarge
        out: dict[Mono, Fraction] = {}
        for m1, c1 in a:
            for m2, c2 in b:
                m = self.monos(m1, m2)
                out[m] = out.get(m, Fraction(0)) + c1 * c2
        return frozenset((m, c) for m, c in out.items() if c)

    def invert(self, p: Poly) -> Poly:
        if not p:
            raise NoNumber
        if len(p) == 1:
            ((m, c),) = p
            if any(is_boolean(f) for f, _ in m):
                return self.atom(InvFactor(self.intern(p)), self.axes_of(p))
            inverse: Mono = ()
            for f, e in m:
                inverse = self.monos(inverse, ((f, -e),))
            return frozenset([(inverse, 1 / c)])
        lead = self.content(p)
        f = self.known(PolyFactor(self.intern(self.scale(p, 1 / lead))), self.axes_of(p))
        return frozenset([(((f, -1),), 1 / lead)])

    def content(self, p: Poly) -> Fraction:
        """A canonical coefficient, so that a polynomial and its multiples share one factor."""
        _, first = min(p, key=lambda term: self._key(*term), default=((), ONE))
        return first

    def axes_of(self, p: Poly) -> frozenset[str]:
        return frozenset().union(*(self._axes[f] for m, _ in p for f, _ in m))

    # ---- terms
    def of(self, x: int) -> Poly:
        if x not in self._memo:
            self._memo[x] = self._of(x)
        return self._memo[x]

    def _of(self, x: int) -> Poly:
        n = self.t.node(x)
        if isinstance(n, Apply):
            return self._call(x, n)
        if any(self._infinite(k) for k in n.kids) or (isinstance(n, FloatLiteral) and self._infinite(x)):
            raise NoNumber
        return self._leaf(n) if not n.kids else self._operation(n)

    def _leaf(self, n: Node) -> Poly:
        match n:
            case Const(value):
                return self.constant(value)
            case Input(name, index):
                axes = frozenset(a for d in index for a in d.axes)
                return self.atom(InputFactor(name, index, name in self.t.bool_inputs), axes)
            case FloatLiteral(digits):
                return self.atom(LiteralFactor(digits), frozenset())
            case NegInf():
                return self.atom(NegInfFactor(), frozenset())
            case Size(axis):
                return self.atom(SizeFactor(axis), frozenset())
            case Index(along):
                return self.atom(IndexFactor(along), frozenset(along))
        raise TooLarge

    def _operation(self, n: Node) -> Poly:
        match n:
            case Add(parts):
                return self.plus([self.of(k) for k in parts])
            case Mul(parts):
                out = self.constant(ONE)
                for k in sorted(parts, key=lambda k: len(self.of(k))):
                    out = self.times(out, self.of(k))
                return self.expanded(out)
            case Inv(arg):
                return self.invert(self.of(arg))
            case Exp(arg):
                p = self.of(arg)
                return frozenset([(((self.exp_of(p), 1),), ONE)]) if p else self.constant(ONE)
            case Sqrt(arg):
                p = self.of(arg)
                return self.atom(SqrtFactor(self.intern(p)), self.axes_of(p))
            case Reduce(op, axis, body):
                return (self.bind if op == "sum" else self.maximum)(axis, self.of(body))
        raise TooLarge

    def _call(self, x: int, n: Apply) -> Poly:
        if n.name == "finite":
            (arg,) = n.args
            return self.of(arg)
        args = tuple(self.intern(self.of(k)) for k in n.args)
        args = tuple(sorted(args)) if commutes(n.name) else args
        return self.atom(CallFactor(n.name, args, self.t.is_boolean(x)), self.t.dims(x))

    def _infinite(self, x: int) -> bool:
        """True if an infinity or a NaN stands in the sum of products of `x` (not inside a function, which may select)."""
        n = self.t.node(x)
        if isinstance(n, FloatLiteral):
            return not math.isfinite(float(n.text))
        return any(isinstance(f, NegInfFactor) for m, _ in self.of(x) for f, _ in m)

    def expanded(self, p: Poly) -> Poly:
        """poly^1 factors (an inverse multiplied back) expand; a monomial keeps only negative powers of polynomials."""
        if not any(isinstance(f, PolyFactor) and e > 0 for m, _ in p for f, e in m):
            return p
        parts = []
        for m, c in p:
            out: Poly = frozenset([(tuple((f, e) for f, e in m if e < 0 or not isinstance(f, PolyFactor)), c)])
            for f, e in m:
                if isinstance(f, PolyFactor):
                    for _ in range(e):
                        out = self.times(out, self.poly(f.poly))
            parts.append(out)
        return self.plus(parts)

    def maximum(self, axis: str, body: Poly) -> Poly:
        if axis not in self.axes_of(body):
            return body
        binders = frozenset((axis,))
        match list(body):
            case [(((MaxFactor(more, inner), 1),), 1)]:  # maxima of maxima in any order
                binders, body = binders | more, self.poly(inner)
        return self.atom(MaxFactor(binders, self.intern(body)), self.axes_of(body) - binders)

    def bind(self, axis: str, body: Poly) -> Poly:
        """Sum over `axis`: of each monomial the factors along the axis stay inside, joined with binders that use it."""
        parts = []
        for m, c in body:
            outside: list[Power] = []
            inside: list[Power] = []
            binders = {axis}
            joined = self._joinable(m, axis)
            for f, e in m:
                if axis not in self._axes[f]:
                    outside.append((f, e))
                elif isinstance(f, SumFactor) and f in joined:
                    binders |= f.axes
                    inside += f.body
                elif isinstance(f, ExpFactor):
                    rest, along = self._split_exponent(self.poly(f.poly), axis)
                    if rest:
                        outside.append((self.exp_of(rest), e))
                    inside.append((self.exp_of(along), e))
                else:
                    inside.append((f, e))
            if not inside:
                size = self.known(SizeFactor(axis), frozenset())
                parts.append(frozenset([(self.monos(tuple(outside), ((size, 1),)), c)]))
                continue
            inner, pulled = self._pull(self.monos(tuple(inside), ()), frozenset(binders))
            free = frozenset[str]().union(*(self._axes[g] for g, _ in inner)) - binders
            summed = self.known(SumFactor(frozenset(binders), inner), free)
            parts.append(frozenset([(self.monos((*outside, *pulled), ((summed, 1),)), c)]))
        return self.expanded(self.plus(parts))

    def _joinable(self, m: Mono, axis: str) -> set[Factor]:
        """The sums of a monomial that may share one binder with `axis`: none whose bound axis another factor uses, free
        or bound ((sum_k a_k)(sum_k b_k) is not sum_k a_k b_k)."""
        along = [(f, e) for f, e in m if axis in self._axes[f]]
        sums = [f for f, e in along if isinstance(f, SumFactor) and e == 1]
        out: set[Factor] = set()
        for f in sums:
            free = frozenset[str]().union(*(self._axes[g] for g, _ in along if g != f))
            bound = frozenset[str]().union(*(g.axes for g in sums if g != f))
            if not f.axes & (free | bound | {axis}):
                out.add(f)
        return out

    def _pull(self, inner: Mono, binders: frozenset[str]) -> tuple[Mono, Mono]:
        """Factors of a joined binder that use none of its axes leave it."""
        stay = tuple((f, e) for f, e in inner if self._axes[f] & binders)
        go = tuple((f, e) for f, e in inner if not self._axes[f] & binders)
        return stay, go

    def _split_exponent(self, p: Poly, axis: str) -> tuple[Poly, Poly]:
        along = frozenset((m, c) for m, c in p if any(axis in self._axes[f] for f, _ in m))
        return p - along, along

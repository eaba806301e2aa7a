"""The normal form: terms as sums of products with binders pushed inward. Equal normal forms are a proof of equality.

It decides commutativity, associativity, distributivity, interchange of sums, exp(a + b) = exp(a) exp(b) and 1/(ab);
everything else (roots of sums, opaque functions, maxima) is an atom keyed by the normal form of its argument. The guard
`finite` is the identity here: it differs only on rows without any finite score. Sizes stay symbols, so that an equality
holds for all sizes of the axes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from mirage.meaning.terms import Terms
from mirage.operators.block_operators import commutes

Factor = tuple[Any, ...]
Mono = tuple[tuple[Factor, int], ...]
Poly = frozenset[tuple[Mono, Fraction]]
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
        self._axes[f] = axes
        return frozenset([(((f, 1),), Fraction(1))])

    def plus(self, ps: list[Poly]) -> Poly:
        out: dict[Mono, Fraction] = {}
        for p in ps:
            for m, c in p:
                out[m] = out.get(m, Fraction(0)) + c
        if len(out) > LIMIT:
            raise TooLarge
        return frozenset((m, c) for m, c in out.items() if c)

    def monos(self, a: Mono, b: Mono) -> tuple[Mono, Fraction]:
        """The product of two monomials; the exponentials join into one."""
        powers: dict[Factor, int] = {}
        exponents: list[Poly] = []
        for f, e in (*a, *b):
            if f[0] == "exp":
                exponents.append(self.scale(self._polys[f[1]], Fraction(e)))
            elif f[0] == "bool":
                powers[f] = 1
            else:
                powers[f] = powers.get(f, 0) + e
        if exponents:
            total = self.plus(exponents)
            if total:
                f = ("exp", self.intern(total))
                self._axes[f] = self.axes_of(total)
                powers[f] = 1
        coefficient = Fraction(1)
        return tuple(sorted(((f, e) for f, e in powers.items() if e), key=repr)), coefficient

    def scale(self, p: Poly, c: Fraction) -> Poly:
        return frozenset((m, k * c) for m, k in p)

    def times(self, a: Poly, b: Poly) -> Poly:
        if len(a) * len(b) > LIMIT:
            raise TooLarge
        out: dict[Mono, Fraction] = {}
        for m1, c1 in a:
            for m2, c2 in b:
                m, k = self.monos(m1, m2)
                out[m] = out.get(m, Fraction(0)) + c1 * c2 * k
        return frozenset((m, c) for m, c in out.items() if c)

    def invert(self, p: Poly) -> Poly:
        if not p:
            raise NoNumber
        if len(p) == 1:
            ((m, c),) = p
            if any(f[0] == "bool" for f, _ in m):
                return self.atom(("inv", self.intern(p)), self.axes_of(p))
            inverse: Mono = ()
            for f, e in m:
                if f[0] == "exp":
                    inverse, _ = self.monos(inverse, ((f, -e),))
                else:
                    inverse, _ = self.monos(inverse, ((f, -e),))
            return frozenset([(inverse, 1 / c)])
        lead = self.content(p)
        f = ("poly", self.intern(self.scale(p, 1 / lead)))
        self._axes[f] = self.axes_of(p)
        return frozenset([(((f, -1),), 1 / lead)])

    def content(self, p: Poly) -> Fraction:
        """A canonical coefficient, so that a polynomial and its multiples share one factor."""
        return min(p, key=lambda mc: repr(mc[0]))[1] if p else Fraction(1)

    def axes_of(self, p: Poly) -> frozenset[str]:
        return frozenset().union(*(self._axes[f] for m, _ in p for f, _ in m))

    # ---- terms
    def of(self, x: int) -> Poly:
        if x not in self._memo:
            self._memo[x] = self._of(x)
        return self._memo[x]

    def _of(self, x: int) -> Poly:
        t = self.t
        n = t.node(x)
        kind, axes = n[0], t.dims(x)
        if (kind != "fn" and any(self._infinite(k) for k in t.kids(x))) or (kind == "lit" and self._infinite(x)):
            raise NoNumber
        if kind == "const":
            return self.constant(n[1])
        if kind == "in":
            return self.atom(("bool" if n[1] in t.bool_inputs else "in", n[1], n[2]), axes)
        if kind in ("lit", "ninf", "size", "index"):
            return self.atom((kind, *n[1:]), axes)
        if kind == "add":
            return self.plus([self.of(k) for k in n[1]])
        if kind == "mul":
            out = self.constant(Fraction(1))
            for k in sorted(n[1], key=lambda k: len(self.of(k))):
                out = self.times(out, self.of(k))
            return self.expanded(out)
        if kind == "inv":
            return self.invert(self.of(n[1]))
        if kind == "exp":
            p = self.of(n[1])
            if not p:
                return self.constant(Fraction(1))
            return self.atom(("exp", self.intern(p)), self.axes_of(p))
        if kind == "sqrt":
            p = self.of(n[1])
            return self.atom(("sqrt", self.intern(p)), self.axes_of(p))
        if kind == "red":
            body = self.of(n[3])
            return self.bind(n[2], body) if n[1] == "sum" else self.maximum(n[2], body)
        if n[1] == "finite":
            return self.of(n[2][0])
        if kind == "fn":
            args = tuple(self.intern(self.of(k)) for k in n[2])
            args = tuple(sorted(args)) if commutes(n[1]) else args
            tag = "bool" if t.is_boolean(x) else "fn"
            return self.atom((tag, n[1], *args), axes)
        raise TooLarge

    def _infinite(self, x: int) -> bool:
        """Does an infinity or a NaN stand in the sum of products of `x` (not inside a function, which may select)?"""
        n = self.t.node(x)
        if n[0] == "lit":
            return not math.isfinite(float(n[1]))
        return any(f[0] == "ninf" for m, _ in self.of(x) for f, _ in m)

    def expanded(self, p: Poly) -> Poly:
        """poly^1 factors (an inverse multiplied back) expand; a monomial keeps only negative powers of polynomials."""
        if not any(f[0] == "poly" and e > 0 for m, _ in p for f, e in m):
            return p
        parts = []
        for m, c in p:
            out = frozenset([(tuple((f, e) for f, e in m if not (f[0] == "poly" and e > 0)), c)])
            for f, e in m:
                for _ in range(e if f[0] == "poly" and e > 0 else 0):
                    out = self.times(out, self._polys[f[1]])
            parts.append(out)
        return self.plus(parts)

    def maximum(self, axis: str, body: Poly) -> Poly:
        if axis not in self.axes_of(body):
            return body
        binders = frozenset((axis,))
        if len(body) == 1:
            ((m, c),) = body
            if c == 1 and len(m) == 1 and m[0][1] == 1 and m[0][0][0] == "max":  # maxima of maxima in any order
                _, more, inner = m[0][0]
                binders, body = binders | more, self._polys[inner]
        return self.atom(("max", binders, self.intern(body)), self.axes_of(body) - binders)

    def bind(self, axis: str, body: Poly) -> Poly:
        """Sum over `axis`: of each monomial the factors along the axis stay inside, joined with binders that use it."""
        parts = []
        for m, c in body:
            outside: list[tuple[Factor, int]] = []
            inside: list[tuple[Factor, int]] = []
            binders = {axis}
            joined = self._joinable(m, axis)
            for f, e in m:
                if axis not in self._axes[f]:
                    outside.append((f, e))
                elif f in joined:
                    binders |= f[1]
                    inside += f[2]
                elif f[0] == "exp":
                    rest, along = self._split_exponent(self._polys[f[1]], axis)
                    if rest:
                        g = ("exp", self.intern(rest))
                        self._axes[g] = self.axes_of(rest)
                        outside.append((g, e))
                    g = ("exp", self.intern(along))
                    self._axes[g] = self.axes_of(along)
                    inside.append((g, e))
                else:
                    inside.append((f, e))
            if not inside:
                size = ("size", axis)
                self._axes[size] = frozenset()
                mono, k = self.monos(tuple(outside), ((size, 1),))
                parts.append(frozenset([(mono, c * k)]))
                continue
            inner, _ = self.monos(tuple(inside), ())
            inner, pulled = self._pull(inner, frozenset(binders))
            f = ("sum", frozenset(binders), inner)
            self._axes[f] = frozenset().union(*(self._axes[g] for g, _ in inner)) - binders
            mono, k = self.monos((*outside, *pulled), ((f, 1),))
            parts.append(frozenset([(mono, c * k)]))
        return self.expanded(self.plus(parts))

    def _joinable(self, m: Mono, axis: str) -> set[Factor]:
        """The sums of a monomial that may share one binder with `axis`: none whose bound axis another factor uses, free
        or bound ((sum_k a_k)(sum_k b_k) is not sum_k a_k b_k)."""
        along = [(f, e) for f, e in m if axis in self._axes[f]]
        sums = [f for f, e in along if f[0] == "sum" and e == 1]
        out = set()
        for f in sums:
            free = frozenset().union(*(self._axes[g] for g, _ in along if g != f))
            bound = frozenset().union(*(g[1] for g in sums if g != f))
            if not f[1] & (free | bound | {axis}):
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

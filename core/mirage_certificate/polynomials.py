"""Terms as polynomials over atoms: the commutative ring's laws are what two spellings of one polynomial share.

An atom is an input's element, a number that no fraction fits, or a function, sum or maximum of polynomials; a monomial maps
atoms to exponents. Every function is total here: 1 / 0, and roots and logarithms of what has none, are 0, so that what a
condition leaves out does no harm; that a side has a value is shown apart (`replay.discharge`). So x / x is not 1: it takes a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

Atom = tuple[Any, ...]
Mono = tuple[tuple[int, int], ...]
Poly = frozenset[tuple[Mono, Fraction]]
ZERO: Poly = frozenset()
ONE: Poly = frozenset([((), Fraction(1))])
FLAGS = frozenset({"lt", "le", "eq", "and", "or", "not"})  # functions that give 0 or 1
COMMUTE = frozenset({"maximum", "minimum", "eq", "and", "or"})
NEVER_ZERO = frozenset({"exp", "size"})
ORDERED = FLAGS | {"where", "finite"}  # functions whose arguments may be -inf
ONE_ARGUMENT = "not finite sigmoid tanh erf abs sin cos floor log round_fp16 round_bf16 round_fp8e4m3 round_fp8e5m2"
TWO_ARGUMENTS = "lt le eq and or maximum minimum"
FUNCTIONS = {**dict.fromkeys(ONE_ARGUMENT.split(), 1), **dict.fromkeys(TWO_ARGUMENTS.split(), 2), "where": 3}
MOST_WORK, DEEPEST, MOST_POWER, MOST_BITS, MOST_MONOMIALS = 2_000_000, 100, 256, 2048, 4000


class Refused(Exception):
    """The certificate does not hold, and why."""


def need(condition: bool, why: str) -> None:
    if not condition:
        raise Refused(why)


class Book:
    """The atoms that were made, and arithmetic on polynomials over them. `booleans`: inputs that hold 0 and 1 alone;
    `lengths`: of the axes, where what is shown is shown for these alone."""

    def __init__(self, booleans: Iterable[str] = (), lengths: Mapping[str, int] | None = None) -> None:
        self.booleans, self.lengths = frozenset(booleans), lengths
        self.atoms: list[Atom] = []
        self.free: list[frozenset[str]] = []  # axes along which an atom varies
        self.improper: set[int] = set()  # atoms that may be -inf
        self._depth: list[int] = []
        self._ids: dict[Atom, int] = {}
        self._order: dict[Poly, int] = {}
        self._signs: dict[int, int] = {}
        self.work = 0

    def spend(self, n: int) -> None:
        self.work += n
        need(self.work <= MOST_WORK, "it is too large")

    # ---- atoms
    def atom(self, a: Atom, axes: Iterable[str] = (), kids: tuple[Poly, ...] = (), improper: bool = False) -> Poly:
        if a not in self._ids:
            inside = [x for p in kids for m, _ in p for x, _ in m]
            depth = 1 + max((self._depth[x] for x in inside), default=0)
            need(depth <= DEEPEST, "its terms are nested too deeply")
            self.spend(1 + len(inside))
            self._ids[a] = len(self.atoms)
            self.atoms.append(a)
            self.free.append(frozenset(axes))
            self._depth.append(depth)
            self.improper |= {self._ids[a]} if improper else set()
        return self.of(self._ids[a])

    def axes(self, p: Poly) -> frozenset[str]:
        return frozenset().union(*(self.free[a] for m, _ in p for a, _ in m))

    def only(self, p: Poly) -> int | None:
        """The atom that a polynomial is, if it is nothing else."""
        ((m, c),) = p if len(p) == 1 else [((), 0)]
        return m[0][0] if c == 1 and len(m) == 1 and m[0][1] == 1 else None

    def of(self, a: int) -> Poly:
        return frozenset([(((a, 1),), Fraction(1))])

    def is_flag(self, a: int) -> bool:
        kind, *rest = self.atoms[a]
        return (kind == "in" and rest[0] in self.booleans) or (kind == "fn" and rest[0] in FLAGS)

    def selects(self, p: Poly) -> bool:
        """A product of 0/1 atoms."""
        return len(p) == 1 and all(c == 1 and all(self.is_flag(a) for a, _ in m) for m, c in p)

    def finite(self, *ps: Poly) -> None:
        need(not any(map(self.infinite, ps)), "arithmetic with what may be -inf")

    def infinite(self, p: Poly) -> bool:
        return bool(self.improper) and any(a in self.improper for m, _ in p for a, _ in m)

    # ---- the ring
    def const(self, c: Fraction | int) -> Poly:
        return frozenset([((), Fraction(c))]) if c else ZERO

    def plus(self, *ps: Poly) -> Poly:
        ps = tuple(p for p in ps if p)
        if len(ps) == 1:
            return ps[0]
        self.finite(*ps)
        return self._collected((m, c) for p in ps for m, c in p)

    def _collected(self, rows: Iterable[tuple[Mono, Fraction]]) -> Poly:
        out: dict[Mono, Fraction] = {}
        for m, c in rows:
            self.spend(1 + len(m))
            out[m] = out.get(m, Fraction(0)) + c
        kept = frozenset((m, c) for m, c in out.items() if c)
        largest = max((max(abs(c.numerator), c.denominator).bit_length() for _, c in kept), default=0)
        need(len(kept) <= MOST_MONOMIALS and largest <= MOST_BITS, "a polynomial or a number is too large")
        return kept

    def times(self, p: Poly, q: Poly) -> Poly:
        if p == ONE or q == ONE:
            return q if p == ONE else p
        self.finite(p, q)
        return self._collected((self._joined(m, n), c * d) for m, c in p for n, d in q)

    def _joined(self, m: Mono, n: Mono) -> Mono:
        powers = dict(m)
        for a, e in n:
            powers[a] = 1 if self.is_flag(a) else powers.get(a, 0) + e
        need(all(abs(e) <= MOST_POWER for e in powers.values()), "an exponent is too large")
        return tuple(sorted((a, e) for a, e in powers.items() if e))

    def minus(self, p: Poly, q: Poly) -> Poly:
        return self.plus(p, self.times(self.const(-1), q))

    def product(self, *ps: Poly) -> Poly:
        out = ONE
        for p in sorted(ps, key=len):
            out = self.times(out, p)
        return out

    def power(self, p: Poly, n: int) -> Poly:
        need(abs(n) <= MOST_POWER, "an exponent is too large")
        return self.product(*[p if n >= 0 else self.inverse(p)] * abs(n))

    def inverse(self, p: Poly) -> Poly:
        need(bool(p), "a division by zero")
        self.finite(p)
        if len(p) == 1:
            ((m, c),) = p
            return self.product(self.const(1 / c), *(self._turned(a, e) for a, e in m))
        lead = min(p)[1]
        scaled = self.times(p, self.const(1 / lead))
        return self.times(self.const(1 / lead), self.atom(("inv", scaled), self.axes(p), (scaled,)))

    def _turned(self, a: int, e: int) -> Poly:
        """The inverse of an atom to a power; of a 0/1 atom itself. Exponents below 0 are for what is never 0 alone."""
        kind, *rest = self.atoms[a]
        if kind in NEVER_ZERO or self.is_flag(a):
            return frozenset([(((a, e if self.is_flag(a) else -e),), Fraction(1))])
        return self.power(rest[0] if kind == "inv" else self.atom(("inv", self.of(a)), self.free[a], (self.of(a),)), e)

    # ---- functions
    def negative_infinity(self) -> Poly:
        return self.atom(("ninf",), improper=True)

    def size(self, axis: str) -> Poly:
        return self.atom(("size", axis)) if self.lengths is None else self.const(self.lengths[axis])

    def literal(self, text: str) -> Poly:
        need(math.isfinite(float(text)), "a number that is none")
        return self.atom(("lit", text))

    def exp(self, p: Poly) -> Poly:
        self.finite(p)
        return self.atom(("exp", p), self.axes(p), (p,)) if p else ONE

    def sqrt(self, p: Poly) -> Poly:
        self.finite(p)
        return self.atom(("sqrt", p), self.axes(p), (p,)) if p not in (ZERO, ONE) else p

    def where(self, c: Poly, a: Poly, b: Poly) -> Poly:
        if a == b or c in (ONE, ZERO):
            return b if c == ZERO else a
        if b == ZERO and self.selects(c):
            return self.times(c, a)
        free = self.axes(c) | self.axes(a) | self.axes(b)
        return self.atom(("fn", "where", c, a, b), free, (c, a, b), self.infinite(a) or self.infinite(b))

    def fn(self, name: str, *args: Poly) -> Poly:
        need(name in FUNCTIONS and len(args) == FUNCTIONS[name], "a function that is not known")
        if name == "where":
            return self.where(*args)
        if name not in ORDERED:
            self.finite(*args)
        if name in COMMUTE:
            args = tuple(sorted(args, key=lambda p: self._order.setdefault(p, len(self._order))))
        return self.atom(("fn", name, *args), frozenset().union(*map(self.axes, args)), args)

    def sum(self, axes: Iterable[str], p: Poly) -> Poly:
        self.finite(p)
        bound, free = frozenset(axes), self.axes(p)
        lengths = [self.size(a) for a in sorted(bound - free)]  # the same thing, as often as the axis is long
        return self.product(*lengths, self._bound("sum", bound & free, p)) if p else ZERO

    def max(self, axes: Iterable[str], p: Poly) -> Poly:
        return self._bound("max", frozenset(axes) & self.axes(p), p)

    def _bound(self, op: str, axes: frozenset[str], p: Poly) -> Poly:
        if not axes:
            return p
        inner = self.only(p)
        if inner is not None and self.atoms[inner][0] == op:  # sums of sums, maxima of maxima in any order
            _, more, p = self.atoms[inner]
            axes = axes | more
        return self.atom((op, axes, p), self.axes(p) - axes, (p,), self.infinite(p))

    # ---- replacement
    def swap(self, p: Poly, at: int, value: Callable[[int], Poly], memo: dict[int, Poly | None]) -> Poly:
        """`p` with every `at`, to the power e, as value(e), at all depths: the two are equal at all indices."""
        self.spend(len(p))
        memo.setdefault(at, ONE)
        rows: list[Poly] = []
        same: list[tuple[Mono, Fraction]] = []
        for m, c in p:
            changed = [(a, e, new) for a, e in m if (new := self._swapped(a, at, value, memo)) is not None]
            if changed:
                left: Poly = frozenset([(tuple(x for x in m if x not in [(a, e) for a, e, _ in changed]), c)])
                rows.append(self.product(left, *(value(e) if a == at else self.power(new, e) for a, e, new in changed)))
            else:
                same.append((m, c))
        return self.plus(frozenset(same), *rows) if rows else p

    def _swapped(self, a: int, at: int, value: Callable[[int], Poly], memo: dict[int, Poly | None]) -> Poly | None:
        if a not in memo:
            kind, *rest = self.atoms[a]
            kids = rest[1:] if kind in ("sum", "max", "fn") else rest if kind in ("inv", "exp", "sqrt") else []
            new = [self.swap(k, at, value, memo) for k in kids]
            if kind == "fn":
                out = self.fn(rest[0], *new)
            elif kind in ("sum", "max"):
                out = (self.sum if kind == "sum" else self.max)(rest[0], *new)
            elif kids:
                out = {"inv": self.inverse, "exp": self.exp, "sqrt": self.sqrt}[kind](*new)
            memo[a] = None if new == kids else out
        return memo[a]

    # ---- signs
    def sign(self, p: Poly) -> int:
        """2: positive; 1: not negative; 0: not known."""
        found = [min((self._sign(a, e) for a, e in m), default=2) if c > 0 else 0 for m, c in p]
        return 0 if 0 in found else max(found, default=1)

    def _sign(self, a: int, e: int) -> int:
        if a not in self._signs:
            self._signs[a] = self._atom_sign(*self.atoms[a]) if not self.is_flag(a) else 1
        return max(self._signs[a], 1 - e % 2)

    def _atom_sign(self, kind: str, *rest: Any) -> int:
        match kind, *rest:
            case ("size" | "exp", *_) | ("fn", "sigmoid", _):
                return 2
            case ("index", _) | ("fn", "abs", _):
                return 1
            case "sqrt", p:
                return 1 + (self.sign(p) == 2)
            case "lit", text:
                return 2 * (float(text) > 0)
            case ("inv", p) | ("sum" | "max", _, p):
                return self.sign(p)
            case "fn", "maximum" | "minimum" | "where" as name, *args:
                return (max if name == "maximum" else min)(self.sign(x) for x in args[-2:])
        return 0

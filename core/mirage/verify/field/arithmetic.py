"""Arithmetic in a pair of prime fields: how programs are compared without rounding.

A value is a pair of residues modulo p and q = (p - 1) / 2, both prime, packed into one uint64 (p's in the high half). An
exponential maps the second to the first: exp(x) = omega^(x mod q) mod p, omega of order q, so that the laws of exp hold.
Only first residues are compared. Every array has a leading axis of *draws*, each with an omega of its own.

Order: a value is positive when it is a square (p = 3 mod 4: of x and -x exactly one is), so exp is positive, products of
positives are, and sqrt(x^2) = |x|; magnitudes are ordered by a random permutation, small integers as usual.
Flags are bool arrays and integers int64 arrays; both stay exact and are lifted when they meet a field value.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from mirage.meaning.terms import refit
from mirage.operators.block_operators import BLOCK
from mirage.verify.field.primes import random_pair
from mirage.verify.semantics.arrays import Array

_U = np.uint64
HALF = _U(32)
LOW = _U(0xFFFFFFFF)
RESIDUE = _U(0x7FFFFFFF)  # q < 2^31: bit 31 of the low half is free
SPENT = _U(0x80000000)  # set when the second residue no longer means anything: an exp is below
SPECIAL = _U(0xFFFFFFFF) << HALF
NEG_INF, POS_INF, NAN = SPECIAL, SPECIAL | _U(1), SPECIAL | _U(2)
VECTOR = 2048  # elements from which a quotient and a product take less time than a remainder
SMALL = 1 << 15  # integers up to here are ordered as integers
LOG2E = 1.4426950408889634
# (number, name, its power) of what a literal may be a fraction, or the root of one, times
UNITS: tuple[tuple[float, str, int], ...] = (
    (1.0, "one", 0),
    (LOG2E, "log2(e)", 1),
    (LOG2E, "log2(e)", -1),
    *((math.sqrt(math.pi), "sqrt(pi)", n) for n in (-1, 1, -2, 2)),
)
ROUNDING = "round"  # in `opaque`: a cast to a narrower dtype is no identity
OPAQUE = ("sigmoid", ROUNDING)
_M = tuple(_U(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def mix(x: Array) -> Array:
    """A bijection of 64 bits in which every bit depends on every bit (splitmix64's finalizer)."""
    x = (x ^ (x >> _U(30))) * _M[1]
    x = (x ^ (x >> _U(27))) * _M[2]
    return np.asarray(x ^ (x >> _U(31)))


@lru_cache(maxsize=4096)
def salt(name: str) -> np.uint64:
    number: np.uint64 = _U(int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big"))
    return number


def residue(x: Array, m: np.uint64) -> Array:
    """x mod m. numpy divides many numbers by one faster than it takes remainders, by its vector units."""
    return x % m if x.size < VECTOR else x - x // m * m


def power(x: Array, exponent: int, modulus: int) -> Array:
    """x^exponent mod modulus, elementwise."""
    m = _U(modulus)
    base = np.asarray(x, _U) % m
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result = residue(result * base, m)
        base = residue(base * base, m)
        exponent >>= 1
    return np.asarray(result)


def pack(p: Array, q: Array) -> Array:
    return np.asarray((np.asarray(p, _U) << HALF) | np.asarray(q, _U))


def first(x: Array) -> Array:
    return np.asarray(x >> HALF)


def second(x: Array) -> Array:
    return np.asarray(x & RESIDUE)


def is_special(x: Array) -> Array:
    return np.asarray(first(x) == LOW)


def _no_limit(*xs: Array) -> Array:
    """Of an uninterpreted function nothing is known where an argument is infinite."""
    return np.full_like(xs[0], np.nan)


class Field:
    """One pair of primes, `draws` roots of unity, and the oracles' key. Methods take and give arrays whose first axis
    is the draws' (or has length one); shapes broadcast. `opaque` names functions kept uninterpreted: without "sigmoid"
    sigmoid(x) is 1 / (1 + exp(-x)), without "round" a cast to a narrower dtype is the identity. "products": a product or
    quotient of values that have exponentials below is an atom, whose second residue is an oracle of its first; sums and
    multiples of atoms keep the laws of exp above them."""

    lead = 1

    def __init__(self, seed: int, draws: int = 1, opaque: Iterable[str] = OPAQUE) -> None:
        self.seed, self.draws, self.opaque = seed, draws, frozenset(opaque)
        self.atoms = "products" in self.opaque
        self.p, self.q = random_pair(seed)
        self.rng = np.random.default_rng((seed, 0x5EED))
        self._mp, self._mq = _U(self.p), _U(self.q)
        roots = power(self.rng.integers(2, self.p - 1, draws, dtype=_U), 2, self.p)
        self.omega = np.where(roots == 1, _U(4), roots)  # a square that is not 1 has order q, because q is prime
        self._tables = self._windows()
        self.key = self.rng.integers(0, 1 << 63, dtype=_U)
        # exp2(y) = exp(y / L), with L the constant log2(e); of it and of pi is known that they are positive, and so are their roots
        self.log2e, self.root_pi = (
            self.encode_pair(*(pow(int(self.rng.integers(2, m)), 4, m) for m in (self.p, self.q))) for _ in range(2)
        )
        self.lacks_root = False  # a literal was met whose square has no root here
        self.negative_roots = np.zeros(draws, bool)  # draws in which a square root met a non-square

    def _windows(self) -> Array:
        """omega^(d * 256^i) for d < 256, i < 4, one table a draw."""
        table = np.ones((self.draws, 4, 256), _U)
        root = self.omega
        for i in range(4):
            for n in (1 << k for k in range(8)):  # the powers from n on are the n before them times base^n
                table[:, i, n : 2 * n] = table[:, i, :n] * root[:, None] % self._mp
                root = root * root % self._mp
        return table

    # ---- making values
    def encode_pair(self, p: int, q: int) -> np.uint64:
        packed: np.uint64 = _U(((p % self.p) << 32) | (q % self.q))
        return packed

    def const(self, value: Fraction | int) -> Array:
        """An exact number: an integer array where it is a small integer, else its residues."""
        value = Fraction(value)
        if value.denominator == 1 and abs(value.numerator) < 1 << 31:
            return np.full((1,), int(value), np.int64)
        return np.full((1,), self.rational(value), _U)

    def rational(self, value: Fraction) -> np.uint64:
        n, d = value.numerator, value.denominator
        return self.encode_pair(n * pow(d, -1, self.p), n * pow(d, -1, self.q))

    def literal(self, value: float) -> Array:
        """A float of a program's text as what it stands for: a fraction or the root of one, times log2(e), ln(2) or a power
        of sqrt(pi); else a constant that is equal to itself alone. So is a root that this field has not."""
        if math.isnan(value):
            return np.full((1,), NAN)
        if math.isinf(value):
            return np.full((1,), POS_INF if value > 0 else NEG_INF)
        for number, unit, power_of in UNITS:
            known = self._number(value / number**power_of)
            if known is not None:
                for _ in range(abs(power_of)):
                    atom = np.full((1,), self.log2e if unit == "log2(e)" else self.root_pi)
                    known = self.mul(known, atom) if power_of > 0 else self.div(known, atom)
                return known
        return self.oracle("literal " + float(value).hex())

    def _number(self, value: float) -> Array | None:
        plain = refit(value)
        if plain is not None:
            return self.const(plain)
        for k in (1, 2, 3, 5, 6, 7, 10):  # all of them squares in these fields, or products of squares
            short = Fraction(f"{value / math.sqrt(k):.8g}")
            if short.denominator <= 10**12 and abs(float(short) * math.sqrt(k) / value - 1) <= 1e-14:
                root = self.sqrt(self.lift(self.const(k)), watch=False)
                return self.mul(self.lift(self.const(short)), root)
        square = Fraction(value * value).limit_denominator(10**5)
        if square and abs(float(square) / (value * value) - 1) <= 1e-14:
            radicand = self.lift(self.const(square))
            if self.not_square(radicand).any():
                self.lacks_root = True
                return None
            root = self.sqrt(radicand, watch=False)
            return root if value > 0 else self.neg(root)
        return None

    def random(self, shape: tuple[int, ...]) -> Array:
        """Independent uniform residues, shape (draws, *shape)."""
        full = (self.draws, *shape)
        return pack(self.rng.integers(0, self.p, full, dtype=_U), self.rng.integers(0, self.q, full, dtype=_U))

    def neg_inf(self) -> Array:
        return np.full((1,), NEG_INF)

    def pad(self, value: float) -> Array:
        return self.literal(value)

    def lift(self, x: Array) -> Array:
        """Flags and integers as field values."""
        if x.dtype == _U:
            return x
        v = x.astype(np.int64)
        return pack((v % self.p).astype(_U), (v % self.q).astype(_U))

    # ---- helpers
    def _each(self, fn: Callable[..., Array], *xs: Array) -> Array:
        spent = xs[0]
        for x in xs[1:]:
            spent = spent | x
        return pack(fn(self._mp, *(first(x) for x in xs)), fn(self._mq, *(second(x) for x in xs)) | (spent & SPENT))

    def surrogate(self, x: Array) -> Array:
        """Floats that stand for values where one of them is infinite: the sign and specials are kept."""
        out = np.zeros(x.shape)
        signed = first(x) != 0
        for mark, v in ((NEG_INF, -np.inf), (POS_INF, np.inf), (NAN, np.nan)):
            here = x == mark
            out[here] = v
            signed &= ~here
        if signed.any():  # whether a residue is a square takes many products
            out[signed] = np.where(self.is_positive(x[signed]), 1.0, -1.0)
        return out

    def _specials(self, result: Array, fn: Callable[..., Array], *xs: Array) -> Array:
        """`result` with what IEEE arithmetic gives where an argument is infinite or NaN."""
        if not any(x.max(initial=_U(0)) >= SPECIAL for x in xs):  # they are the largest values
            return result
        shape = result.shape
        where = np.zeros(shape, bool)
        for x in xs:
            where = where | np.broadcast_to(is_special(x), shape)
        with np.errstate(all="ignore"):
            v = fn(*(self.surrogate(np.broadcast_to(x, shape)[where]) for x in xs))
        marks = np.where(np.isnan(v), NAN, np.where(v == np.inf, POS_INF, NEG_INF))
        finite = np.isfinite(v)
        marks = np.where(finite, self.lift(np.where(finite, v, 0).astype(np.int64)), marks)
        result = result.copy()
        result[where] = marks
        return result

    def is_positive(self, x: Array) -> Array:
        return np.asarray(power(first(x), (self.p - 1) // 2, self.p) == 1)

    # ---- ring
    def add(self, *xs: Array) -> Array:
        return self._chain(xs, self._add2, np.add)

    def _chain(self, xs: tuple[Array, ...], fn: Callable[..., Array], exact: Callable[..., Array]) -> Array:
        """Exact values first, among themselves: they are few and keep integers integers."""
        exacts = [x for x in xs if x.dtype != _U]
        rest = [x for x in xs if x.dtype == _U]
        total: Array | None = None
        for x in exacts:
            total = x.astype(np.int64) if total is None else exact(total, x.astype(np.int64))
        if total is not None and (not rest):
            return total
        out = rest[0] if total is None else fn(self.lift(total), rest[0])
        for x in rest[1:]:
            out = fn(out, x)
        return np.asarray(out)

    def _add2(self, a: Array, b: Array) -> Array:
        return self._specials(self._each(lambda m, x, y: residue(x + y, m), a, b), np.add, a, b)

    def neg(self, x: Array) -> Array:
        if x.dtype != _U:
            return np.asarray(-x.astype(np.int64))
        return self._specials(self._each(lambda m, v: residue(m - v, m), x), np.negative, x)

    def sub(self, a: Array, b: Array) -> Array:
        return self.add(a, self.neg(b))

    def mul(self, *xs: Array) -> Array:
        """A product; a flag among the factors selects: where it is false the product is 0, whatever the rest is."""
        flags = [x for x in xs if x.dtype == bool]
        rest = tuple(x for x in xs if x.dtype != bool)
        if not rest:
            return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*flags)))
        out = self._chain(rest, self._mul2, np.multiply)
        if not flags:
            return out
        keep = np.logical_and.reduce(np.broadcast_arrays(*flags))
        return np.where(keep, out, out.dtype.type(0))

    def _mul2(self, a: Array, b: Array) -> Array:
        out = self._each(lambda m, x, y: residue(x * y, m), a, b)
        if self.atoms:
            out = self._atom(out, ((a & b) & SPENT) != 0)
        return self._specials(out, np.multiply, a, b)

    def _atom(self, x: Array, where: Array) -> Array:
        """`x` with an oracle of its first residue as the second, `where` it has exponentials below."""
        if not where.any():
            return x
        fresh = pack(first(x), self._hash("atom", x) % self._mq | SPENT)
        return np.where(where & ~is_special(x), fresh, x)

    def inv(self, x: Array) -> Array:
        x = self.lift(x)
        out = self._each(lambda m, v: power(v, int(m) - 2, int(m)), x)
        if self.atoms:
            out = self._atom(out, (x & SPENT) != 0)
        out = np.where(first(x) == 0, POS_INF, out)
        return self._specials(out, np.reciprocal, x)

    def div(self, a: Array, b: Array) -> Array:
        return self.mul(self.lift(a), self.inv(b))

    # ---- exponentials and roots
    def exp(self, x: Array) -> Array:
        """omega^(second residue). Where the argument itself has an exp below, its second residue means nothing, and an
        oracle of the first takes its place: equal arguments still have equal exponentials."""
        x = self.lift(x)
        e = second(x)
        spent = (x & SPENT) != 0
        if spent.any() and not self.atoms:
            e = np.where(spent, self._hash("exp", x) % self._mq, e)
        e = np.broadcast_to(e, (self.draws, *e.shape[1:]))
        draw = np.arange(self.draws).reshape((-1,) + (1,) * (e.ndim - 1))
        out = np.ones_like(e)
        for i in range(4):
            out = residue(out * self._tables[draw, i, (e >> _U(8 * i)) & _U(255)], self._mp)
        out = pack(out, np.zeros_like(out) | SPENT)
        return self._specials(self._atom(out, out == out) if self.atoms else out, np.exp, x)

    def exp2(self, x: Array) -> Array:
        return self.exp(self.mul(self.lift(x), self._ln2))

    @cached_property
    def _ln2(self) -> Array:
        return self.inv(np.full((1,), self.log2e))

    def sqrt(self, x: Array, watch: bool = True) -> Array:
        """The square root that is itself a square. Draws in which the argument is no square are marked in
        `negative_roots` (its second residue counts unless it is spent)."""
        x = self.lift(x)
        if "sqrt" in self.opaque:
            return self._specials(self.oracle("sqrt", x), np.sqrt, x)
        out = self._each(lambda m, v: power(v, (int(m) + 1) // 4, int(m)), x)
        if watch:
            bad = self.not_square(x)
            self.negative_roots |= np.broadcast_to(bad.reshape(bad.shape[0], -1).any(axis=1), (self.draws,))
        if self.atoms:
            out = self._atom(out, (x & SPENT) != 0)
        return self._specials(out, np.sqrt, x)

    def not_square(self, x: Array, both: bool = True) -> Array:
        """The draws in which a value has no root: of both residues, or of the first alone."""
        special = is_special(x)
        bad = ~self.is_positive(x) & (first(x) != 0)
        if both:
            q = second(x)
            bad = bad | ((x & SPENT == 0) & (q != 0) & (power(q, (self.q - 1) // 2, self.q) != 1))
        return np.asarray(bad & ~special)

    # ---- functions
    def _hash(self, name: str, *xs: Array) -> Array:
        """64 bits of an uninterpreted function of the arguments' first residues."""
        h: Array = np.full((1,), self.key ^ salt(name))
        for x in xs:
            h = mix(h * _M[0] + first(self.lift(x)))
        return mix(h)

    def oracle(self, name: str, *xs: Array) -> Array:
        """An uninterpreted function: equal for equal arguments, random otherwise."""
        h = self._hash(name, *xs)
        return pack((h >> _U(1)) % self._mp, mix(h + _M[0]) % self._mq)

    def sigmoid(self, x: Array) -> Array:
        if "sigmoid" in self.opaque:
            x = self.lift(x)
            return self._specials(self.oracle("sigmoid", x), lambda v: 1 / (1 + np.exp(-v)), x)
        return self.inv(self.add(self.exp(self.neg(x)), self.const(1)))

    def abs(self, x: Array) -> Array:
        return self.maximum(x, self.neg(x))

    def finite(self, x: Array) -> Array:
        return np.where(x == NEG_INF, _U(0), x) if x.dtype == _U else x

    def fn(self, name: str, *xs: Array) -> Array:
        """An operator by its name in the table; one that the table does not have is an oracle."""
        entry = BLOCK.get(name)
        if entry is not None and entry.rounds and ROUNDING not in self.opaque:
            return xs[0]
        value = None if entry is None else entry.in_field(self, *xs)
        if value is not None:
            return np.asarray(value)
        xs = tuple(self.lift(x) for x in xs)
        if entry is not None and entry.flag:
            return np.asarray(self._hash(name, *xs) & _U(1) == 1)
        limits = entry.at_infinity if entry is not None and entry.at_infinity is not None else _no_limit
        out = self.oracle(name, *xs)
        return self._specials(np.broadcast_to(out, np.broadcast_shapes(*(x.shape for x in xs))), limits, *xs)

    # ---- order
    def order(self, x: Array) -> Array:
        """int64 keys: a total order on first residues, odd (of -x and x), that of the integers on small ones."""
        x = self.lift(x)
        p = first(x)
        positive = power(p, (self.p - 1) // 2, self.p) == 1
        size = np.where(positive, p, (self._mp - p) % self._mp)
        h = (mix(size * _M[0] + (self.key ^ salt("order"))) >> _U(2)).astype(np.int64) | (1 << 40)
        keys = np.where(positive, h, -h)
        signed = np.where(p > self._mp // _U(2), p.astype(np.int64) - self.p, p.astype(np.int64))
        keys = np.where(np.abs(signed) <= SMALL, signed, keys)
        keys = np.where(x == NEG_INF, -(1 << 63) + 1, keys)
        return np.asarray(np.where((x == POS_INF) | (x == NAN), (1 << 63) - 1, keys))

    def _pick(self, a: Array, b: Array, sign: int) -> Array:
        if a.dtype != _U and b.dtype != _U:
            return np.maximum(a, b) if sign > 0 else np.minimum(a, b)
        a, b = self.lift(a), self.lift(b)
        ka, kb = self.order(a), self.order(b)
        out = np.where(ka >= kb if sign > 0 else ka <= kb, a, b)
        return np.where((a == NAN) | (b == NAN), NAN, out)

    def maximum(self, a: Array, b: Array) -> Array:
        return self._pick(a, b, 1)

    def minimum(self, a: Array, b: Array) -> Array:
        return self._pick(a, b, -1)

    def _compare(self, fn: Callable[..., Array], a: Array, b: Array) -> Array:
        if a.dtype != _U and b.dtype != _U:
            return np.asarray(fn(a.astype(np.int64), b.astype(np.int64)))
        a, b = self.lift(a), self.lift(b)
        return np.asarray(fn(self.order(a), self.order(b)) & (a != NAN) & (b != NAN))

    def quotient(self, a: Array, b: Array) -> Array:
        """Rounded down: exact on integers, else an oracle of the quotient."""
        if a.dtype != _U and b.dtype != _U and bool((b != 0).all()):
            return np.asarray(np.floor_divide(a.astype(np.int64), b.astype(np.int64)))
        return np.asarray(self.fn("floor", self.div(a, b)))

    def lt(self, a: Array, b: Array) -> Array:
        return self._compare(np.less, a, b)

    def le(self, a: Array, b: Array) -> Array:
        return self._compare(np.less_equal, a, b)

    def eq(self, a: Array, b: Array) -> Array:
        if a.dtype != _U and b.dtype != _U:
            return np.asarray(a.astype(np.int64) == b.astype(np.int64))
        a, b = self.lift(a), self.lift(b)
        same = np.where(is_special(a) | is_special(b), a == b, first(a) == first(b))
        return np.asarray(same & (a != NAN) & (b != NAN))

    def truth(self, x: Array) -> Array:
        """A 0/1 value as a flag."""
        return x if x.dtype == bool else np.asarray(x != 0 if x.dtype != _U else first(x) != 0)

    def where(self, c: Array, a: Array, b: Array) -> Array:
        if a.dtype != b.dtype:
            a, b = (self.lift(a), self.lift(b)) if _U in (a.dtype, b.dtype) else (a.astype(int), b.astype(int))
        return np.where(self.truth(c), a, b)

    def conjunction(self, a: Array, b: Array) -> Array:
        return np.asarray(self.truth(a) & self.truth(b))

    def disjunction(self, a: Array, b: Array) -> Array:
        return np.asarray(self.truth(a) | self.truth(b))

    def negation(self, x: Array) -> Array:
        return np.asarray(~self.truth(x))

    # ---- reductions
    def sum(self, x: Array, axis: int) -> Array:
        """The sum along one axis (not the draws'), which goes away."""
        if x.dtype != _U:
            return np.asarray(x.astype(np.int64).sum(axis=axis))
        special = is_special(x)
        clean = np.where(special, _U(0), x) if special.any() else x
        spent = np.bitwise_or.reduce(clean & SPENT, axis=axis)
        out = pack(first(clean).sum(axis=axis) % self._mp, (second(clean).sum(axis=axis) % self._mq) | spent)
        if special.any():
            with np.errstate(all="ignore"):
                v = np.where(special, self.surrogate(x), 0.0).sum(axis=axis)
            marks = np.where(np.isnan(v), NAN, np.where(v > 0, POS_INF, NEG_INF))
            out = np.where(special.any(axis=axis), marks, out)
        return np.asarray(out)

    def max(self, x: Array, axis: int) -> Array:
        if x.dtype != _U:
            return np.asarray(x.max(axis=axis))
        at = np.expand_dims(self.order(x).argmax(axis=axis), axis)
        out = np.take_along_axis(x, at, axis=axis).squeeze(axis)
        return np.where((x == NAN).any(axis=axis), NAN, out)

    # ---- comparing
    def same(self, a: Array, b: Array) -> Array:
        """The elements at which two results agree: first residues, or the same special."""
        a, b = self.lift(a), self.lift(b)
        return np.asarray(np.where(is_special(a) | is_special(b), a == b, first(a) == first(b)))

    def show(self, x: np.uint64) -> str:
        names = {int(NEG_INF): "-inf", int(POS_INF): "inf", int(NAN): "nan"}
        return names.get(int(x), f"{int(x) >> 32} (mod {self.p})")


def random_field(seed: int, draws: int = 1, opaque: Iterable[str] = OPAQUE) -> Field:
    """A field whose primes, roots of unity and oracles come from `seed`."""
    return Field(seed, draws, opaque)

"""Finite-field fingerprints of terms: equal terms get equal fingerprints, different ones differ but for a chance of 1e-9.

A value is a pair of residues (mod P, mod Q) with P = 2Q + 1, both prime, so that exp maps the second to the first. It is
taken at two assignments of tiny axis sizes, so that no coincidence of a size (x + x = 2x where an axis has two elements)
counts. The search identifies reductions by it; verification draws fields of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mirage.meaning.nodes import (
    Add,
    Apply,
    Change,
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

P, Q = 2147483579, 1073741789
GENERATOR = pow(1234577, 2, P)
Residues: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]  # hashes, of which residues are taken
Print: TypeAlias = tuple[frozenset[str], bytes]
Pair: TypeAlias = tuple[Residues, Residues]
_M1, _M2, _M3 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mix(x: Words) -> Words:
    """The finalizer of splitmix64; products wrap around on purpose."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * _M2
        x = (x ^ (x >> np.uint64(27))) * _M3
        return np.asarray(x ^ (x >> np.uint64(31)))


def _salt(text: str) -> np.uint64:
    salt: np.uint64 = np.uint64(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big"))
    return salt


def _power(base: int | Residues, exponent: Residues, m: int) -> Residues:
    result = np.ones_like(exponent)
    b = np.full_like(exponent, base) if isinstance(base, int) else base.copy()
    e = exponent.copy()
    while e.any():
        odd = (e & 1) == 1
        result[odd] = result[odd] * b[odd] % m
        b = b * b % m
        e >>= 1
    return result


class Fingerprints:
    """Fingerprints of the terms of one arena, memoised."""

    def __init__(self, t: Terms) -> None:
        self.t = t
        self._values: list[dict[int, Pair]] = [{}, {}]
        self._prints: dict[int, Print] = {}
        self._has_exp: dict[int, bool] = {}
        self._sizes: list[dict[str, int]] = [{}, {}]
        self._classes: dict[str, str] = {}
        self._placed: dict[tuple[str, int], tuple[str, ...]] = {}
        self._read = 0

    def of(self, x: int) -> Print:
        """A hashable identity of the value of `x`."""
        found = self._prints.get(x)
        if found is None:
            self._scan()
            parts = [self._value(x, which) for which in (0, 1)]
            shown = [p.tobytes() + (b"" if self._spent(x) else q.tobytes()) for p, q in parts]
            digest = hashlib.blake2b(b"".join(shown), digest_size=16).digest()
            found = self._prints[x] = (self.t.dims(x), digest)
        return found

    def _spent(self, x: int) -> bool:
        """True if an exp is below `x`. Its second residue then means nothing (it only keeps nested exps apart)."""
        found = self._has_exp.get(x)
        if found is None:
            found = isinstance(self.t.node(x), Exp) or any(self._spent(k) for k in self.t.kids(x))
            self._has_exp[x] = found
        return found

    def _find(self, axis: str) -> str:
        while self._classes.setdefault(axis, axis) != axis:
            axis = self._classes[axis]
        return axis

    def _scan(self) -> None:
        """Axes that index the same dimension of the same tensor get the same tiny size."""
        for node in self.t.nodes[self._read :]:
            if isinstance(node, Input):
                for i, d in enumerate(node.index):
                    first = self._placed.setdefault((node.name, i), d.axes)
                    if len(first) == len(d.axes):
                        for a, b in zip(first, d.axes, strict=True):
                            self._classes[self._find(b)] = self._find(a)
        self._read = len(self.t.nodes)

    def _size(self, axis: str, which: int) -> int:
        sizes = self._sizes[which]
        root = self._find(axis)
        if root not in sizes:
            n = len(sizes)
            sizes[root] = (2, 3, 5, 4, 7, 6)[n % 6] if which == 0 else (5, 2, 3, 7, 4, 6)[n % 6]
        return sizes[root]

    def _value(self, x: int, which: int) -> Pair:
        memo = self._values[which]
        if x not in memo:
            memo[x] = self._compute(x, which)
        return memo[x]

    def _align(self, a: Residues, source: frozenset[str], target: frozenset[str]) -> Residues:
        shape = iter(a.shape)
        return a.reshape([next(shape) if d in source else 1 for d in sorted(target)])

    def _spread(self, axes: tuple[str, ...], dims: frozenset[str], which: int) -> Residues:
        """The flattened index along `axes`, as an array over `dims`."""
        total: Residues = np.zeros([1] * len(dims), np.int64)
        for a in axes:
            n = self._size(a, which)
            line = np.arange(n).reshape([n if d == a else 1 for d in sorted(dims)])
            total = total * n + line
        return np.array(np.broadcast_to(total, self._shape(dims, which)))

    def _signed(self, pair: Pair) -> Residues:
        return np.where(pair[0] > P // 2, pair[0] - P, pair[0])

    def _compute(self, x: int, which: int) -> Pair:
        n, dims = self.t.node(x), self.t.dims(x)
        match n:
            case Input():
                return self._input(n, dims, which)
            case Change(atom):
                key: Words = np.full(self._shape(dims, which), np.uint64(atom) + np.uint64(77), np.uint64)
                return self._residues(_mix(key + np.arange(key.size, dtype=np.uint64).reshape(key.shape) * _M1))
            case Const(value):
                p, q = (np.asarray(value.numerator * pow(value.denominator, -1, m) % m) for m in (P, Q))
                return p, q
            case FloatLiteral() | NegInf():
                s = int(_salt(repr(n.key)))
                return np.asarray(s % P), np.asarray(s % Q)
            case Size(axis):
                return np.asarray(self._size(axis, which)), np.asarray(self._size(axis, which))
            case Index(axes):
                v = self._spread(axes, dims, which)
                return v, v
        return self._operation(n, dims, [self._value(k, which) for k in n.kids])

    def _shape(self, dims: frozenset[str], which: int) -> list[int]:
        return [self._size(d, which) for d in sorted(dims)]

    def _residues(self, key: Words) -> Pair:
        return (key % np.uint64(P)).astype(np.int64), (_mix(key + _M1) % np.uint64(Q)).astype(np.int64)

    def _input(self, n: Input, dims: frozenset[str], which: int) -> Pair:
        """A value drawn for the element's name and place."""
        key: Words = np.full(self._shape(dims, which), _salt(n.name), np.uint64)
        for i, d in enumerate(n.index):
            spread = (self._spread(d.axes, dims, which) + d.offset).astype(np.uint64)
            key = _mix(key + spread * _M1 + np.uint64(i + 1))
        if n.name in self.t.bool_inputs:
            bit = (key & np.uint64(1)).astype(np.int64)
            return bit, bit
        return self._residues(key)

    def _operation(self, n: Node, dims: frozenset[str], parts: list[Pair]) -> Pair:
        match n:
            case Add() | Mul():
                return self._joined(n, dims, parts)
            case Reduce(op, axis, body):
                p, q = self._oracle("max", parts, n.kids) if op == "max" else parts[0]
                place = sorted(self.t.dims(body)).index(axis)
                return np.asarray(p.sum(axis=place) % P), np.asarray(q.sum(axis=place) % Q)
            case Inv():
                p, q = map(np.atleast_1d, parts[0])
                shape = parts[0][0].shape
                return (
                    _power(p, np.full_like(p, P - 2), P).reshape(shape),
                    _power(q, np.full_like(q, Q - 2), Q).reshape(shape),
                )
            case Exp():
                _, q = parts[0]
                e = _power(GENERATOR, np.atleast_1d(q), P).reshape(q.shape)
                return e, self._oracle("exp", [(np.zeros_like(q), q)], n.kids)[1]
            case Sqrt():
                return self._oracle("sqrt", parts, n.kids)
            case Apply(name, args):
                kept = [self.t.dims(k) for k in args]
                aligned = [(self._align(p, d, dims), self._align(q, d, dims)) for (p, q), d in zip(parts, kept)]
                return self._function(name, args, aligned)
        raise TypeError(f"a term without a value: {n}")

    def _joined(self, n: Add | Mul, dims: frozenset[str], parts: list[Pair]) -> Pair:
        """The sum or product of the parts, residue by residue."""

        def residue(values: Iterable[Residues], m: int) -> Residues:
            aligned = (self._align(v, self.t.dims(k), dims) for v, k in zip(values, n.parts))
            if isinstance(n, Add):
                return reduce(lambda a, b: (a + b) % m, aligned)
            return reduce(lambda a, b: a * b % m, aligned)

        return residue((p for p, _ in parts), P), residue((q for _, q in parts), Q)

    def _function(self, name: str, args: tuple[int, ...], parts: list[Pair]) -> Pair:
        if name == "where":
            (c, _), (a, a2), (b, b2) = parts
            return np.where(c != 0, a, b), np.where(c != 0, a2, b2)
        if name in ("lt", "le") and all(map(self.t.is_integral, args)):
            x, y = map(self._signed, parts)
            v = ((x < y) if name == "lt" else (x <= y)).astype(np.int64)
            return v, v
        if name == "eq":
            (x, _), (y, _) = parts
            v = (x == y).astype(np.int64)
            return v, v
        p, q = self._oracle(name, parts, args)
        if name in ("lt", "le"):
            return p & 1, p & 1
        return p, q

    def _oracle(self, name: str, parts: list[Pair], args: tuple[int, ...]) -> Pair:
        """An uninterpreted function of its arguments' values."""
        key: Words = np.asarray(_salt(name))
        with np.errstate(over="ignore"):
            for (p, q), x in zip(parts, args, strict=True):
                key = _mix(key + p.astype(np.uint64) * _M1)
                if name == "exp" or not self._spent(x):
                    key = _mix(key + q.astype(np.uint64))
            return self._residues(key)

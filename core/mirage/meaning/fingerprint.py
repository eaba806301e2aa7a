"""Finite-field fingerprints of terms: equal terms get equal fingerprints, different ones differ but for a chance of 1e-9.

A value is a pair of residues (mod P, mod Q) with P = 2Q + 1, both prime, so that exp maps the second to the first. It is
taken at two assignments of tiny axis sizes, so that no coincidence of a size (x + x = 2x where an axis has two elements)
counts. The search identifies reductions by it; verification draws fields of its own.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from mirage.meaning.nodes import Node
from mirage.meaning.terms import Terms

P, Q = 2147483579, 1073741789
GENERATOR = pow(1234577, 2, P)
Array = np.ndarray[Any, np.dtype[Any]]
Pair = tuple[Array, Array]
_M1, _M2, _M3 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mix(x: Array) -> Array:
    """The finalizer of splitmix64; products wrap around on purpose."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * _M2
        x = (x ^ (x >> np.uint64(27))) * _M3
        return np.asarray(x ^ (x >> np.uint64(31)))


def _salt(text: str) -> Any:
    return np.uint64(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big"))


def _power(base: Any, exponent: Array, m: int) -> Array:
    result = np.ones_like(exponent)
    b = np.full_like(exponent, base) if np.isscalar(base) else base.copy()
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
        self._prints: dict[int, Any] = {}
        self._has_exp: dict[int, bool] = {}
        self._sizes: list[dict[str, int]] = [{}, {}]
        self._classes: dict[str, str] = {}
        self._placed: dict[tuple[str, int], tuple[str, ...]] = {}
        self._read = 0

    def of(self, x: int) -> Any:
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
        """Is an exp below `x`? Its second residue then means nothing (it only keeps nested exps apart)."""
        found = self._has_exp.get(x)
        if found is None:
            found = self.t.kind(x) == "exp" or any(self._spent(k) for k in self.t.kids(x))
            self._has_exp[x] = found
        return found

    def _find(self, axis: str) -> str:
        while self._classes.setdefault(axis, axis) != axis:
            axis = self._classes[axis]
        return axis

    def _scan(self) -> None:
        """Axes that index the same dimension of the same tensor get the same tiny size."""
        for node in self.t.nodes[self._read :]:
            if node[0] == "in":
                for i, d in enumerate(node[2]):
                    first = self._placed.setdefault((node[1], i), d.axes)
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

    def _align(self, a: Array, source: frozenset[str], target: frozenset[str]) -> Array:
        shape = iter(a.shape)
        return a.reshape([next(shape) if d in source else 1 for d in sorted(target)])

    def _spread(self, axes: tuple[str, ...], dims: frozenset[str], which: int) -> Array:
        """The flattened index along `axes`, as an array over `dims`."""
        total: Array = np.zeros([1] * len(dims), np.int64)
        for a in axes:
            n = self._size(a, which)
            line = np.arange(n).reshape([n if d == a else 1 for d in sorted(dims)])
            total = total * n + line
        return np.array(np.broadcast_to(total, [self._size(d, which) for d in sorted(dims)]))

    def _signed(self, pair: Pair) -> Array:
        return np.where(pair[0] > P // 2, pair[0] - P, pair[0])

    def _compute(self, x: int, which: int) -> Pair:
        t = self.t
        n, dims = t.node(x), t.dims(x)
        kind = n[0]
        if kind == "in":
            shape = [self._size(d, which) for d in sorted(dims)]
            key: Array = np.full(shape, _salt(n[1]), np.uint64)
            for i, d in enumerate(n[2]):
                spread = (self._spread(d.axes, dims, which) + d.offset).astype(np.uint64)
                key = _mix(key + spread * _M1 + np.uint64(i + 1))
            if n[1] in t.bool_inputs:
                bit = (key & np.uint64(1)).astype(np.int64)
                return bit, bit
            return (key % np.uint64(P)).astype(np.int64), (_mix(key + _M1) % np.uint64(Q)).astype(np.int64)
        if kind == "delta":
            key = np.full([self._size(d, which) for d in sorted(dims)], np.uint64(n[1]) + np.uint64(77), np.uint64)
            key = _mix(key + np.arange(key.size, dtype=np.uint64).reshape(key.shape) * _M1)
            return (key % np.uint64(P)).astype(np.int64), (_mix(key + _M1) % np.uint64(Q)).astype(np.int64)
        if kind == "const":
            return tuple(np.asarray(n[1].numerator * pow(n[1].denominator, -1, m) % m) for m in (P, Q))  # type: ignore[return-value]
        if kind in ("lit", "ninf"):
            s = _salt(repr(n.key))
            return np.asarray(int(s) % P), np.asarray(int(s) % Q)
        if kind == "size":
            return np.asarray(self._size(n[1], which)), np.asarray(self._size(n[1], which))
        if kind == "index":
            v = self._spread(n[1], dims, which)
            return v, v
        parts = [self._value(k, which) for k in t.kids(x)]
        if kind in ("add", "mul"):
            out = []
            for j, m in ((0, P), (1, Q)):
                acc: Array | None = None
                for k, pair in zip(t.kids(x), parts, strict=True):
                    a = self._align(pair[j], t.dims(k), dims)
                    acc = a if acc is None else (acc + a) % m if kind == "add" else acc * a % m
                out.append(acc)
            return out[0], out[1]  # type: ignore[return-value]
        if kind == "red":
            axis = sorted(t.dims(n[3])).index(n[2])
            p, q = parts[0]
            if n[1] == "max":
                p, q = self._oracle("max", [parts[0]], [n[3]])
            return np.asarray(p.sum(axis=axis) % P), np.asarray(q.sum(axis=axis) % Q)
        if kind == "inv":
            p, q = (np.atleast_1d(a) for a in parts[0])
            shape = parts[0][0].shape
            return (
                _power(p, np.full_like(p, P - 2), P).reshape(shape),
                _power(q, np.full_like(q, Q - 2), Q).reshape(shape),
            )
        if kind == "exp":
            p, q = parts[0]
            e = _power(GENERATOR, np.atleast_1d(q), P).reshape(q.shape)
            return e, self._oracle("exp", [(np.zeros_like(q), q)], [n[1]])[1]
        if kind == "sqrt":
            return self._oracle("sqrt", parts, [n[1]])
        aligned = [
            tuple(self._align(v, t.dims(k), dims) for v in pair) for k, pair in zip(t.kids(x), parts, strict=True)
        ]
        return self._function(n, aligned)  # type: ignore[arg-type]

    def _function(self, n: Node, parts: list[Pair]) -> Pair:
        name = n[1]
        if name == "where":
            c = parts[0][0] != 0
            return np.where(c, parts[1][0], parts[2][0]), np.where(c, parts[1][1], parts[2][1])
        if name in ("lt", "le") and all(self.t.is_integral(k) for k in n[2]):
            a, b = (self._signed(p) for p in parts)
            v = ((a < b) if name == "lt" else (a <= b)).astype(np.int64)
            return v, v
        if name == "eq":
            v = (parts[0][0] == parts[1][0]).astype(np.int64)
            return v, v
        p, q = self._oracle(name, parts, n[2])
        if name in ("lt", "le"):
            return p & 1, p & 1
        return p, q

    def _oracle(self, name: str, parts: list[Pair], args: Any) -> Pair:
        """An uninterpreted function of its arguments' values."""
        key: Any = _salt(name)
        with np.errstate(over="ignore"):
            for (p, q), x in zip(parts, args, strict=True):
                key = _mix(key + p.astype(np.uint64) * _M1)
                if name == "exp" or not self._spent(x):
                    key = _mix(key + q.astype(np.uint64))
            return (key % np.uint64(P)).astype(np.int64), (_mix(key + _M1) % np.uint64(Q)).astype(np.int64)

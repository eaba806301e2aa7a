"""Finite rank: write a body F as sum_k c_k(u) * B_k(x), the one question behind decomposing and carrying a reduction.

Only the spine that contains u is touched; the B_k are never expanded, so that pointwise regions stay opaque.
"""

from __future__ import annotations

from mirage.meaning.nodes import Add, Exp, Inv, Mul, Reduce
from mirage.meaning.terms import Terms

Collected = dict[int, int]  # coefficient in u -> body free of u


class Collector:
    """`collect` with its memo; one a search."""

    def __init__(self, t: Terms) -> None:
        self.t = t
        self._memo: dict[tuple[int, frozenset[int]], Collected | None] = {}
        self._occurs: dict[tuple[int, frozenset[int]], bool] = {}

    def occurs(self, x: int, atoms: frozenset[int]) -> bool:
        """True if one of `atoms` is part of `x`, not looking into reductions."""
        if x in atoms:
            return True
        if isinstance(self.t.node(x), Reduce):
            return False
        key = (x, atoms)
        hit = self._occurs.get(key)
        if hit is None:
            hit = self._occurs[key] = any(self.occurs(k, atoms) for k in self.t.kids(x))
        return hit

    def collect(self, e: int, atoms: frozenset[int]) -> Collected | None:
        """{c_k: B_k} with e = sum_k c_k * B_k, or None if the atoms cannot be separated."""
        key = (e, atoms)
        if key not in self._memo:
            self._memo[key] = self._collect(e, atoms)
        return self._memo[key]

    def _collect(self, e: int, atoms: frozenset[int]) -> Collected | None:
        t = self.t
        one = t.const(1)
        if not self.occurs(e, atoms):
            return {one: e}
        if e in atoms:
            return {e: one}
        match t.node(e):
            case Add(parts):
                return self._sum(parts, atoms)
            case Mul(parts):
                return self._product(parts, atoms)
            case Inv(arg):
                part = self.collect(arg, atoms)
                return {t.inv(a): t.inv(b) for a, b in part.items()} if part is not None and len(part) == 1 else None
            case Exp(arg):
                part = self.collect(arg, atoms)
                return None if part is None else self._exponential(part)
        return None  # sqrt, sigmoid, ... of a mixed argument; a nested reduction is decided at its own turn

    def _sum(self, parts: tuple[int, ...], atoms: frozenset[int]) -> Collected | None:
        t = self.t
        total: Collected = {}
        for y in parts:
            part = self.collect(y, atoms)
            if part is None:
                return None
            for a, b in part.items():
                total[a] = t.add(total[a], b) if a in total else b
        return total

    def _product(self, parts: tuple[int, ...], atoms: frozenset[int]) -> Collected | None:
        t = self.t
        product: Collected = {t.const(1): t.const(1)}
        for y in parts:
            part = self.collect(y, atoms)
            if part is None:
                return None
            following: Collected = {}
            for a, b in product.items():
                for a2, b2 in part.items():
                    a3, b3 = t.mul(a, a2), t.mul(b, b2)
                    following[a3] = t.add(following[a3], b3) if a3 in following else b3
            product = following
        return product

    def _exponential(self, part: Collected) -> Collected | None:
        """exp of a sum: a summand reads the atoms alone (up to a number) or not at all."""
        t = self.t
        of_atoms = [t.mul(a, b) for a, b in part.items() if t.is_plain(b)]
        of_rest = [b for a, b in part.items() if t.is_const(a, 1) and not t.is_plain(b)]
        if len(of_atoms) + len(of_rest) != len(part):
            return None
        return {t.exp(t.add(*of_atoms)): t.exp(t.add(*of_rest))}

    def replace(self, x: int, mapping: dict[int, int]) -> int:
        """`x` with some of its parts (not below reductions, unless these are keys themselves) replaced."""
        memo: dict[int, int] = {}

        def go(y: int) -> int:
            if y in mapping:
                return mapping[y]
            if not self.t.front(y) or self.t.kind(y) == "red":
                return y
            if y not in memo:
                kids = self.t.kids(y)
                new = tuple(go(k) for k in kids)
                memo[y] = y if new == kids else self.t.rebuild(y, new)
            return memo[y]

        return go(x)

    def groups(self, body: int, axis: str) -> list[frozenset[int]]:
        """The maximal subexpressions that do not vary along `axis` but read a reduction, grouped by which ones they need."""
        t = self.t
        found: dict[frozenset[int], set[int]] = {}
        todo, seen = [body], set()
        while todo:
            x = todo.pop()
            if axis not in t.dims(x):
                if t.front(x):
                    found.setdefault(t.closure(x), set()).add(x)
            elif t.kind(x) != "red" and x not in seen:
                seen.add(x)
                todo += t.kids(x)
        return [frozenset(found[k]) for k in sorted(found, key=lambda k: (len(k), sorted(k)))]

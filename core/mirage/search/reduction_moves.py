"""The moves of the search: a reduction keeps, moves out or carries those before it; sums are swapped and merged.

out      F = sum_k c_k(u) B_k(x): one accumulator for each k, the c_k applied after the loop
kept     u stays in F: if u needs a reduction over the same streamed axis, one more pass
carried  F(x, u o delta) = sum_j c_j(delta) F_j(x, u): u is its running value and the accumulators are updated by it
         (one term: the rescale of the softmax; several: a linear map on sibling accumulators)
swap     sum_d A * (sum_e T) -> sum_e sum_d A * T;  merge: sum_d F + sum_d G -> sum_d (F + G);  apart: the reverse

`carried` and `out` need the same thing, finite rank in u, which `Collector.collect` decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import TypeVar

from mirage.meaning.fingerprint import Fingerprints
from mirage.meaning.finite_rank import Collected, Collector
from mirage.meaning.nodes import ACTIONS, Action, Add, Change, Exp, Mul, Op, Reduce, Size, Update
from mirage.meaning.terms import EMPTY, Terms
from mirage.results.progress import CancelToken
from mirage.search.initial_values import finite_at_first

T = TypeVar("T")


def subsets(xs: Sequence[T]) -> list[tuple[T, ...]]:
    return [c for n in range(len(xs) + 1) for c in combinations(xs, n)]


def divisions(xs: Sequence[T]) -> list[list[list[T]]]:
    """Every division into two, and the one into single items."""
    first, *_ = xs
    two = [[list(s), [x for x in xs if x not in s]] for s in subsets(xs) if first in s and len(s) < len(xs)]
    return [*two, [[x] for x in xs]] if len(xs) > 2 else two


class Moves:
    """The moves over one arena. `lean`: never carry what can leave the loop as one safe factor. `cancel` is asked at every
    reduction that is made."""

    def __init__(self, t: Terms, *, lean: bool = True, carry: bool = True, cancel: CancelToken | None = None) -> None:
        self.t, self.cancel = t, cancel or CancelToken()
        self.lean, self.carry = lean, carry
        self.collector = Collector(t)
        self.prints = Fingerprints(t)
        self.cancelling: set[int] = set()  # sums with subtracted terms: E[x^2] - E[x]^2 and its kin

    def reduction(self, op: Op, axis: str, body: int, update: tuple[Update, ...] = ()) -> int:
        """The canonical reduction: constant factors leave; its identity is semantic (the fingerprint of its body).

        `update`: () or, for a carried one, the terms of what each step makes of the accumulator."""
        t = self.t
        self.cancel.check()
        if axis not in t.dims(body):
            return t.mul(t.size(axis), body) if op == "sum" else body
        outside, inner = t.strip(body) if op == "sum" else ([], body)
        if outside:
            return t.mul(*outside, self.reduction(op, axis, inner, update))
        changes = frozenset(y for u in update for y in t.walk(u.coefficient) if isinstance(t.node(y), Change))
        key = (
            "red*", op, axis, self.prints.of(inner), t.front(inner),
            frozenset((self.prints.of(c.atom), c.action) for c in map(t.change_of, changes)), frozenset(u.sibling for u in update),
        )  # fmt: skip
        return t.reduce(Reduce(op, axis, inner, changes, update), key)

    def carried(self, axis: str, body: int, groups: Sequence[frozenset[int]], depth: int = 0) -> int | None:
        """The running sum over `axis` of F(x, u): put u + delta or u * delta for u (fewer terms wins), collect in delta."""
        t = self.t
        outside, body = t.strip(body)
        groups = [g for g in groups if any(self.collector.occurs(body, frozenset([u])) for u in g)]
        if not groups:
            return t.mul(*outside, self.reduction("sum", axis, body))
        if self._counts(axis, groups):
            return None  # a running mean needs the running count, which an accumulator does not know
        best: tuple[Collected, int] | None = None
        for actions in product(ACTIONS, repeat=len(groups)):
            terms = self._in_changes(body, groups, actions)
            own = [a for a, b in (terms or {}).items() if self.prints.of(b) == self.prints.of(body)]
            if not terms or not own or (best is not None and len(terms) >= len(best[0])):
                continue
            if all(finite_at_first(t, a, axis) for a in terms):
                best = terms, own[0]
        if best is None or depth > 3:
            return None
        updates = self._updates(axis, *best, groups, depth)
        return None if updates is None else t.mul(*outside, self.reduction("sum", axis, body, updates))

    def _counts(self, axis: str, groups: Sequence[frozenset[int]]) -> bool:
        """True if a value reads the size of the axis."""
        below = (n for g in groups for u in g for n in map(self.t.node, self.t.walk(u)))
        return any(isinstance(n, Size) and n.axis == axis for n in below)

    def _in_changes(self, body: int, groups: Sequence[frozenset[int]], actions: Sequence[Action]) -> Collected | None:
        """`body` at the new values of the groups, as a sum of coefficients in their changes times bodies at the old ones."""
        t = self.t
        changes = {
            u: t.change(u, action) for action, g in zip(actions, groups, strict=True) for u in g
            if self.collector.occurs(body, frozenset([u]))
        }  # fmt: skip
        moved = {u: (t.add if t.change_of(y).action == "+" else t.mul)(u, y) for u, y in changes.items()}
        return self.collector.collect(self.collector.replace(body, moved), frozenset(changes.values()))

    def _updates(
        self, axis: str, terms: Collected, own: int, groups: Sequence[frozenset[int]], depth: int
    ) -> tuple[Update, ...] | None:
        """The terms of the update, each of another body being a carried sum of its own; `own`: the coefficient of the
        accumulator's old value."""
        t = self.t
        updates: list[Update] = []
        for a, b in terms.items():
            if a == own:
                updates.append(Update(a, None))
                continue
            sibling = self.carried(axis, b, groups, depth + 1)
            if sibling is None:
                return None
            scale, sibling = t.strip(sibling)  # a scaled sibling: the scale is part of the coefficient
            if not t.reduces(sibling, axis):
                return None
            updates.append(Update(t.mul(a, *scale), sibling))
        return tuple(updates)

    def _pulls_out_safely(self, body: int, group: frozenset[int]) -> bool:
        c = self.collector.collect(body, group)
        if not self.lean or c is None or len(c) != 1:
            return False
        return not any(isinstance(self.t.node(y), Exp) for a in c for y in self.t.walk(a, into_reductions=False))

    def _finish(self, op: Op, axis: str, terms: Collected) -> Iterator[int]:
        """All carried and kept versions of sum_k c_k * red(B_k)."""
        t = self.t
        groups: set[frozenset[int]] = set()
        if op == "sum" and self.carry:
            for b in terms.values():
                for g in self.collector.groups(b, axis):
                    same_loop = any(t.reduction(r).axis == axis for u in g for r in t.closure(u))
                    if same_loop and not self._pulls_out_safely(b, g):
                        groups.add(g)
        for online in subsets(sorted(groups, key=sorted)):
            parts = [self.carried(axis, b, online) if online else self.reduction(op, axis, b) for b in terms.values()]
            if any(p is None for p in parts):
                continue
            scaled = [t.mul(c, p) for c, p in zip(terms, parts, strict=True) if p is not None]
            e = t.add(*scaled)
            if len(scaled) > 1 and any(t.coefficient(s) < 0 for s in scaled):
                self.cancelling.add(e)
            yield e

    def options(self, op: Op, axis: str, body: int) -> Iterator[int]:
        """Every way to compute the reduction of `body` over `axis`."""
        t = self.t
        groups = self.collector.groups(body, axis)
        for out in subsets(groups) if op == "sum" else [()]:
            atoms: frozenset[int] = frozenset().union(EMPTY, *out)
            terms = self.collector.collect(body, atoms) if out else {t.const(1): body}
            if terms is not None and len(terms) <= 6:
                yield from self._finish(op, axis, terms)
        if op == "sum":
            yield from self.swaps(axis, body)
            yield from self.apart(axis, body)

    def apart(self, axis: str, body: int) -> Iterator[int]:
        """A sum of sums as several accumulators: sum_d F * (G + H) -> sum_d F * G + sum_d F * H, in every division of the
        summands into two and in one for each. Only where each of them varies along the axis: what does not leaves by `out`."""
        t = self.t
        factors = t.factors(body)
        for f in factors:
            n = t.node(f)
            if not isinstance(n, Add) or factors.count(f) > 1 or any(axis not in t.dims(k) for k in n.parts):
                continue
            kids = n.parts
            rest = [x for x in factors if x != f]
            for parts in divisions(kids):
                e = t.add(*[self.reduction("sum", axis, t.mul(*rest, t.add(*part))) for part in parts])
                if any(t.coefficient(k) < 0 for k in kids):
                    self.cancelling.add(e)
                yield e

    def swaps(self, axis: str, body: int) -> Iterator[int]:
        """A body linear in a nested sum over e: the order of the two sums exchanged."""
        t = self.t
        for inner in sorted(t.front(body)):
            n = t.reduction(inner)
            e, nested = n.axis, n.body
            if n.op != "sum" or e == axis or axis not in t.dims(inner) or n.changes:
                continue
            c = self.collector.collect(body, frozenset([inner]))
            if c is None or set(c) - {inner, t.const(1)} or inner not in c or e in t.dims(c[inner]):
                continue
            if t.closure(c[inner]) & t.closure(inner):
                continue
            k, factors = t.flat("mul", (nested, c[inner]))
            factors = [*factors, t.const(k)]
            inside = self.reduction("sum", axis, t.mul(*[f for f in factors if axis in t.dims(f)]))
            new = self.reduction("sum", e, t.mul(*[f for f in factors if axis not in t.dims(f)], inside))
            rest = self.reduction("sum", axis, c[t.const(1)]) if t.const(1) in c else t.const(0)
            yield t.add(new, rest)
            yield t.add(self.reduction("sum", axis, t.mul(c[inner], inner)), rest)

    def factored(self, products: Sequence[int]) -> int:
        """The sum of products, what all of them have as a factor being outside if the rest is only read: one contraction with
        a sum, not several. (With a reduction in the rest it would be formed for every element.)"""
        t = self.t
        factors = [t.factors(p) for p in products]
        common = [f for f in dict.fromkeys(factors[0]) if not t.is_plain(f) and all(f in fs for fs in factors)]
        for fs in factors:
            for f in common:
                fs.remove(f)
        rest = t.add(*(t.mul(*fs) for fs in factors))
        return t.mul(*common, rest) if not t.front(rest) else t.add(*products)

    def merges(self, x: int) -> list[int]:
        """`x`, and `x` with sums of plain reductions over one loop merged."""
        t = self.t
        out, todo = [x], [x]
        while todo and len(out) < 16:
            y = todo.pop()
            for a in [z for z in t.walk(y, into_reductions=False) if isinstance(t.node(z), Add)]:
                for z in self._merged(y, a):
                    if z not in out:
                        out.append(z)
                        todo.append(z)
        return out

    def _merged(self, x: int, a: int) -> Iterator[int]:
        """`x` with the plain reductions over one axis among the terms of the sum `a` merged."""
        t = self.t
        by_axis: dict[str, list[tuple[int, list[int], int]]] = {}
        for k in t.kids(a):
            outside, r = t.strip(k)
            n = t.node(r)
            if isinstance(n, Reduce) and n.op == "sum" and not n.changes:
                by_axis.setdefault(n.axis, []).append((k, outside, r))
        for axis, ks in by_axis.items():
            reds = [r for *_, r in ks]
            covering = any(all(t.dims(r) <= t.dims(q) for r in reds) for q in reds)
            if len(ks) < 2 or not covering or any((t.closure(r) - {r}) & set(reds) for r in reds):
                continue
            gone = {k for k, *_ in ks}
            bodies = [t.mul(*outside, t.reduction(r).body) for _, outside, r in ks]
            merged = self.reduction("sum", axis, self.factored(bodies))
            yield self.collector.replace(x, {a: t.add(*[k for k in t.kids(a) if k not in gone], merged)})

    def spelled(self, x: int, memo: dict[int, int] | None = None) -> int:
        """`x` as it is written, of canonical reductions."""
        memo = {} if memo is None else memo
        if x not in memo:
            n, kids = self.t.node(x), tuple(self.spelled(k, memo) for k in self.t.kids(x))
            if isinstance(n, Reduce):
                memo[x] = self.reduction(n.op, n.axis, self.spelled(n.body, memo))
            else:
                memo[x] = self.t.rebuild(x, kids) if kids else x
        return memo[x]

    def pushes(self, x: int) -> Iterator[int]:
        """`x` with the other factors of a product of several sums pushed into one of them, for each of them."""
        t = self.t
        for y in t.walk(x, into_reductions=False):
            if not isinstance(t.node(y), Mul):
                continue
            sums = [k for k in dict.fromkeys(t.kids(y)) if t.is_sum(k)]
            for s in sums if len(t.front(y)) > 1 and len(sums) > 1 else ():
                yield self.merges(self.collector.replace(x, {y: self.pushed(t.kids(y), s)}))[-1]

    def pushed(self, factors: Sequence[int], s: int) -> int:
        """The product, what reads a reduction and does not vary along the axis of the sum `s` being a factor of its body. Not
        what has axes that no other factor there has: the products would no longer be those of two operands."""
        t = self.t
        n = t.reduction(s)
        axis, body = n.axis, n.body
        others = list(factors)
        others.remove(s)
        wide = [t.dims(f) for f in t.flat("mul", (body,))[1]]
        inside = [k for k in others if t.front(k) and axis not in t.dims(k) and any(t.dims(k) <= d for d in wide)]
        rest = [k for k in others if k not in inside]
        return t.mul(*rest, self.reduction("sum", axis, t.mul(body, *inside)))

    def inward(self, x: int, memo: dict[int, int] | None = None) -> int:
        """Push dependent loop-free factors into the one sum that they multiply, and merge sums: every spelling of a
        target then starts the search at one place."""
        memo = {} if memo is None else memo
        if x not in memo:
            memo[x] = self._inward(x, memo)
        return memo[x]

    def _inward(self, x: int, memo: dict[int, int]) -> int:
        t = self.t
        n = t.node(x)
        if isinstance(n, Reduce):
            return self.reduction(n.op, n.axis, self.inward(n.body, memo))
        parts = [self.inward(k, memo) for k in n.kids]
        if isinstance(n, Add):
            return self.merges(t.add(*parts))[-1]
        if not isinstance(n, Mul):
            return t.rebuild(x, tuple(parts)) if parts else x
        c, flat = t.flat("mul", parts)
        flat = [*flat, t.const(c)]
        sums = [k for k in flat if t.is_sum(k)]
        if len(sums) != 1:
            return t.mul(*flat)
        (only,) = sums
        inner = t.reduction(only)
        axis, body = inner.axis, inner.body
        _, factors = t.flat("mul", (body,))
        inside = [
            k for k in flat
            if k != only and t.front(k) and axis not in t.dims(k) and any(t.dims(k) <= t.dims(f) for f in factors)
        ]  # fmt: skip
        if not inside:
            return t.mul(*flat)
        rest = [k for k in flat if k not in inside and k != only]
        return t.mul(*rest, self.inward(self.reduction("sum", axis, t.mul(body, *inside)), memo))

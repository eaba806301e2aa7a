"""Matching of a law's left side in terms, up to the order of sums and products, with the bindings of its letters and axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import permutations, product

from mirage.meaning.nodes import Add, Apply, Const, Exp, Input, Inv, Mul, Reduce, Size, Sqrt
from mirage.meaning.terms import Terms
from mirage.operators.block_operators import commutes
from mirage.verify.proof.law_language import MARK

MOST_PARTS = 5  # of a sum or product that several letters share


@dataclass(frozen=True)
class Match:
    """`letters`: a law's letter (its term) -> term. `axes`: a law's axis -> axis. `rest`: parts of a sum or product that
    are left over."""

    letters: dict[int, int] = field(default_factory=dict)
    axes: dict[str, str] = field(default_factory=dict)
    rest: tuple[int, ...] = ()


class Matcher:
    """Matches laws whose terms are in the same arena as the terms."""

    def __init__(self, t: Terms) -> None:
        self.t = t

    def find(self, pattern: int, x: int) -> Iterator[Match]:
        """Every way in which `x`, or a part of the sum or product that it is, has the form of `pattern`."""
        t = self.t
        n = t.node(pattern)
        if isinstance(n, (Add, Mul)) and type(t.node(x)) is type(n):
            found = self._several(n.parts, list(t.kids(x)), Match(), n, whole=False)
        else:
            found = self._one(pattern, x, Match())
        for m in found:
            if self._lawful(m):
                yield m

    def _is_letter(self, pattern: int) -> bool:
        n = self.t.node(pattern)
        return isinstance(n, Input) and n.name.startswith(MARK)

    def _one(self, p: int, x: int, m: Match) -> Iterator[Match]:
        t = self.t
        if self._is_letter(p):
            have = m.letters.get(p)
            if have is None or have == x:
                yield m if have == x else replace(m, letters={**m.letters, p: x})
            return
        y = t.node(x)
        match t.node(p):
            case Const():
                if p == x:
                    yield m
            case Size(axis):
                if isinstance(y, Size) and m.axes.get(axis) == y.axis:
                    yield m
            case (Add(parts) | Mul(parts)) as n:
                if type(y) is type(n):
                    yield from self._several(parts, list(y.kids), m, n, whole=True)
            case Reduce() as n:
                if isinstance(y, Reduce):
                    yield from self._reduction(n, y, m)
            case Apply() as n:
                if isinstance(y, Apply):
                    yield from self._call(n, y, m)
            case (Inv(arg) | Exp(arg) | Sqrt(arg)) as n:
                if type(y) is type(n):
                    yield from self._one(arg, t.arg(x), m)

    def _call(self, n: Apply, y: Apply, m: Match) -> Iterator[Match]:
        if n.name == y.name and len(n.args) == len(y.args):
            for order in permutations(y.args) if commutes(n.name) else [y.args]:
                yield from self._all(n.args, tuple(order), m)

    def _reduction(self, n: Reduce, y: Reduce, m: Match) -> Iterator[Match]:
        axis = m.axes.get(n.axis, y.axis)
        taken = [v for k, v in m.axes.items() if k != n.axis]
        if n.op == y.op and not y.updates and axis == y.axis and axis not in taken:
            yield from self._one(n.body, y.body, replace(m, axes={**m.axes, n.axis: axis}))

    def _all(self, ps: tuple[int, ...], xs: tuple[int, ...], m: Match) -> Iterator[Match]:
        if not ps:
            yield m
            return
        for found in self._one(ps[0], xs[0], m):
            yield from self._all(ps[1:], xs[1:], found)

    def _several(self, ps: tuple[int, ...], xs: list[int], m: Match, n: Add | Mul, *, whole: bool) -> Iterator[Match]:
        """Parts of a sum or product: what has a form first, then the letters share what is left (all of it if `whole`)."""
        forms = [p for p in ps if not self._is_letter(p)]
        letters = [p for p in ps if self._is_letter(p)]
        if len(xs) < len(ps):
            return
        for left, found in self._forms(forms, xs, m):
            yield from self._share(letters, left, found, n, whole)

    def _forms(self, forms: list[int], xs: list[int], m: Match) -> Iterator[tuple[list[int], Match]]:
        if not forms:
            yield xs, m
            return
        tried = set()
        for i, x in enumerate(xs):
            if x in tried:
                continue
            tried.add(x)
            for found in self._one(forms[0], x, m):
                yield from self._forms(forms[1:], xs[:i] + xs[i + 1 :], found)

    def _share(self, letters: list[int], xs: list[int], m: Match, n: Add | Mul, whole: bool) -> Iterator[Match]:
        build = self.t.add if isinstance(n, Add) else self.t.mul
        if not letters:
            if not whole or not xs:
                yield replace(m, rest=m.rest if whole else tuple(xs))
            return
        if len(letters) == 1 and (whole or len(xs) == 1):
            yield from self._one(letters[0], build(*xs), m)
            return
        if len(xs) > MOST_PARTS:
            return
        for groups, left in divisions(xs, len(letters), whole):
            shared = [replace(m, rest=m.rest if whole else left)]
            for p, group in zip(letters, groups):
                shared = [f for s in shared for f in self._one(p, build(*group), s)]
            yield from shared

    def _lawful(self, m: Match) -> bool:
        """A letter without a bound axis in its brackets stands for what does not vary along that axis."""
        t = self.t
        for letter, x in m.letters.items():
            own = t.dims(letter)
            if any(axis in t.dims(x) for law, axis in m.axes.items() if law not in own):
                return False
        return True

    def fill(self, pattern: int, m: Match) -> int:
        """The term that a side of the law is for this match."""
        t = self.t
        match t.node(pattern):
            case Input():
                return m.letters[pattern] if self._is_letter(pattern) else pattern
            case Size(axis):
                return t.size(m.axes.get(axis, axis))
            case Reduce(op, axis, body):
                return (t.sum if op == "sum" else t.max)(m.axes[axis], self.fill(body, m))
        kids = t.kids(pattern)
        return t.rebuild(pattern, tuple(self.fill(k, m) for k in kids)) if kids else pattern


def divisions(xs: list[int], n: int, whole: bool) -> Iterator[tuple[list[list[int]], tuple[int, ...]]]:
    """Every division of `xs` into `n` groups of at least one, with what is left over: nothing if `whole`."""
    for choice in product(range(n if whole else n + 1), repeat=len(xs)):
        groups: list[list[int]] = [[] for _ in range(n + 1)]
        for x, c in zip(xs, choice):
            groups[c].append(x)
        *own, left = groups
        if all(own):
            yield own, tuple(left)

"""A law's left side found in terms, up to the order of sums and products; what its letters and axes stand for there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import permutations, product

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
        if t.kind(pattern) in ("add", "mul") and t.kind(x) == t.kind(pattern):
            found = self._several(t.kids(pattern), list(t.kids(x)), Match(), t.kind(x), whole=False)
        else:
            found = self._one(pattern, x, Match())
        for m in found:
            if self._lawful(m):
                yield m

    def _is_letter(self, pattern: int) -> bool:
        n = self.t.node(pattern)
        return bool(n[0] == "in" and n[1].startswith(MARK))

    def _one(self, p: int, x: int, m: Match) -> Iterator[Match]:
        t = self.t
        if self._is_letter(p):
            have = m.letters.get(p)
            if have is None or have == x:
                yield m if have == x else replace(m, letters={**m.letters, p: x})
            return
        n, y = t.node(p), t.node(x)
        if n[0] == "const":
            if p == x:
                yield m
            return
        if n[0] == "size":
            if y[0] == "size" and m.axes.get(n[1]) == y[1]:
                yield m
            return
        if n[0] != y[0]:
            return
        if n[0] in ("add", "mul"):
            yield from self._several(t.kids(p), list(t.kids(x)), m, n[0], whole=True)
        elif n[0] == "red":
            axis = m.axes.get(str(n[2]), str(y[2]))
            taken = [v for k, v in m.axes.items() if k != n[2]]
            if n[1] == y[1] and not y[5] and axis == y[2] and axis not in taken:
                yield from self._one(n[3], y[3], replace(m, axes={**m.axes, str(n[2]): axis}))
        elif n[0] == "fn":
            if n[1] == y[1] and len(n[2]) == len(y[2]):
                orders = permutations(y[2]) if commutes(n[1]) else [y[2]]
                for order in orders:
                    yield from self._all(n[2], tuple(order), m)
        elif n[0] in ("inv", "exp", "sqrt"):
            yield from self._one(n[1], y[1], m)

    def _all(self, ps: tuple[int, ...], xs: tuple[int, ...], m: Match) -> Iterator[Match]:
        if not ps:
            yield m
            return
        for found in self._one(ps[0], xs[0], m):
            yield from self._all(ps[1:], xs[1:], found)

    def _several(self, ps: tuple[int, ...], xs: list[int], m: Match, kind: str, *, whole: bool) -> Iterator[Match]:
        """Parts of a sum or product: what has a form first, then the letters share what is left (all of it if `whole`)."""
        forms = [p for p in ps if not self._is_letter(p)]
        letters = [p for p in ps if self._is_letter(p)]
        if len(xs) < len(ps):
            return
        for left, found in self._forms(forms, xs, m):
            yield from self._share(letters, left, found, kind, whole)

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

    def _share(self, letters: list[int], xs: list[int], m: Match, kind: str, whole: bool) -> Iterator[Match]:
        build = self.t.add if kind == "add" else self.t.mul
        if not letters:
            if not whole or not xs:
                yield replace(m, rest=m.rest if whole else tuple(xs))
            return
        if len(letters) == 1 and (whole or len(xs) == 1):
            yield from self._one(letters[0], build(*xs), m)
            return
        if len(xs) > MOST_PARTS:
            return
        places = range(len(letters) if whole else len(letters) + 1)  # the last place: left over
        for choice in product(places, repeat=len(xs)):
            groups = [[x for x, c in zip(xs, choice) if c == i] for i in range(len(letters))]
            if not all(groups):
                continue
            shared = [replace(m, rest=m.rest if whole else tuple(x for x, c in zip(xs, choice) if c == len(letters)))]
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
        n = t.node(pattern)
        if n[0] == "in":
            return m.letters[pattern] if self._is_letter(pattern) else pattern
        if n[0] == "size":
            return t.size(m.axes.get(str(n[1]), str(n[1])))
        if n[0] == "red":
            body = self.fill(n[3], m)
            axis = m.axes[n[2]]
            return t.sum(axis, body) if n[1] == "sum" else t.max(axis, body)
        kids = t.kids(pattern)
        return t.rebuild(pattern, tuple(self.fill(k, m) for k in kids)) if kids else pattern

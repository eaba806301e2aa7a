"""The enumeration of small programs (brute.py) with the relation of abstract expressions as its pruning, typed or not."""

from __future__ import annotations

from mirage.meaning.terms import Terms
from workloads.abstract_terms import of_term, part_of
from workloads.brute import Brute, Small
from workloads.typed_terms import Typed

TYPED, UNTYPED = 0, 1


class Relations:
    """Is a value part of the program's: asked of both relations, once for each term."""

    def __init__(self, program: Small) -> None:
        self.program = program
        self.t = Terms({"m": 4, "k": 8, "n": 4, "r": 4})
        self.typed = Typed(self.t)
        self.target = program.term(self.t)
        self.whole = of_term(self.t, self.target)
        self.known: dict[int, tuple[bool, bool]] = {}

    def both(self, prefix: Small) -> tuple[bool, bool]:
        x = prefix.term(self.t)
        if x not in self.known:
            untyped = part_of(of_term(self.t, x), self.whole)
            self.known[x] = self.typed.part_of(x, self.target) is True, untyped
        return self.known[x]

    def solutions(self, most: int, which: int) -> Brute:
        """All programs of at most `most` operators, a value being kept if the relation says that it is part."""
        found = Brute(self.program, most, keep=lambda prefix: self.both(prefix)[which])
        found.run()
        return found

"""Which candidates are verified, in which order: a fault that was met is not met again while there is another way."""

from __future__ import annotations

import math

from mirage.mugraph.grammar import LibraryKernel, MuGraph
from mirage.pipeline.candidate_order import TRIES, Tries
from mirage.search.engine import Candidate


def candidate(us: float, structure: str, call: str = "") -> Candidate:
    kernels = (LibraryKernel("main", call, ("X", "W"), "out"),) if call else ()
    return Candidate(MuGraph("f", (), (), kernels), us, f"{structure} {us}", structure)


def order(best: list[Candidate]) -> list[Candidate]:
    tries = Tries(best)
    return list(iter(tries.next, None))


def test_the_best_first_then_other_structures_and_other_calls():
    a, a2, b, b2, c = best = [
        candidate(1, "a", "linear"), candidate(2, "a", "linear"), candidate(3, "b", "linear"), candidate(4, "c"),
        candidate(5, "c"),
    ]  # fmt: skip
    assert order(best) == [a, b2, a2, b, c]


def test_without_a_fault_in_common_the_order_is_the_ranks():
    best = [candidate(i, str(i)) for i in range(4)]
    assert order(best) == best


def test_what_differs_in_the_order_of_operations_alone_comes_last():
    one, twin = (Candidate(MuGraph("f", (), (), ()), 1.0, "same", s) for s in "ab")
    other = candidate(2, "a")
    assert order([one, twin, other]) == [one, other, twin]


def test_the_best_where_all_take_too_long():
    some = [candidate(3, "a"), candidate(2, "b")]
    assert Tries(some).best_beyond(2) is Tries(some).best_beyond(1.5) is some[1]
    assert Tries(some).best_beyond(2.5) is Tries(some).best_beyond(math.inf) is Tries([]).best_beyond(1) is None


def test_there_is_an_end():
    assert len(order([candidate(i, str(i)) for i in range(50)])) == TRIES

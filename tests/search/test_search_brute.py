"""On small programs an enumerator without any pruning finds no class of µGraphs that the search misses.

A class is the set of a kernel's reductions (workloads/brute.py says what is enumerated), with each choice of the axis that is
streamed, and with each reduction as a value that a kernel of its own may write. Longer runs: `./dev bench search`."""

import pytest
from workloads.brute import Brute, random_small, small
from workloads.classes import found_by_search

from mirage.search.reduction_moves import Moves

# name: the program, the most operators that are tried, how many classes there are
PROGRAMS = {
    "division after the contraction": (small("X:mk W:kn", "dot k 0 0", "div 0 2", "dot k 3 1"), 3, 2),
    "one accumulator or two": (small("X:mk Y:mk W:kn", "dot k 0 2", "dot k 1 2", "add 3 4"), 3, 2),
    "one accumulator fed by two": (small("X:mk W:kn V:kn", "add 1 2", "dot k 0 3"), 3, 2),
    "two contractions in either order": (small("X:mk A:kr B:rn", "dot k 0 1", "dot r 3 2"), 3, 2),
    "a row divided by its sum": (small("X:mk", "sigmoid 0", "sum k 1", "div 1 2"), 4, 1),
    "maximum of a sum": (small("X:mk Y:mk", "add 0 1", "max k 2"), 3, 1),
    "a sum times a contraction": (small("X:mk W:kn", "sum k 0", "dot k 0 1", "mul 2 3"), 3, 2),
    "a sum added to a factor": (small("X:mk Y:mk", "sum k 0", "add 0 2", "dot k 3 1"), 3, 2),
    "a difference of contractions": (small("X:mk Y:mk W:kn", "dot k 0 2", "dot k 1 2", "sub 3 4"), 3, 2),
    "a sum used twice": (small("X:mk W:kn", "sum k 0", "mul 0 2", "dot k 3 1"), 3, 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_class_is_missed(name):
    program, most, classes = PROGRAMS[name]
    brute = Brute(program, most).run()
    assert len(brute) == classes
    found = found_by_search(program)
    for c, steps in brute.items():
        assert c in found, steps
        assert found[c] >= {None} | {axis for _, axis, _ in c}, steps


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 6, 7, 8, 9, 11, 41])
def test_no_class_of_a_random_program_is_missed(seed):
    program = random_small(seed)
    brute = Brute(program, 3).run() if len(program.steps) < 4 else Brute(program, 4).run()
    assert brute
    found = found_by_search(program)
    assert not [steps for c, steps in brute.items() if c not in found]


@pytest.mark.parametrize(
    ("move", "name"),
    [
        ("apart", "one accumulator fed by two"),
        ("swaps", "two contractions in either order"),
        ("pushes", "a sum times a contraction"),
    ],
)
def test_a_search_without_a_move_is_seen(monkeypatch, move, name):
    monkeypatch.setattr(Moves, move, lambda *_: iter(()))
    program, most, _ = PROGRAMS[name]
    found = found_by_search(program)
    assert any(c not in found for c in Brute(program, most).run())

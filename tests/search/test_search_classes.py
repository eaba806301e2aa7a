"""The search misses no class of µGraphs of a small program: carried reductions, kernels, streamed axes, splits and maps.

workloads/whole.py says what a class is and enumerates them without the search; workloads/searched.py asks the search with its
bounds wide open. Longer runs: `./dev bench search --only complete`."""

from functools import cache

import pytest
from workloads.brute import Brute, random_small
from workloads.programs import PROGRAMS, SLOW
from workloads.searched import Searched
from workloads.whole import classes, schedules

from mirage.search import engine
from mirage.search.kernel_pieces import KernelSpace
from mirage.search.reduction_moves import Moves


@cache
def solutions(program, most):
    brute = Brute(program, most)
    brute.run()
    return brute.solutions


def missed(program, most):
    found, every = Searched(program), classes(program, solutions(program, most))
    return every, [how for c, how in every.items() if not found.has(c)]


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - SLOW))
def test_no_class_is_missed(name):
    program, most, total, carried = PROGRAMS[name]
    every, lost = missed(program, most)
    assert not lost
    assert (len(every), sum(any(running for k in c for _, running in k[1]) for c in every)) == (total, carried)


@pytest.mark.parametrize("seed", [1, 2, 4, 5, 6, 8, 10, 12, 15, 20])
def test_no_class_of_a_random_program_is_missed(seed):
    program = random_small(seed)
    every, lost = missed(program, len(program.steps))
    assert every and not lost


@pytest.mark.parametrize(
    ("move", "name"),
    [
        ("apart", "one accumulator fed by two"),
        ("swaps", "two contractions in either order"),
        ("pushes", "a sum times a contraction"),
        ("pushes", "a sum added to a factor"),
        ("factored", "one accumulator or two"),
    ],
)
def test_a_search_without_a_move_is_seen(monkeypatch, move, name):
    without = {"factored": lambda self, products: self.t.add(*products)}
    monkeypatch.setattr(Moves, move, without.get(move, lambda *_: iter(())))
    assert missed(*PROGRAMS[name][:2])[1]


def test_a_search_that_carries_nothing_is_seen(monkeypatch):
    monkeypatch.setattr(Moves, "carried", lambda *_: None)
    assert missed(*PROGRAMS["a sum of shifted exponentials"][:2])[1]


@pytest.mark.parametrize("name", ["division after the contraction", "two contractions in either order"])
def test_a_search_that_keeps_only_what_the_program_has_is_seen(monkeypatch, name):
    monkeypatch.setattr(engine, "respelled", lambda t, roots, cuts, *_, **__: (list(cuts), True))
    assert missed(*PROGRAMS[name][:2])[1]


def test_a_search_that_cuts_once_is_seen(monkeypatch):
    cut_sets = engine.cut_sets
    monkeypatch.setattr(engine, "cut_sets", lambda cuts, _: cut_sets(cuts, 0))
    assert missed(*PROGRAMS["division after the contraction"][:2])[1]


def without_schedule(program, most):
    found, wanted = Searched(program).schedules(), schedules(program, solutions(program, most))
    return {how for form, ways in wanted.items() for how in ways - found.get(form, set())}


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - SLOW))
def test_no_split_and_no_grid_is_missed(name):
    assert not without_schedule(*PROGRAMS[name][:2])


def test_a_search_without_splits_is_seen(monkeypatch):
    monkeypatch.setattr(KernelSpace, "split", lambda *_: iter(()))
    lost = without_schedule(*PROGRAMS["two contractions in either order"][:2])
    assert {how for how, _ in lost} == {"second kernel", "last block"}

"""The bounds of the extraction are admissible: none is above what the model says of any µGraph that it stands for; and the
relation of abstract expressions would drop nothing that the search makes."""

import math
from dataclasses import replace

import pytest
from workloads.abstract_terms import of_term, part_of
from workloads.terms import problem

from mirage.devices.table import DEVICES
from mirage.ir.dtypes import DTYPES
from mirage.meaning.exp_shift import insert_shifts
from mirage.profile.roofline import estimate, speed_of_light
from mirage.results.progress import CancelToken
from mirage.search.engine import Bounds, Search, cheapest
from mirage.search.kernel_pieces import KernelSpace

DEVICE = DEVICES["sm_90"]
NAMES = ["rmsnorm_linear", "low_rank_adapter", "attention", "norm_mlp"]


def searched(name: str) -> Search:
    search = Search(problem(name), lambda g: estimate(g, DEVICE), bounds=Bounds(keep=48, tilings=4))
    list(search.run())
    return search


@pytest.mark.parametrize("name", NAMES)
def test_the_cost_of_the_whole_is_that_of_its_kernels(name):
    """Pieces are ranked alone and their costs added up: so the sum of the least costs of the pieces still to be chosen never
    exceeds the cost of a completion."""
    for c in searched(name).best:
        alone = [estimate(replace(c.mugraph, kernels=(k,)), DEVICE) for k in c.mugraph.kernels]
        whole = estimate(c.mugraph, DEVICE)
        assert sum(alone) == pytest.approx(whole, rel=1e-9)
        # a piece alone counts what it reads of other kernels in the program's dtype, which is never the wider one
        assert c.us <= whole * (1 + 1e-9) and whole <= 1.01 * c.us


@pytest.mark.parametrize("name", NAMES)
def test_the_roofline_is_below_the_model(name):
    for c in searched(name).best:
        m = c.mugraph
        moved = sum(math.prod(m.shape(t)) * DTYPES[t.dtype].bytes for t in (*m.inputs, *m.outputs))
        assert speed_of_light(moved, 0.0, 0.0, len(m.kernels), DEVICE) <= c.us


def test_every_prefix_of_a_choice_is_bounded_by_what_follows():
    lists = [[1.0, 4.0, 9.0], [2.0, 2.5], [0.5, 7.0]]
    least = [x[0] for x in lists]
    for cost, choice in cheapest(lists):
        for n in range(len(lists) + 1):
            bound = sum(lists[i][choice[i]] for i in range(n)) + sum(least[n:])
            assert bound <= cost


def test_a_bound_that_is_too_high_is_seen():
    lists, wrong = [[1.0, 4.0], [2.0, 2.5]], [4.0, 2.0]  # not the least of the first list
    cost, choice = next(cheapest(lists))
    assert wrong[0] + lists[1][choice[1]] > cost


@pytest.mark.parametrize("name", ["rmsnorm_linear", "gated_mlp", "attention", "layernorm_linear", "low_rank_adapter"])
def test_the_pruning_relation_would_drop_no_reduction(name):
    p = problem(name)
    (target,) = p.outputs
    term, _ = insert_shifts(p.t, target.term)
    space = KernelSpace(p.t, replace(target, term=term), CancelToken())
    whole = of_term(p.t, term)
    reductions = {r for s in space.systems for r in s.reductions}
    assert reductions and all(part_of(of_term(p.t, r), whole) for r in reductions)
    other = p.t.mul(p.t.sum("m", p.t.input("Foreign", ())), term)
    assert not part_of(of_term(p.t, other), whole)

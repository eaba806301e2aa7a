"""Choosing by measurement: which variants are tried, and that halving finds the fastest among noise."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import partial

import pytest
from workloads import hand

from mirage.devices.table import DEVICES
from mirage.mugraph.capacity import Limits
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.pipeline.search_problems import problem
from mirage.plan import plan
from mirage.plan.copied_tiles import other_loads
from mirage.profile.gpu_timing import relative_difference, steady
from mirage.profile.launch_variants import (
    STAGES,
    STREAMED,
    WARPS,
    apart,
    chosen,
    closer,
    first_launches,
    leads,
    neighbors,
    streams,
    with_launch,
)
from mirage.profile.roofline import estimate
from mirage.profile.successive_halving import LAST, halve
from mirage.program.builder import Builder
from mirage.program.lower import lower
from mirage.search.engine import Search


@dataclass(frozen=True)
class Ranked:
    mugraph: MuGraph
    us: float
    structure: str
    label: str = "x"


def best() -> list[Ranked]:
    tiles = [(16, 64), (16, 128), (32, 64), (32, 128), (64, 64)]
    graphs = [hand.gated_mlp(m=16, k=4096, n=4096, tk=k, tn=n).mugraph for n, k in tiles]
    return [Ranked(g, 10.0 + i, "ab"[i > 2]) for i, g in enumerate(graphs)]


def test_the_first_and_the_best_of_each_structure_and_arrangement_are_chosen():
    assert chosen(best(), 2, 2) == [0, 1, 3]
    split = Ranked(hand.attention_split().mugraph, 19.0, "b")  # of a structure that came before, arranged otherwise
    assert chosen([*best(), split, split, split], 2, 2) == [0, 1, 3, 5, 6]
    slow = replace(split, us=21.0)  # more than twice the best
    assert chosen([*best(), slow, slow], 2, 2) == [0, 1, 3]
    assert chosen(best(), 2, 1) == [0, 1]
    assert chosen(best()[:1], 9, 9) == [0]


def test_each_candidate_comes_as_it_is_first_then_with_other_warps_and_none_twice():
    found = leads(best(), plan, 3, 2)
    assert [v.rank for v in found[:4]] == [0, 1, 2, 3]
    assert all(v.warps == 0 for v in found[:4]) and all(v.stages == STAGES[0] for v in found)
    assert len({v.mugraph for v in found}) == len(found)
    kernels = [k for v in found for k in v.mugraph.kernels if isinstance(k, CustomKernel)]
    assert {k.warps for k in kernels} == set(WARPS)  # a candidate's own number is one of them


def test_near_the_fastest_are_its_stages_and_others_of_its_structure():
    fastest = [v for v in leads(best(), plan, 3, 2) if v.rank == 3][:1]
    found = closer(best(), plan, fastest, {0, 1, 2, 3}, 8)
    assert {v.stages for v in found if v.rank == 3} <= set(STAGES) and found[0].rank == 3
    assert len({v.mugraph for v in found}) == len(found) > 2
    assert [v.rank for v in found if v.rank != 3] == [4]  # of structure b; 0 to 2 have the other one
    assert [v.rank for v in closer(best(), plan, fastest, {3}, 0) if v.rank != 3] == []


def test_near_the_fastest_each_is_timed_with_its_tiles_loaded_the_other_way():
    wide = [Ranked(hand.gated_mlp(m=2048, k=1024, n=1024, tm=64, tk=64, tn=64).mugraph, 10.0, "a")]
    fastest, limits = leads(wide, plan, 1, 1)[:1], Limits.of(DEVICES["sm_90"])
    found = closer(wide, plan, fastest, {0}, 0, partial(other_loads, limits=limits))
    (way,) = [v for v in found if v.other]
    assert way.mugraph == other_loads(fastest[0].mugraph, limits) and way.name.endswith(", other loads")
    older = partial(other_loads, limits=Limits.of(DEVICES["sm_86"]))
    assert not [v for v in closer(best(), plan, leads(best(), plan, 1, 1), {0}, 0, older) if v.other]


def rows() -> Ranked:
    """A kernel that reads rows of 30,522 in a loop."""
    b = Builder("rows")
    b.output(b.op("logsumexp", b.input("x", (64, 30522), "fp16"), dim=(1,), keepdim=False))
    search = Search(problem(b.program(), lower(b.program())), lambda g: estimate(g, DEVICES["sm_90"]))
    list(search.run())
    return next(
        Ranked(c.mugraph, c.us, c.structure) for c in search.best if len(c.mugraph.kernels) == 1 and streams(c.mugraph)
    )


def test_what_streams_rows_is_timed_with_many_warps_and_without_copies_ahead():
    row = rows()
    found = leads([row], plan, 1, 1)
    assert [(v.warps, v.stages) for v in found] == [(0, STAGES[0]), *STREAMED]
    assert not streams(best()[0].mugraph) and first_launches(best()[0].mugraph) == [(w, STAGES[0]) for w in WARPS]
    near = closer([row], plan, found[1:2], {0}, 0)
    assert {(v.warps, v.stages) for v in near} >= {(STREAMED[0][0], s) for s in STAGES} | {(16, 1), (4, 1)}


def test_neighbors_are_launched_as_what_they_are_near():
    fastest = replace(next(v for v in leads(best(), plan, 1, 1) if v.rank == 0), warps=8, stages=4)
    assert {(v.warps, v.stages) for v in neighbors(best(), plan, [fastest], {0}, 8)} == {(8, 4)}


def test_neighbors_differ_in_one_dim_and_have_no_tiles_that_were_timed():
    fastest = [v for v in leads(best(), plan, 1, 1) if v.rank == 0][:1]  # n 16, k 64
    found = neighbors(best(), plan, fastest, {0}, 8)
    assert [v.rank for v in found] == [1, 2, 4]  # k 128; n 32; n 64; not 3, where both are others
    assert [apart(best()[i].mugraph, best()[0].mugraph) for i in (0, 1, 2, 3)] == [0, 1, 1, 2]
    assert [v.rank for v in neighbors(best(), plan, fastest, {0, 1}, 8)] == [2, 4]
    twice = [*best(), best()[1]]  # another structure with the same tiles
    assert [v.rank for v in neighbors(twice, plan, fastest, {0}, 8)] == [1, 2, 4]
    assert [v.rank for v in neighbors(best(), plan, fastest, {0}, 1)] == [1]


def test_the_launch_changes_and_nothing_else():
    graph = best()[0].mugraph
    other = with_launch(graph, 8, 5)
    assert [(k.warps, k.stages) for k in other.kernels] == [(8, 5)]
    assert replace(other, kernels=tuple(replace(k, warps=4, stages=3) for k in other.kernels)) == graph
    assert with_launch(graph, 0, 3) == graph


def test_halving_finds_the_fastest_and_measures_few_for_long():
    rng = random.Random(3)
    true = {i: 10.0 + i * 0.5 for i in range(60)}
    order = list(true)
    rng.shuffle(order)
    spent: dict[int, int] = dict.fromkeys(true, 0)

    def times(names, effort):
        for n in names:
            spent[n] += effort
        return {n: true[n] + rng.gauss(0, 1.0 / effort**0.5) for n in names if n != 7}

    left = halve(order, times, efforts=(1, 4, 16))
    assert left[0] in (0, 1, 2) and len(left) == LAST
    assert spent[59] == 1 and spent[left[0]] == 5
    assert 7 not in left  # it had no time
    assert sum(spent.values()) < 60 * 4


@pytest.mark.parametrize("names", [[], [1], [1, 2, 3]])
def test_few_need_no_halving(names):
    def times(names, effort):
        raise AssertionError("timed")

    assert halve(names, times) == names


def test_what_is_protected_stays():
    assert halve([5, 4, 3, 2, 1], lambda n, e: {x: float(x) for x in n}, protected=[5]) == [1, 2, 3, 5]
    assert halve([5, 4, 3, 2, 1], lambda n, e: {x: float(x) for x in n}, protected=[1, 9]) == [1, 2, 3]


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_call_whose_results_change_is_unsteady(outputs):
    import torch

    calls = 0

    def run(x, race=False):
        nonlocal calls
        calls += 1
        y = x / 0.0  # inf and NaN: the same bits each time
        late = x + (1e-6 if race and calls == 5 else 0.0)
        return late if outputs == 1 else (y, late)

    x = torch.tensor([0.0, 1.0, -2.0])
    assert steady(run, [x], 8)
    calls = 0
    assert not steady(lambda t: run(t, race=True), [x], 8)


def test_nan_is_the_worst_of_several_outputs():
    import torch

    good, bad = torch.ones(3), torch.tensor([1.0, float("nan"), 1.0])
    assert relative_difference((good, good), (good, good)) == 0
    for pair in ((good, bad), (bad, good)):
        assert not relative_difference(pair, (good, good)) <= 1.0

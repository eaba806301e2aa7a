"""Contractions that share an accumulator: through a nested sum (as if concatenated), or with the sum of their weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
from workloads.terms import problem, tensor

from mirage.devices.table import DEVICES
from mirage.meaning.terms import Terms
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import Accumulate, Compute, CustomKernel, Loop, MuGraph
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Search
from mirage.search.reassociation import through
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.proof.opinion import proof_opinion


@pytest.fixture(scope="module")
def search() -> Search:
    found = Search(problem("low_rank_adapter"), lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds(cuts=0))
    list(found.run())
    return found


def loop_of(m: MuGraph) -> list[object]:
    (kernel, *_) = (k for k in m.kernels if isinstance(k, CustomKernel))
    return [s for item in kernel.block.body if isinstance(item, Loop) for s in item.body]


def dots(body: list[object]) -> dict[str, Compute]:
    return {s.out: s for s in body if isinstance(s, Compute) and s.op == "dot"}


def chained(m: MuGraph) -> bool:
    """One accumulator of x W + (x A) B: a product of this tile is the left operand of another."""
    body = loop_of(m)
    found = dots(body)
    own = [s for s in body if isinstance(s, Accumulate)]
    return len(own) == 1 and any(a in found and found[a].attr("dim") == "k" for d in found.values() for a in d.args)


def summed(m: MuGraph) -> bool:
    """One accumulator of x W + x (A B): the product of the weights is formed in the loop."""
    body = loop_of(m)
    found = dots(body)
    own = [s for s in body if isinstance(s, Accumulate)]
    return len(own) == 1 and any(a in found and found[a].attr("dim") == "r" for d in found.values() for a in d.args)


def words(search: Search, m: MuGraph) -> tuple[str | None, str]:
    targets = {o.tensor: (o.term, o.dims) for o in search.problem.outputs}
    proof = proof_opinion(search.problem.t, targets, m)
    return proof.word if proof else None, schedule_opinion(search.problem.t, search.problem.outputs, m).word


@pytest.mark.parametrize("form", [chained, summed])
def test_both_forms_are_found_and_verified(search, form):
    found = [c for c in search.best if form(c.mugraph)]
    assert found and all(broken_rule(c.mugraph) is None for c in found)
    assert words(search, found[0].mugraph) == ("PROVED", "TESTED")


def test_the_roofline_ranks_the_forms(search):
    """x A is the smaller product where rows are few beside the columns of a tile."""
    assert chained(search.best[0].mugraph)
    assert next(c.us for c in search.best if chained(c.mugraph)) < next(c.us for c in search.best if summed(c.mugraph))


def replaced(m: MuGraph, old: Compute, new: Compute) -> MuGraph:
    (k, *rest) = m.kernels
    body = tuple(
        replace(s, body=tuple(new if x == old else x for x in s.body)) if isinstance(s, Loop) else s
        for s in k.block.body
    )
    return replace(m, kernels=(replace(k, block=replace(k.block, body=body)), *rest))


def test_a_wrong_merge_is_neither_proved_nor_tested(search):
    m = next(c for c in search.best if chained(c.mugraph)).mugraph
    add = next(s for s in loop_of(m) if isinstance(s, Compute) and s.op == "add")
    wrong = replaced(m, add, replace(add, args=(add.args[0], add.args[0])))  # x W twice, and no (x A) B
    assert words(search, wrong) == (None, "REJECTED")


def test_a_partial_sum_times_what_varies_along_the_loop_is_not_proved(search):
    m = next(c for c in search.best if chained(c.mugraph)).mugraph
    second = next(d for d in dots(loop_of(m)).values() if d.attr("dim") == "r")
    first = dots(loop_of(m))[next(a for a in second.args if a in dots(loop_of(m)))]
    squared = replaced(m, second, replace(second, op="mul", args=(first.out, first.out), attrs=(), dims=first.dims))
    assert broken_rule(squared) is not None
    assert words(search, squared)[0] is None


def test_what_goes_through_and_what_does_not():
    t = Terms({"m": 4, "k": 8, "n": 5, "r": 3})
    x, a, b = tensor(t, "X", "mk"), tensor(t, "A", "kr"), tensor(t, "B", "rn")
    low = t.sum("r", t.mul(a, b))
    found = through(t, "k", t.mul(x, low))
    assert found is not None and found.axis == "r" and set(found.inner) == {x, a} and found.outer == (b,)
    assert through(t, "k", t.mul(x, t.exp(low))) is None  # not linear
    assert through(t, "k", t.mul(x, t.max("r", t.mul(a, b)))) is None
    assert through(t, "k", t.mul(x, t.sum("r", t.mul(a, t.exp(a))))) is None  # nothing is left for the outer product

"""One accumulator fed by two loops: found for x W + y B of any two lengths, verified, derived, emitted and run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from workloads.evaluate import evaluate
from workloads.terms import problem as workload
from workloads.terms import tensor

from mirage.derivation.derive import derive, replay
from mirage.devices.table import DEVICES
from mirage.meaning.terms import Terms
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import Accumulate, Loop, MuGraph
from mirage.mugraph.json_form import from_json, to_json
from mirage.mugraph.parse import parse
from mirage.mugraph.text import to_text
from mirage.pipeline.optimize import optimize
from mirage.pipeline.request import Request
from mirage.pipeline.search_problems import problem
from mirage.profile.roofline import estimate
from mirage.program.builder import Builder
from mirage.program.lower import lower
from mirage.results.progress import CancelToken
from mirage.search.chained_loops import chained
from mirage.search.engine import Bounds, Search
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.proof.opinion import proof_opinion

pytestmark = pytest.mark.usefixtures("well_formed")


def searched(p, **bounds) -> Search:
    s = Search(p, lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds(**bounds))
    list(s.run())
    return s


@pytest.fixture(scope="module")
def search() -> Search:
    b = Builder("two")
    x, w, y, v = (b.input(n, s) for n, s in (("x", (40, 100)), ("w", (100, 36)), ("y", (40, 70)), ("v", (70, 36))))
    b.output(b.op("add", b.op("matmul", x, w), b.op("matmul", y, v)))
    p = b.program()
    return searched(problem(p, lower(p)), cuts=0)


def fed_twice(m: MuGraph) -> bool:
    return any(x.start for x in accumulators(m))


def accumulators(m: MuGraph) -> list[Accumulate]:
    loops = [s for k in m.kernels for s in k.block.body if isinstance(s, Loop)]
    return [x for s in loops for x in s.body if isinstance(x, Accumulate)]


@pytest.fixture(scope="module")
def graph(search) -> MuGraph:
    return next(c.mugraph for c in search.best if fed_twice(c.mugraph))


def targets(s: Search):
    return {o.tensor: (o.term, o.dims) for o in s.problem.outputs}


def words(s: Search, m: MuGraph) -> tuple[str | None, str]:
    proof = proof_opinion(s.problem.t, targets(s), m)
    return proof.word if proof else None, schedule_opinion(s.problem.t, s.problem.outputs, m).word


def test_two_loops_feed_one_accumulator(search, graph):
    assert len(graph.kernels) == 1 and len(accumulators(graph)) == 2 and broken_rule(graph) is None
    assert words(search, graph) == ("PROVED", "TESTED")
    replay(search.problem.t, targets(search), derive(search.problem.t, targets(search), graph), graph)
    rng = np.random.default_rng(0)
    x, w, y, v = (rng.standard_normal(graph.shape(i)) for i in graph.inputs)
    assert np.allclose(evaluate(graph, x, w, y, v), x @ w + y @ v, atol=1e-9)


def test_a_product_that_was_kept_goes_on_too():
    """x W + (x A) B with x A in memory: the loops run over the columns of x and over those of x A."""
    found = [c for c in searched(workload("low_rank_adapter"), cuts=1).best if fed_twice(c.mugraph)]
    assert found and all(broken_rule(c.mugraph) is None for c in found)


def test_its_forms_are_read_as_they_were_written(graph):
    assert parse(to_text(graph)) == graph and from_json(to_json(graph)) == graph
    assert " after acc" in to_text(graph)


def changed(m: MuGraph, **fields) -> MuGraph:
    (k,) = m.kernels

    def new(s):
        if isinstance(s, Loop):
            return replace(s, body=tuple(replace(x, **fields) if getattr(x, "start", "") else x for x in s.body))
        return s

    return replace(m, kernels=(replace(k, block=replace(k.block, body=tuple(map(new, k.block.body)))),))


def test_without_its_start_it_is_rejected(search, graph):
    assert words(search, changed(graph, start=""))[1] == "REJECTED"
    assert words(search, changed(graph, start=""))[0] is None


@pytest.mark.parametrize("fields", [{"start": "missing"}, {"start": "t"}, {"start": "acc_2"}, {"op": "max"}])
def test_what_it_cannot_go_on_from(graph, fields):
    assert broken_rule(changed(graph, **fields)) is not None


def test_a_split_loop_does_not_begin_with_the_whole(graph):
    text = to_text(graph)
    axis = accumulators(graph)[-1].start and next(
        s.dim for s in reversed(graph.kernels[0].block.body) if hasattr(s, "dim")
    )
    split = text.replace("    for ", f"    dim p (p) split tile 1 splits {axis} parts 2\n    for ", 1)
    split = split.replace("axes ", "axes p=2 ").replace("output out fp32 [m, n]", "output out fp32 [p, m, n]")
    split = split.replace("store out[m, n]", "store out[p, m, n]")
    found = broken_rule(parse(split))
    assert found is not None and "each part would begin" in found[1].message


def test_sums_that_need_each_other_are_not_chained():
    t = Terms({"m": 4, "k": 8, "l": 6, "n": 5})
    x, w, y, v = (tensor(t, *z) for z in (("X", "mk"), ("W", "kn"), ("Y", "ml"), ("V", "ln")))
    one, two = t.sum("k", t.mul(x, w)), t.sum("l", t.mul(y, v))
    assert [axis for axis, _ in chained(t, t.add(one, two))] == ["l"]
    assert not list(chained(t, t.add(one, t.sum("k", t.mul(x, x, w)))))  # one axis: one loop
    low = t.sum("k", t.mul(x, tensor(t, "A", "kl")))
    assert not list(chained(t, t.add(one, t.sum("l", t.mul(low, v)))))  # the second needs a sum of the first loop
    assert not list(chained(t, t.add(one, t.sum("l", t.mul(y, y)))))  # other tiles


TEXT = """import mirage
import torch


@mirage.optimize(
    inputs=[((64, 256), "fp16"), ((256, 64), "fp16"), ((64, 192), "fp16"), ((192, 64), "fp16")],
    griddims=[(2, 2, 1)], franges=[4, 3],
)
def two(x, w, y, v):
    return x @ w + y @ v
"""


def test_it_is_emitted_and_run(tools):
    result = optimize(Request(TEXT, "<text>", "two", anyway=True), lambda _: None, CancelToken(), tools)
    assert result.answer == "kernel" and len(result.kernels) == 1, (result.reason, result.notes)
    assert fed_twice(from_json(result.mugraphs[0])), result.source

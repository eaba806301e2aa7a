"""Several outputs from one kernel: found beside separate kernels, verified, derived, and run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from workloads.evaluate import evaluate_all
from workloads.terms import tensor

from mirage.derivation.derive import derive, replay
from mirage.devices.table import DEVICES
from mirage.ir.program import Program
from mirage.meaning.terms import Terms
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import DTensor, MuGraph, Store
from mirage.pipeline.optimize import optimize
from mirage.pipeline.request import Request
from mirage.pipeline.search_problems import problem
from mirage.profile.roofline import estimate
from mirage.program.builder import Builder
from mirage.program.lower import lower
from mirage.results.progress import CancelToken
from mirage.search.engine import Bounds, Candidate, Problem, Search
from mirage.search.kernel_pieces import Target
from mirage.search.multiple_outputs import groupings, groups, joint
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.proof.opinion import proof_opinion

pytestmark = pytest.mark.usefixtures("well_formed")


def norm() -> Program:
    b = Builder("norm")
    x, g = b.input("x", (24, 48)), b.input("g", (48,))
    mean = b.op("mean", b.op("mul", x, x), dim=(1,), keepdim=True)
    r = b.op("rsqrt", b.op("add", mean, b.const(1e-6)))
    b.output(b.op("mul", b.op("mul", x, r), g))
    b.output(r)
    return b.program(returns_tuple=True)


def projections() -> Program:
    b = Builder("projections")
    x, *weights = b.input("x", (24, 48)), *(b.input(name, (48, 36)) for name in "abc")
    for w in weights:
        b.output(b.op("matmul", x, w))
    return b.program(returns_tuple=True)


def softmax() -> Program:
    b = Builder("softmax")
    x = b.input("x", (24, 48))
    b.output(b.op("softmax", x, dim=(1,)))
    top = b.op("amax", x, dim=(1,), keepdim=True)
    total = b.op("sum", b.op("exp", b.op("sub", x, top)), dim=(1,), keepdim=True)
    b.output(b.op("add", b.op("log", total), top))
    return b.program(returns_tuple=True)


def expected(name: str, x, *more) -> list[np.ndarray]:
    if name == "norm":
        r = 1 / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6)
        return [x * r * more[0], r]
    if name == "projections":
        return [x @ w for w in more]
    top = x.max(1, keepdims=True)
    total = np.exp(x - top).sum(1, keepdims=True)
    return [np.exp(x - top) / total, np.log(total) + top]


PROGRAMS = {"norm": norm, "projections": projections, "softmax": softmax}


@pytest.fixture(scope="module")
def found() -> dict[str, Search]:
    out = {}
    for name, make in PROGRAMS.items():
        p = make()
        out[name] = Search(problem(p, lower(p)), lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds(cuts=1))
        list(out[name].run())
    return out


def single(s: Search) -> list[Candidate]:
    return [c for c in s.best if len(c.mugraph.kernels) == 1]


def targets(p: Problem) -> dict[str, tuple[int, tuple[tuple[str, ...], ...]]]:
    return {o.tensor: (o.term, o.dims) for o in p.outputs}


def stores(m: MuGraph) -> list[Store]:
    (k,) = m.kernels
    return [x for s in k.block.body for x in getattr(s, "body", (s,)) if isinstance(x, Store)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_kernel_and_separate_ones_are_found_and_right(name, found):
    s = found[name]
    p, rng = s.problem, np.random.default_rng(0)
    one = single(s)
    own = [c for c in s.best if "library" not in c.structure]
    several = [c for c in own if len(c.mugraph.kernels) >= len(p.outputs)]
    assert one and several and s.best[0] in one
    inputs = [rng.standard_normal([p.t.sizes[a] for (a,) in x.dims]) for x in p.inputs]
    for c in (*one[:2], several[0]):
        assert broken_rule(c.mugraph) is None
        proof = proof_opinion(p.t, targets(p), c.mugraph)
        assert proof is not None and proof.word == "PROVED"
        assert schedule_opinion(p.t, p.outputs, c.mugraph).word == "TESTED"
        replay(p.t, targets(p), derive(p.t, targets(p), c.mugraph), c.mugraph)
        assert [x.name for x in c.mugraph.outputs] == [o.tensor for o in p.outputs]
        got = evaluate_all(c.mugraph, *inputs)
        for g, want in zip(got, expected(name, *inputs), strict=True):
            assert np.allclose(g, want, atol=1e-9)


def test_projections_share_the_tile_that_they_read(found):
    m = single(found["projections"])[0].mugraph
    (k,) = m.kernels
    assert len(stores(m)) == 3 and {x.index for x in stores(m)} == {stores(m)[0].index}
    loads = [x.tensor for s in k.block.body for x in getattr(s, "body", ()) if hasattr(x, "pad")]
    assert sorted(loads) == ["a", "b", "c", "x"]


def test_a_wrong_saver_is_rejected(found):
    """What has no column is written by the first block of a row's; two savers' tiles may not be exchanged."""
    p, m = found["norm"].problem, single(found["norm"])[0].mugraph
    (k,) = m.kernels

    def changed(body):
        return tuple(
            replace(s, body=changed(s.body)) if hasattr(s, "body") and not hasattr(s, "out") else swap.get(s, s)
            for s in body
        )

    def rejected(wrong: MuGraph) -> bool:
        if broken_rule(wrong) is not None:
            return True
        return schedule_opinion(p.t, p.outputs, wrong).word == "REJECTED"

    y = next(s for s in stores(m) if s.tensor == "out0")
    swap = {y: replace(y, tile=next(x.out for x in _values(k.block.body) if x.op == "mul"))}
    assert rejected(replace(m, kernels=(replace(k, block=replace(k.block, body=changed(k.block.body))),)))
    swap = {s: replace(s, tensor={"out0": "out1", "out1": "out0"}[s.tensor]) for s in stores(m)}
    assert rejected(replace(m, kernels=(replace(k, block=replace(k.block, body=changed(k.block.body))),)))
    wide = [
        c.mugraph
        for c in single(found["projections"])
        if any(d.role == "grid" for d in c.mugraph.kernels[0].block.dims)
    ]
    (k,) = wide[0].kernels
    swap = {s: replace(s, first=tuple(d.name for d in k.block.grid)) for s in stores(wide[0])}
    assert broken_rule(replace(wide[0], kernels=(replace(k, block=replace(k.block, body=changed(k.block.body))),)))


def _values(body):
    return [x for s in body for x in getattr(s, "body", (s,)) if hasattr(x, "op") and hasattr(x, "args")]


def test_which_tensors_go_together():
    t = Terms({"m": 4, "k": 8, "n": 5, "p": 5, "q": 7})
    x, a, b, c = (tensor(t, *z) for z in (("X", "mk"), ("A", "kn"), ("B", "kp"), ("C", "kq")))

    def target(name: str, term: int, axes: str) -> Target:
        return Target(name, term, tuple((a,) for a in axes), "fp32")

    one, two = target("U", t.sum("k", t.mul(x, a)), "mn"), target("V", t.sum("k", t.mul(x, b)), "mp")
    other = target("W", t.sum("k", t.mul(x, c)), "mq")
    after = target("Y", t.exp(tensor(t, "U", "mn")), "mn")
    alone = target("Z", t.exp(a), "kn")
    assert groups(t, [one, two, other, after]) == [(one, two)]  # other sizes; what reads the first comes after it
    assert groups(t, [one, alone]) == []  # (k, n) beside (m, n)
    both = joint(t, [one, two])
    assert both is not None and both.indices[0] == both.indices[1]
    assert [len(g) for g in groupings(t, [one, two, after])] == [3, 2]
    assert groupings(t, [one, two, after])[1][1] == after


TEXT = """import mirage
import torch


@mirage.optimize(inputs=[((48, 96), "fp32"), ((96,), "fp32")])
def norm(x, g):
    r = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
    return x * r * g, r
"""


def test_a_tuple_is_answered_by_one_kernel(tools):
    result = optimize(Request(TEXT, "<text>", "norm"), lambda _: None, CancelToken(), tools)
    assert result.answer == "kernel" and len(result.kernels) == 1, result.reason
    assert "return out0, out1" in result.source


def test_outputs_keep_their_order_whichever_kernels_make_them():
    """The first and the last output from one kernel, the second, which has other axes, from its own."""
    b = Builder("three")
    x, y = b.input("x", (24, 48)), b.input("y", (48, 20))
    b.output(b.op("exp", x))
    b.output(b.op("matmul", x, y))
    b.output(b.op("sum", x, dim=(1,), keepdim=False))
    p = b.program(returns_tuple=True)
    s = Search(problem(p, lower(p)), lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds(cuts=0))
    list(s.run())
    assert {len(c.mugraph.kernels) for c in s.best} >= {2, 3}
    assert all([x.name for x in c.mugraph.outputs] == ["out0", "out1", "out2"] for c in s.best)
    assert isinstance(s.best[0].mugraph.outputs[0], DTensor)

"""A program with more reductions than are searched whole: parts, joined greedily, every answer still proved."""

from dataclasses import replace

import pytest
from workloads.terms import problem, tensor

from mirage.devices.table import DEVICES
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import Compute, CustomKernel, Loop
from mirage.profile.roofline import estimate
from mirage.search.cuts import Cut, descend, loads, renaming, starts, together
from mirage.search.engine import Bounds, Search
from mirage.verify.proof.opinion import proof_opinion

QUICK = Bounds(keep=16, tilings=4)


def run(bounds: Bounds = QUICK, name: str = "attention_block") -> Search:
    search = Search(problem(name), lambda g: estimate(g, DEVICES["sm_90"]), bounds=bounds)
    list(search.run())
    return search


def begun(bounds: Bounds, name: str) -> Search:
    """A search at its first answer, which knows whether it goes on in parts."""
    search = Search(problem(name), lambda g: estimate(g, DEVICES["sm_90"]), bounds=bounds)
    next(search.run())
    return search


@pytest.fixture(scope="module")
def block() -> Search:
    return run()


def test_every_answer_for_an_attention_block_is_proved(block):
    assert len(block.best) == QUICK.keep
    for c in block.best:
        proof = proof_opinion(block.problem.t, {o.tensor: (o.term, o.dims) for o in block.problem.outputs}, c.mugraph)
        assert proof is not None and proof.word == "PROVED", c.label


def test_it_is_said(block):
    assert block.partitioned and not block.counts.exhaustive
    assert any("13 reductions" in x for x in block.counts.limits)
    whole = run(name="gated_mlp")
    assert not whole.partitioned and not any("in parts" in x for x in whole.counts.limits)


def test_joining_parts_pays(block):
    first = [block._least[s] for s in starts(block.problem.t, block.cuts) if s in block._least]
    assert first and block.best[0].us <= first[0]


def test_each_head_has_its_matrix_product(block):
    """The output projection sums over heads and their elements: a loop over heads, each a matrix product."""
    last = block.best[0].mugraph.kernels[-1]
    assert isinstance(last, CustomKernel)
    (loop,) = [s for s in last.block.body if isinstance(s, Loop)]
    assert loop.dim == "c" and any(isinstance(s, Compute) and s.op == "dot" for s in loop.body)


def test_the_same_program_whole_under_a_wider_bound():
    search = run(replace(QUICK, reductions=4), name="qknorm_attention")
    assert search.partitioned and search.best
    assert begun(replace(QUICK, reductions=4), "qknorm_attention").partitioned
    assert not begun(replace(QUICK, reductions=6), "qknorm_attention").partitioned


@pytest.mark.parametrize("wanted", [(), (1,), (0, 2), (0, 1, 2, 3)])
def test_descent_reaches_the_least_of_a_sum(wanted):
    """Where every cut helps or harms by itself the descent ends at the best set."""
    cuts = [Cut(i, i % 2 == 0, i) for i in range(4)]
    seen = {}

    def cost(chosen):
        return seen[chosen]

    for chosen in descend(Terms(), cuts, cost):
        seen[chosen] = float(len({c.number for c in chosen} ^ set(wanted)))
    best = min(seen, key=lambda s: seen[s])
    assert {c.number for c in best} == set(wanted)
    assert len(seen) == len(set(seen)) <= 16


@pytest.mark.parametrize("name", ["attention", "layernorm_linear", "gated_mlp"])
def test_the_first_answer_comes_before_the_ranking(name):
    search = Search(problem(name), lambda g: estimate(g, DEVICES["sm_90"]), bounds=QUICK)
    steps = search.run()
    first = next(steps)
    assert search.best == [first] and search.counts.mugraphs == 0  # no tiling was ranked yet
    proof = proof_opinion(search.problem.t, {o.tensor: (o.term, o.dims) for o in search.problem.outputs}, first.mugraph)
    assert proof is not None and proof.word == "PROVED"
    later = list(steps)
    assert all(c.us < first.us for c in later) and search.best[0].us <= first.us
    assert len({c.mugraph for c in search.best}) == len(search.best)


def test_a_program_whose_large_parts_have_no_kernel_begins_with_every_value_kept():
    t = Terms({"k": 8})
    cuts = [Cut(t.exp(tensor(t, name, "k")), i == 0, i) for i, name in enumerate("XYZ")]
    seen = [[c.number for c in x] for x in descend(t, cuts, lambda chosen: float("inf") if len(chosen) < 3 else 1.0)]
    assert seen[0] == [0] and [0, 1, 2] in seen[:3]
    seen = [[c.number for c in x] for x in descend(t, cuts, lambda chosen: 1.0)]
    assert seen[0] == [0] and [0, 1, 2] not in seen  # the operands alone have kernels: nothing else is begun with


def test_a_value_and_its_transpose_are_kept_once():
    t = Terms({"k": 8, "l": 8, "j": 5, "n": 9})
    x, y = tensor(t, "X", "kj"), tensor(t, "Y", "lj")
    x2, y2 = tensor(t, "X", "lj"), tensor(t, "Y", "kj")
    product, transposed = t.sum("j", t.mul(x, y)), t.sum("j", t.mul(x2, y2))
    assert product != transposed and dict(renaming(t, product, transposed)) == {"k": "l", "l": "k"}
    assert renaming(t, product, t.sum("j", t.mul(x2, t.exp(y2)))) is None
    (cut,) = together(t, [(product, False), (transposed, False)])
    reads = loads(t, cut, [], "tmp")
    assert [[d.axes for d in t.read(reads[term]).index] for term in (product, transposed)] in (
        [[("k",), ("l",)], [("l",), ("k",)]], [[("l",), ("k",)], [("k",), ("l",)]],
    )  # fmt: skip
    wide = tensor(t, "X", "kn"), tensor(t, "X", "nk")  # of unlike sizes
    assert renaming(t, *wide) is None

"""Few long rows that are written along the axis that they are reduced over: reduced in parts, written by as many blocks."""

from __future__ import annotations

from functools import cache

import pytest
from workloads.terms import tensor

from mirage.derivation.derive import derive, replay
from mirage.devices.table import DEVICES
from mirage.meaning.terms import Terms
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import CustomKernel, DTensor, MuGraph
from mirage.mugraph.parse import parse
from mirage.mugraph.text import to_text
from mirage.profile.roofline import estimate
from mirage.search.engine import Problem, Search
from mirage.search.kernel_pieces import Target
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.proof.opinion import proof_opinion


def softmax(t: Terms) -> int:
    x = tensor(t, "X", "mn")
    e = t.exp(t.sub(x, t.fn("finite", t.max("n", x))))
    return t.mul(e, t.inv(t.sum("n", e)))


def centred(t: Terms) -> int:
    x = tensor(t, "X", "mn")
    return t.sub(x, t.mul(t.inv(t.size("n")), t.sum("n", x)))


@cache
def searched(row: str, rows: int, columns: int) -> tuple[Problem, Search]:
    t = Terms({"m": rows, "n": columns})
    y = {"softmax": softmax, "centred": centred}[row](t)
    dims = (("m",), ("n",))
    p = Problem(row, t, (DTensor("X", "fp16", dims),), (Target("O", y, dims, "fp16"),), "fp16")
    search = Search(p, lambda g: estimate(g, DEVICES["sm_90"]))
    list(search.run())
    return p, search


def in_parts(g: MuGraph) -> bool:
    """Whether rows are reduced in parts by one kernel, and written by a second one in pieces."""
    kernels = [k for k in g.kernels if isinstance(k, CustomKernel)]
    if len(kernels) != 2:
        return False
    roles = [{d.axes: d.role for d in k.block.dims} for k in kernels]
    return "split" in roles[0].values() and roles[0].get(("n",)) == "loop" and roles[1].get(("n",)) == "grid"


def graph_in_parts(row: str) -> tuple[Problem, MuGraph]:
    p, search = searched(row, 8, 65536)
    return p, next(c.mugraph for c in search.best if in_parts(c.mugraph))


@pytest.mark.parametrize("row", ["softmax", "centred"])
def test_few_long_rows_are_reduced_in_parts_and_written_in_pieces(row):
    _, search = searched(row, 8, 65536)
    assert in_parts(search.best[0].mugraph)
    whole = min(c.us for c in search.best if len(c.mugraph.kernels) == 1)
    assert search.best[0].us < 0.75 * whole


def test_many_rows_keep_every_device_busy_by_themselves():
    assert not any(in_parts(c.mugraph) for c in searched("softmax", 8192, 4096)[1].best)


@pytest.mark.parametrize("row", ["softmax", "centred"])
def test_it_is_proved_and_derived(row):
    p, g = graph_in_parts(row)
    targets = {o.tensor: (o.term, o.dims) for o in p.outputs}
    assert broken_rule(g) is None
    proof = proof_opinion(p.t, targets, g)
    assert proof is not None and proof.word == "PROVED"
    assert schedule_opinion(p.t, p.outputs, g).word == "TESTED"
    derivation = derive(p.t, targets, g)
    assert "split of a reduction" in derivation.laws
    replay(p.t, targets, derivation, g)


def wrong(row: str, old: str, new: str) -> MuGraph:
    text = to_text(graph_in_parts(row)[1])
    assert old in text
    return parse(text.replace(old, new))


@pytest.mark.parametrize(
    ("row", "old", "new"),
    [
        ("softmax", "= max(", "= sum("),  # of the parts' maxima
        ("centred", "sub(x, mean)", "add(x, mean)"),
    ],
)
def test_a_wrong_one_is_not_proved(row, old, new):
    p, _ = graph_in_parts(row)
    targets = {o.tensor: (o.term, o.dims) for o in p.outputs}
    g = wrong(row, old, new)
    proof = proof_opinion(p.t, targets, g)
    assert proof is None or proof.word != "PROVED"
    assert schedule_opinion(p.t, p.outputs, g).word == "REJECTED"

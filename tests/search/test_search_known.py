"""The graphs that people know are in the result under the default bounds: compared by structure with hand-written ones.

tests/workloads/known/ holds them as text, sizes and tiles small: NAME.txt or NAME.WHAT.txt for the workload NAME."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from workloads.classes import Classes
from workloads.terms import problem

from mirage.devices.table import DEVICES
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.mugraph.parse import parse
from mirage.profile.roofline import estimate
from mirage.search.engine import Search
from mirage.verify.proof.opinion import proof_opinion

FOLDER = Path(__file__).resolve().parent.parent / "workloads" / "known"
KNOWN = sorted(p.name for p in FOLDER.glob("*.txt"))


def known(name: str) -> MuGraph:
    return parse((FOLDER / name).read_text())


@cache
def searched(name: str) -> tuple[MuGraph, ...]:
    search = Search(problem(name), lambda g: estimate(g, DEVICES["sm_90"]))
    list(search.run())
    return tuple(c.mugraph for c in search.best)


def found(name: str, wanted: MuGraph) -> list[MuGraph]:
    classes = Classes()
    mine = classes.of(wanted)
    return [m for m in searched(name.split(".")[0]) if classes.of(m) == mine]


@pytest.mark.parametrize("name", KNOWN)
def test_the_hand_written_graph_is_valid_and_proved(name):
    m, p = known(name), problem(name.split(".")[0])
    assert broken_rule(m) is None
    proof = proof_opinion(p.t, {o.tensor: (o.term, o.dims) for o in p.outputs}, m)
    assert proof is not None and proof.word == "PROVED"


@pytest.mark.parametrize("name", KNOWN)
def test_the_known_graph_is_in_the_result(name):
    assert found(name, known(name))


# what stands in a known graph, and what makes another structure of it that no search should answer
OTHERS = [
    ("rmsnorm_linear.txt", "o[m, n] = div(y, root)", "o[m, n] = mul(y, root)"),
    ("rmsnorm_linear.txt", "dot(x, w; dim=k)", "dot(x2, w; dim=k)"),
    ("gated_mlp.txt", "silu[m, n] = mul(a, gate)", "silu[m, n] = mul(b, gate)"),
    ("low_rank_adapter.txt", "a[k, r] = load A[k, r]", "a[k, r] = load A[k, r]\n      x2[m, k] = mul(x, x)"),
    ("attention.flash_attention.txt", "o_part carrying alpha*@self", "o_part"),
    ("attention.flash_decoding.txt", "sub(ms, shift)", "sub(shift, ms)"),
    ("qknorm_attention.txt", "dot(qn, kn; dim=d)", "dot(q, kn; dim=d)"),
    ("normalized_step.txt", "y2[m, k] = mul(y, y)", "y2[m, k] = mul(y, x)"),
]


@pytest.mark.parametrize(("name", "old", "new"), OTHERS)
def test_another_structure_is_another_class(name, old, new):
    text = (FOLDER / name).read_text()
    assert old in text
    other = parse(text.replace(old, new))
    unused = "x2[m, k]" in new and "x2" not in text  # a tile that nothing reads changes nothing
    assert bool(found(name, other)) == unused


def test_known_graphs_have_classes_of_their_own():
    classes = Classes()
    assert len({classes.of(known(name)) for name in KNOWN}) == len(KNOWN)


def test_tiles_order_and_spelling_do_not_change_a_class():
    text = (FOLDER / "rmsnorm_linear.txt").read_text()
    lines = text.splitlines()
    load = next(i for i, line in enumerate(lines) if "load W" in line)
    lines.insert(load + 3, lines.pop(load))
    other = "\n".join(lines) + "\n"
    other = other.replace("tile 32", "tile 64").replace("div(y, root)", "mul(y, inverse)")
    other = other.replace("root[m] = sqrt(shifted)", "inverse[m] = rsqrt(shifted)")
    classes = Classes()
    assert other != text and classes.of(parse(other)) == classes.of(parse(text))


def test_grouped_queries_share_a_block():
    """Key-value heads and splits in the grid, the eight query heads of a key-value head in one block."""
    hit = [
        m for m in found("grouped_query_attention.txt", known("grouped_query_attention.txt"))
        for k in m.kernels[:1] if isinstance(k, CustomKernel)
        and {("c", 1), ("b", 1)} <= {(a, d.tile) for d in k.block.grid for a in d.axes}
        and any(d.role == "split" and d.splits == "s" for d in k.block.grid)
        and any(d.role == "resident" and d.axes == ("g",) and d.tile >= m.size("g") == 8 for d in k.block.dims)
    ]  # fmt: skip
    assert hit


def test_a_graph_in_more_kernels_is_another_class():
    classes = Classes()
    m = known("gated_mlp.txt")
    (k,) = m.kernels
    assert classes.of(replace(m, kernels=(k, k))) != classes.of(m)

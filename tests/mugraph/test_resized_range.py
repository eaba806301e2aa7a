"""A µGraph at the sizes of other tensors: which sizes those are, and that tiles stay."""

from __future__ import annotations

import pytest
from workloads import hand

from mirage.mugraph.grammar import DTensor, MuGraph
from mirage.mugraph.resized import like, sizes_for
from mirage.mugraph.walk import parts

GRAPH = hand.rmsnorm_linear(m=40, tn=32).mugraph


def shapes(m: MuGraph) -> dict[str, tuple[int, ...]]:
    return {t.name: m.shape(t) for t in (*m.inputs, *m.outputs)}


def tiles(m: MuGraph) -> list[tuple[str, int]]:
    return [(d.name, d.tile) for p in parts(m) for d in p.graph.dims]


@pytest.mark.parametrize("rows", [1, 7, 39, 40, 64])
def test_the_rows_of_the_tensors_say_the_axis(rows: int) -> None:
    wanted = {name: tuple(rows if n == 40 else n for n in shape) for name, shape in shapes(GRAPH).items()}
    sizes = sizes_for(GRAPH, wanted)
    assert sizes is not None and sizes == {**dict(GRAPH.axes), "m": rows}
    other = like(GRAPH, sizes)
    assert shapes(other) == wanted
    assert all(b >= a for (_, a), (_, b) in zip(tiles(GRAPH), tiles(other), strict=True))


def test_tensors_that_disagree_have_no_sizes() -> None:
    wanted = {name: tuple(7 if n == 40 else n for n in shape) for name, shape in shapes(GRAPH).items()}
    output = GRAPH.outputs[0].name
    assert sizes_for(GRAPH, {**wanted, output: (8, *wanted[output][1:])}) is None
    assert sizes_for(GRAPH, {**wanted, output: wanted[output][1:]}) is None


def test_a_dimension_of_two_axes_changes_one() -> None:
    x = DTensor("x", "fp16", (("b", "h"), ("d",)))
    m = MuGraph("f", (("b", 4), ("h", 8), ("d", 16)), (x, DTensor("y", "fp16", (("b",), ("d",)), kind="output")), ())
    assert sizes_for(m, {"x": (24, 16), "y": (3, 16)}) == {"b": 3, "h": 8, "d": 16}
    assert sizes_for(m, {"x": (25, 16), "y": (3, 16)}) is None
    assert sizes_for(m, {"x": (24, 16)}) is None  # either could be it
    assert sizes_for(m, {"x": (32, 16)}) == dict(m.axes)


def test_a_rigid_dimension_keeps_its_size() -> None:
    x = DTensor("x", "fp16", (("n",), ("d",)), rigid=(None, 20))
    m = MuGraph("f", (("n", 4), ("d", 16)), (x, DTensor("y", "fp16", (("n",), ("d",)), kind="output")), ())
    assert sizes_for(m, {"x": (5, 20), "y": (5, 16)}) == {"n": 5, "d": 16}
    assert sizes_for(m, {"x": (5, 21), "y": (5, 16)}) is None

"""Tiles under the names of the user's variables: where they mean the same, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirage.devices.table import DEVICES
from mirage.ir.program import Program
from mirage.mugraph.grammar import Accumulate, Compute, CustomKernel, Load, MuGraph
from mirage.mugraph.parse import parse
from mirage.mugraph.readable_names import readable
from mirage.mugraph.structure import canonical
from mirage.mugraph.text import to_text
from mirage.mugraph.walk import computes, parts, sites
from mirage.pipeline.search_problems import problem
from mirage.pipeline.source_names import named_by_source
from mirage.profile.roofline import estimate
from mirage.program.builder import Builder
from mirage.program.lower import lower
from mirage.search.engine import Bounds, Problem, Search


def program(names: dict[str, str]) -> Program:
    """Attention of one head without a division: the variables of its operators are named by these."""
    b = Builder("attend")
    q, k, v = b.input("q", (48, 32), "fp16"), b.input("k", (32, 256), "fp16"), b.input("v", (256, 64), "fp16")
    s = b.op("matmul", q, k)
    m = b.op("amax", s, dim=(1,), keepdim=True)
    e = b.op("exp", b.op("sub", s, m))
    made = {"scores": s, "max": m, "exp": e, "sum": b.op("sum", e, dim=(1,), keepdim=True)}
    made["out"] = b.op("div", b.op("matmul", e, v), made["sum"])
    for of, name in names.items():
        b.called(made[of], name)
    b.output(made["out"])
    return b.program()


@pytest.fixture(scope="module")
def posed() -> tuple[Problem, MuGraph]:
    """The problem, and the best µGraph of one kernel."""
    p = program({})
    found = problem(p, lower(p))
    search = Search(found, lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds(keep=8, cuts=0, systems=40))
    list(search.run())
    return found, search.best[0].mugraph


def tiles(m: MuGraph) -> dict[str, str]:
    """Each tile's name, with its operator."""
    made = [s.statement for part in parts(m) for s in sites(part)]
    found = {s.out: s.op for s in made if isinstance(s, Accumulate | Compute)}
    return (
        found | {c.out: c.op for s in made for c in computes(s)} | {s.out: "load" for s in made if isinstance(s, Load)}
    )


def test_variables_name_tiles(posed: tuple[Problem, MuGraph]) -> None:
    found, graph = posed
    named = tiles(named_by_source(graph, program({"scores": "Affinity", "out": "context"}), found.t))
    assert named["affinity"] == "dot" and named["context"] in ("div", "mul")
    assert not {"scores", "affinity_2"} & set(named)


def test_nothing_but_names_changes(posed: tuple[Problem, MuGraph]) -> None:
    found, graph = posed
    before = len(found.t.nodes)
    named = named_by_source(graph, program({"scores": "affinity", "sum": "total", "max": "m"}), found.t)
    assert named != graph and canonical(named) == canonical(graph) and parse(to_text(named)) == named
    assert len(found.t.nodes) == before


def test_another_value_does_not_get_the_name(posed: tuple[Problem, MuGraph]) -> None:
    """Of a like function, whose scores are twice these."""
    found, graph = posed
    b = Builder("attend")
    q, k, v = b.input("q", (48, 32), "fp16"), b.input("k", (32, 256), "fp16"), b.input("v", (256, 64), "fp16")
    s = b.op("mul", b.op("matmul", q, k), b.const(2.0))
    b.called(s, "doubled")
    b.output(b.op("matmul", s, v))
    assert "doubled" not in tiles(named_by_source(graph, b.program(), found.t))


@pytest.mark.parametrize("name", ["class", "tl", "print", "q", "a\nimport os", "é", "__", "x" * 99, "a b"])
def test_a_name_that_is_none_for_a_tile_is_not_used(posed: tuple[Problem, MuGraph], name: str) -> None:
    """Names come from a worker that ran the user's code; an input's tile keeps the input's."""
    found, graph = posed
    named = named_by_source(graph, program({"scores": name}), found.t)
    assert tiles(named).get("scores") == "dot" and tiles(named) == tiles(readable(graph))
    assert tiles(named).get("q") == "load"


def test_a_masked_tile_is_called_so() -> None:
    text = """\
mugraph rows
axes m=16 n=40
input X fp16 [m, n]
output O fp16 [m]
kernel main warps 4 stages 3:
  block cluster 1:
    dim m (m) grid tile 1
    dim n (n) resident tile 64
    a[m, n] = load X[m, n]
    b[n] = mask(dim=n)
    c[m, n] = exp(a)
    d[m, n] = mul(b, c)
    e[m] = sum(d; dim=n)
    store O[m] = e
"""
    own = [{"c": "energy", "d": "energy", "e": "total"}]
    assert {"energy", "energy_masked", "total"} <= set(tiles(readable(parse(text), own)))
    assert set(tiles(readable(parse(text), [{}]))) == set(tiles(readable(parse(text))))


def test_a_graph_without_a_meaning_keeps_its_names(posed: tuple[Problem, MuGraph]) -> None:
    found, graph = posed
    kernel = graph.kernels[0]
    assert isinstance(kernel, CustomKernel)
    other = replace(kernel.block, body=kernel.block.body[:1])
    broken = replace(graph, kernels=(replace(kernel, block=other),))
    assert "affinity" not in tiles(named_by_source(broken, program({"scores": "affinity"}), found.t))
    empty = replace(graph, kernels=())
    assert named_by_source(empty, program({"scores": "affinity"}), found.t) == empty

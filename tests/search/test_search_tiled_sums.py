"""Sums of what is made of a matrix product: each kernel's tile is added up where it is made, and the product is never written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from workloads.traced import trace

from mirage.codegen.emit import emit_module
from mirage.devices.table import DEVICES
from mirage.errors import SignatureMismatch
from mirage.ir.program import Program
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import MuGraph
from mirage.pipeline.search_problems import problems, which
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Search
from mirage.search.tiled_sums import block_of
from mirage.verify.cases import of_program
from mirage.verify.judge import Case, judge

DEVICE = DEVICES["sm_90"]
HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
BODY = "F.softplus((x @ y.T).float() * 0.5 - 1.0).sum()"
X, Y = ("x", (256, 96), "fp16"), ("y", (384, 96), "fp16")
FEW = Bounds(keep=200, tilings=2, structures=4, cuts=1)


def text_of(body: str, *inputs: tuple[str, tuple[int, ...], str]) -> str:
    return f"{HEAD}def f({', '.join(i[0] for i in inputs)}):\n    return {body}\n"


def traced(body: str, *inputs: tuple[str, tuple[int, ...], str]) -> Program:
    return trace(text_of(body, *inputs), "f", list(inputs))


def searched(found: Any) -> Search:
    search = Search(found, lambda g: estimate(g, DEVICE), bounds=FEW)
    list(search.run())
    return search


def largest_temp(m: MuGraph) -> int:
    """Elements of the largest tensor that goes from kernel to kernel."""
    sizes = [1]
    for x in (x for x in m.tensors if x.kind == "temp"):
        n = 1
        for d in m.shape(x):
            n *= d
        sizes.append(n)
    return max(sizes)


@pytest.fixture(scope="module")
def program() -> Program:
    return traced(BODY, X, Y)


@pytest.fixture(scope="module")
def graph(program: Program) -> MuGraph:
    """The best one that writes a number for each tile."""
    best = searched(problems(program)[-1]).best
    return min((c for c in best if largest_temp(c.mugraph) <= 12), key=lambda c: c.us).mugraph


def test_a_tile_of_the_product_becomes_one_number(program: Program, graph: MuGraph) -> None:
    posed = problems(program)
    plain = min(searched(posed[0]).best, key=lambda c: c.us)
    assert largest_temp(plain.mugraph) >= 256 or len(plain.mugraph.kernels) == 1
    assert largest_temp(graph) == 2 * 3 and len(graph.kernels) == 2
    assert broken_rule(graph) is None
    assert which(posed, graph) == 1 and which(posed, plain.mugraph) == 0


def test_it_is_verified_and_a_wrong_one_is_not(program: Program, graph: MuGraph, run: Any) -> None:
    found, text = problems(program)[-1], text_of(BODY, X, Y)
    module = emit_module(program, graph, text, function="f", header={})
    assert "tl.dot(" in module
    case = Case(found.t, found.outputs, graph, module, program, text, "f")
    assert judge(case, run).accepted
    assert judge(
        of_program(program, graph, module, text, "f"), run
    ).accepted  # as a file, which says nothing of the problem
    other = traced(BODY.replace("- 1.0", "- 1.25"), X, Y)
    assert not judge(of_program(other, graph, module, text, "f"), run).accepted
    first = module.index("tl.load(")
    once = module[:first] + module[first:].replace("pid_", "0 * pid_", 1)  # every block reads the first one's rows
    assert not judge(replace(case, module=once), run).accepted


def test_blocks_of_one_input_read_twice_and_of_other_sizes(program: Program, graph: MuGraph) -> None:
    square = traced("F.softplus(x @ x.T).sum()", X)
    both = problems(square)[-1]
    assert len({d for x in both.inputs for d in x.dims}) == 2
    uneven = replace(graph, axes=tuple((a, 64 if n == 128 else n) for a, n in graph.axes))
    with pytest.raises(SignatureMismatch):
        of_program(program, uneven, "", text_of(BODY, X, Y), "f")


@pytest.mark.parametrize("body,inputs", [
    ("F.softplus(x).sum()", [X]),  # no product
    ("torch.relu(x @ y.T)", [X, Y]),  # no sum after it
    ("torch.logsumexp(x @ y.T, dim=-1)", [X, Y]),  # the maximum comes first
    ("torch.relu(x @ y.T).sum()", [("x", (100, 96), "fp16"), ("y", (90, 96), "fp16")]),  # no whole blocks
])  # fmt: skip
def test_what_has_no_blocks_is_searched_as_it_is(body: str, inputs: list) -> None:
    plain, *more = problems(traced(body, *inputs))
    new = {a for p in more for a in p.t.sizes} - set(plain.t.sizes)
    assert not any("_block" in a for a in new)


@pytest.mark.parametrize("n,block", [(4096, 128), (192, 64), (128, 64), (64, 0), (100, 0), (30522, 0)])
def test_the_size_of_a_block(n: int, block: int) -> None:
    assert block_of(n) == block

"""Products with one row: searched as products of vectors, and with the row padded to what a matrix instruction takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from workloads.traced import trace

from mirage.codegen.emit import emit_module
from mirage.devices.table import DEVICES
from mirage.errors import SignatureMismatch
from mirage.ir.program import Program
from mirage.mugraph import json_form
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.walk import parts
from mirage.pipeline.candidate_order import Tries
from mirage.pipeline.search_problems import problems, which
from mirage.plan import plan
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Search
from mirage.search.one_row import bounds_for
from mirage.verify.cases import of_program
from mirage.verify.judge import Case, judge
from mirage.verify.memory.text_opinion import text_memory_opinion

DEVICE = DEVICES["sm_90"]
HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
X, W = ("x", (1, 96), "fp16"), ("w", (96, 80), "fp16")
KV = [(n, (1, 3, 40, 16), "fp16") for n in "kv"]


def traced(body: str, *inputs: tuple[str, tuple[int, ...], str]) -> Program:
    return trace(text_of(body, *inputs), "f", list(inputs))


def text_of(body: str, *inputs: tuple[str, tuple[int, ...], str]) -> str:
    return f"{HEAD}def f({', '.join(i[0] for i in inputs)}):\n    return {body}\n"


def searched(found: Any) -> Search:
    search = Search(found, lambda g: estimate(g, DEVICE), bounds=Bounds(keep=6, tilings=2, structures=3, cuts=1))
    list(search.run())
    return search


@pytest.mark.parametrize("body,inputs,dims", [
    ("x @ w", [X, W], {"x": 0}),
    ("F.rms_norm(x, (96,), g) @ w", [X, W, ("g", (96,), "fp16")], {"x": 0}),
    ("F.silu(x @ w) * (x @ u)", [X, W, ("u", (96, 80), "fp16")], {"x": 0}),
    ("x @ w + (x @ a) @ b", [X, W, ("a", (96, 16), "fp16"), ("b", (16, 80), "fp16")], {"x": 0}),
    ("x @ w + r", [X, W, ("r", (1, 80), "fp16")], {"x": 0}),
    ("F.scaled_dot_product_attention(q, k, v)", [("q", (1, 3, 1, 16), "fp16"), *KV], {"q": 2}),
])  # fmt: skip
def test_the_row_of_a_vector_gets_an_axis(body: str, inputs: list, dims: dict[str, int]) -> None:
    program = traced(body, *inputs)
    *_, found = problems(program)
    assert found.t.sizes["row"] == 1
    assert {x.name: x.dims.index(("row",)) for x in found.inputs if ("row",) in x.dims} == dims
    assert all(("row",) in o.dims for o in found.outputs)
    posed = problems(program)
    best = searched(found).best
    assert best and all(which(posed, c.mugraph) == len(posed) - 1 for c in best)
    padded = [d.tile for c in best for part in parts(c.mugraph) for d in part.graph.dims if d.axes == ("row",)]
    assert 16 in padded
    assert all(broken_rule(c.mugraph) is None for c in best)
    assert all(which(posed, c.mugraph) == 0 for c in searched(posed[0]).best)


@pytest.mark.parametrize("body,inputs", [
    ("x @ w", [("x", (2, 96), "fp16"), W]),  # two rows have an axis as it is
    ("torch.softmax(x, dim=-1)", [X]),  # no product
    ("x @ w", [("x", (96,), "fp16"), W]),  # no dim for the row
    ("(x @ w).reshape(80)", [X, W]),  # none in what comes out
    ("x @ w.T + w @ x.T", [X, ("w", (1, 96), "fp16")]),  # one number
    ("F.scaled_dot_product_attention(k, k, v)", KV),  # many rows
])  # fmt: skip
def test_what_has_no_row_to_pad_is_searched_as_it_is(body: str, inputs: list) -> None:
    assert not any("row" in p.t.sizes for p in problems(traced(body, *inputs)))


def test_an_axis_of_that_name_is_told_from_it() -> None:
    program = trace(text_of("x @ w", X, W), "f", [(*X, ("", "row")), (*W, ("row", ""))])
    plain, found = problems(program)
    assert [n for n in found.t.sizes if n not in plain.t.sizes] == ["row_"]
    assert searched(found).best


def test_the_padded_row_is_verified_and_a_wrong_one_is_not(run: Any) -> None:
    body = "F.silu(F.rms_norm(x, (96,), g, 1e-6) @ w)"
    inputs = (X, W, ("g", (96,), "fp16"))
    program, text = traced(body, *inputs), text_of(body, *inputs)
    *_, found = problems(program)
    graph = searched(found).best[0].mugraph
    module = emit_module(program, graph, text, function="f", header={})
    assert "tl.dot(" in module
    case = Case(found.t, found.outputs, graph, module, program, text, "f")
    assert judge(case, run).accepted
    again = json_form.from_json(json_form.to_json(graph))  # as a file, which says nothing of the problem
    assert judge(of_program(program, again, module, text, "f"), run).accepted
    plain = searched(problems(program)[0]).best[0].mugraph
    assert judge(of_program(program, plain, "", text, "f"), run).accepted
    other = problems(traced(body.replace("silu", "relu"), *inputs))[-1]
    assert not judge(replace(case, t=other.t, targets=other.outputs), run).accepted
    unmasked = module.replace("in_row = (i_row < ROW) | (ROW % BLOCK_ROW == 0)", "in_row = i_row < BLOCK_ROW")
    assert unmasked != module and not judge(replace(case, module=unmasked), run).accepted


def test_an_axis_of_size_one_has_a_place_of_its_own() -> None:
    program = traced("x @ w", X, W)
    graph = next(c.mugraph for c in searched(problems(program)[-1]).best if broken_rule(c.mugraph) is None)
    assert broken_rule(graph) is None

    def with_dims(name: str, dims: tuple[tuple[str, ...], ...]) -> MuGraph:
        return replace(graph, tensors=tuple(replace(t, dims=dims) if t.name == name else t for t in graph.tensors))

    out = graph.outputs[0]
    joined = with_dims("w", tuple((*axes, "row") if i else axes for i, axes in enumerate(graph.tensor("w").dims)))
    broken = broken_rule(joined)
    assert broken is not None and "several axes, one of which has size 1" in str(broken)
    with pytest.raises(SignatureMismatch, match="of size one in its inputs and not in out"):
        of_program(program, with_dims(out.name, ((), *out.dims[1:])), "", text_of("x @ w", X, W), "f")


def test_the_padded_row_is_cut_no_more_than_the_best_vector() -> None:
    plain, padded = problems(traced("x @ w", X, W))
    best = searched(plain).best
    cut = [replace(best[0], structure="a|b", us=best[0].us / 2), *best]
    bounds = Bounds(cuts=2)
    assert [bounds_for(padded, bounds, c).cuts for c in (best, cut, [])] == [0, 1, 2]
    assert bounds_for(plain, bounds, best).cuts == 2


def test_after_a_refused_padded_row_a_vector_is_tried() -> None:
    posed = problems(traced("x @ w", X, W))
    vectors, padded = (searched(p).best for p in posed)
    tries = Tries([*padded, *vectors])
    assert tries.next() is padded[0]
    assert tries.next() in vectors


def test_the_partial_results_of_one_row_are_written_once() -> None:
    """Sixteen lanes with one row among them: the mask says which element a lane writes."""
    inputs = [("q", (2, 3, 1, 64), "fp16"), ("k", (2, 3, 512, 64), "fp16"), ("v", (2, 3, 512, 64), "fp16")]
    program = traced("F.scaled_dot_product_attention(q, k, v)", *inputs)
    search = Search(
        problems(program)[-1], lambda g: estimate(g, DEVICE), bounds=Bounds(keep=60, tilings=4, structures=6)
    )
    list(search.run())
    text = text_of("F.scaled_dot_product_attention(q, k, v)", *inputs)
    for how in ("/tail", "/kernel"):
        graph = plan(next(c for c in search.best if c.structure.endswith(how)).mugraph)
        module = emit_module(program, graph, text, function="f", header={})
        assert text_memory_opinion(graph, module, ["q", "k", "v"]).word == "PROVED"
        wide = module.replace("(i_row < ROW)", "(i_row <= ROW)", 1)
        assert wide != module and text_memory_opinion(graph, wide, ["q", "k", "v"]).word == "REJECTED"

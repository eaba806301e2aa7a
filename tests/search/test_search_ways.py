"""A fused attention of the program is searched both ways: taken apart, and as PyTorch's own call with the rest around it."""

from __future__ import annotations

import pytest
from workloads.traced import trace

from mirage.codegen.emit import emit_module
from mirage.devices.table import DEVICES
from mirage.ir.opaque_calls import fault, sizes_of
from mirage.ir.program import Program
from mirage.mugraph.check import broken_rule
from mirage.mugraph.without_calls import calls_of
from mirage.pipeline.fusion_remarks import explain
from mirage.pipeline.search_problems import problems, which
from mirage.profile.roofline import baseline, estimate
from mirage.program.library_variants import OPERATORS, ways
from mirage.search.engine import Bounds, Search
from mirage.verify.cases import of_program
from mirage.verify.judge import Case, judge

DEVICE = DEVICES["sm_90"]
HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
TEXT = (
    f"{HEAD}def f(q, k, v, w):\n    y = F.scaled_dot_product_attention(q * 0.5, k, torch.relu(v), is_causal=True)\n"
    "    return (y.transpose(1, 2).reshape(2, 24, 48) @ w).sigmoid()\n"
)
INPUTS = [*((n, (2, 3, 24, 16), "fp16") for n in "qkv"), ("w", (48, 40), "fp16")]


def traced(body: str, inputs: list) -> Program:
    return trace(f"{HEAD}def f({', '.join(i[0] for i in inputs)}):\n    return {body}\n", "f", inputs)


@pytest.fixture(scope="module")
def program() -> Program:
    return trace(TEXT, "f", INPUTS)


@pytest.fixture(scope="module")
def searches(program: Program) -> list[Search]:
    out = []
    for found in problems(program):
        out.append(Search(found, lambda g: estimate(g, DEVICE), bounds=Bounds(keep=6, tilings=2, structures=3, cuts=1)))
        list(out[-1].run())
    return out


def test_both_ways_are_searched(program: Program, searches: list[Search]) -> None:
    whole, kept = searches
    assert not any(calls_of(c.mugraph) for c in whole.best)
    for c in kept.best:
        assert broken_rule(c.mugraph) is None
        assert [k.op for k in calls_of(c.mugraph)] == ["aten.scaled_dot_product_attention.default"]
    posed = [s.problem for s in searches]
    assert [which(posed, s.best[0].mugraph) for s in searches] == [0, 1]


def test_the_kept_one_is_verified(program: Program, searches: list[Search], run) -> None:
    graph = searches[1].best[0].mugraph
    p = searches[1].problem
    module = emit_module(program, graph, TEXT, function="f", header={})
    assert "torch.ops.aten.scaled_dot_product_attention.default(" in module
    case = Case(p.t, p.outputs, graph, module, program, TEXT, "f", None, p.calls, p.returns)
    assert judge(case, run).accepted
    other = of_program(program, graph, "", "", "f")  # a µGraph from elsewhere finds the reading that it was made for
    assert judge(other, run).accepted
    wrong = searches[0].problem
    refused = judge(Case(wrong.t, wrong.outputs, graph, "", program, "", "f", None, wrong.calls, wrong.returns), run)
    assert not refused.accepted


def test_the_remark_names_the_operator(searches: list[Search]) -> None:
    found = {r.code: r for r in explain(searches[1], searches[1].best[0], 1e9, DEVICE)}
    assert "scaled_dot_product_attention stays PyTorch's own call" in found["library-kernel"].text


def test_the_call_costs_what_the_operator_does() -> None:
    inputs = [(n, (1, 8, 1024, 64), "fp16") for n in "qkv"]
    p = traced("F.scaled_dot_product_attention(q, k, v)", inputs)
    (_, kept) = problems(p)
    s = Search(kept, lambda g: estimate(g, DEVICE))
    assert s.work.calls_us == pytest.approx(baseline(p, DEVICE), rel=1e-6)


@pytest.mark.parametrize("body,attrs", [
    ("F.scaled_dot_product_attention(q, k, v)", {}),
    ("F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)", {"is_causal": True, "scale": 0.3}),
    ("F.scaled_dot_product_attention(q, k[:, :1], v[:, :1], enable_gqa=True)", {"enable_gqa": True}),
    ("F.scaled_dot_product_attention(q, q, v)", {}),
])  # fmt: skip
def test_how_it_is_called(body: str, attrs: dict) -> None:
    p = traced(body, INPUTS[:3])
    (call,) = (n for n in ways(p)[1].nodes if n.op in OPERATORS)
    assert not fault(call.op, call.attrs, len(call.args))
    given = {k: v for k, v in call.attrs if not k.startswith("_") and k not in ("query", "key", "value")}
    assert given == attrs
    for group in sizes_of(call.attrs):
        shapes = [p.type_of(call.args[i]).shape if i >= 0 else call.type.shape for i, _ in group]
        assert len({s[d] for s, (_, d) in zip(shapes, group, strict=True)}) == 1


def test_what_is_not_kept() -> None:
    three = [(n, (3, 24, 16), "fp16") for n in "qkv"]
    assert len(ways(traced("F.scaled_dot_product_attention(q, k, v)", three))) == 1  # PyTorch has no fused one for it
    assert len(ways(traced("torch.softmax(q @ k.transpose(-1, -2), -1) @ v", INPUTS[:3]))) == 1


@pytest.mark.parametrize(
    "body,dtype",
    [("(x.float() - x.float().mean()).square().sum()", "fp32"), ("(x - x.mean()).square().sum(0)", "fp16")],
)
def test_what_goes_between_kernels_is_no_narrower_than_every_output(body: str, dtype: str) -> None:
    (posed, *_) = problems(traced(body, [("x", (64, 96), "fp16")]))
    assert posed.dtype == dtype


STATISTICS = "torch.cat(((x * w.softmax(-1)).sum(-1), (x * x * w.softmax(-1)).sum(-1)), dim=1)"
ROWS = [("x", (3, 20, 300), "fp32"), ("w", (3, 20, 300), "fp32")]


def test_parts_of_the_same_rows_are_made_together_and_concatenated_by_pytorch(run) -> None:
    program = traced(STATISTICS, ROWS)
    (call,) = (n for n in ways(program)[1].nodes if n.op in OPERATORS)
    assert not fault(call.op, call.attrs, len(call.args))
    assert sizes_of(call.attrs) == (((0, 0), (1, 0), (-1, 0)),)
    found = problems(program)[1]
    search = Search(found, lambda g: estimate(g, DEVICE), bounds=Bounds(keep=6, tilings=2, structures=3, cuts=1))
    list(search.run())
    graph = search.best[0].mugraph
    assert len(graph.kernels) == 2 and [k.op for k in calls_of(graph)] == ["aten.cat.default"]
    text = f"{HEAD}def f(x, w):\n    return {STATISTICS}\n"
    module = emit_module(program, graph, text, function="f", header={})
    case = Case(found.t, found.outputs, graph, module, program, text, "f", None, found.calls, found.returns)
    assert judge(case, run).accepted
    (line,) = (x for x in module.splitlines() if "torch.ops.aten.cat.default(" in x)
    first, second = (x.strip() for x in line.split("[")[1].split("]")[0].split(","))
    for wrong in (line.replace(f"[{first}, {second}]", f"[{second}, {first}]"), line.replace("dim=1", "dim=-1")):
        assert wrong != line
        other = module.replace(line, wrong)
        refused = Case(found.t, found.outputs, graph, other, program, text, "f", None, found.calls, found.returns)
        assert not judge(refused, run).accepted


@pytest.mark.parametrize("body", [
    "torch.cat((x[..., :150] * 2, x[..., 150:] + 1), dim=-1)",  # each element is read once
    "torch.cat((x.sum(-1), w.sum(-1)), dim=1)",  # nothing is read by both
    "torch.cat((x, x * w), dim=1)",  # what both read is smaller than the whole
])  # fmt: skip
def test_a_concatenation_that_reads_nothing_again_is_written_by_kernels(body: str) -> None:
    assert len(ways(traced(body, ROWS))) == 1

"""An output that is one number, and a module of PyTorch's own calls alone, are verified as any other; wrong ones are not."""

from __future__ import annotations

import pytest

from mirage.codegen.emit import emit_module
from mirage.mugraph import json_form
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.parse import parse
from mirage.mugraph.text import to_text
from mirage.pipeline.optimize import optimize
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import Request, read, trace
from mirage.pipeline.search_problems import problem
from mirage.program.lower import lower
from mirage.results.progress import CancelToken
from mirage.results.verdict import Verdict
from mirage.verify.judge import Case, judge

HEAD = "import mirage\nimport torch\n\n\n"
ERROR = (
    HEAD
    + """@mirage.optimize(inputs=[((24, 40), "fp16"), ((24, 40), "fp16")])
def error(X, Y):
    return ((X - Y) ** 2).mean()
"""
)
PRODUCTS = (
    HEAD
    + """@mirage.optimize(inputs=[((24, 32), "fp16"), ((32, 40), "fp16"), ((40, 16), "fp16")])
def products(A, B, C):
    return A @ B @ C
"""
)
CALLS = """mugraph products
axes m=24 k=32 j=40 n=16
input A fp16 [m, k]
input B fp16 [k, j]
input C fp16 [j, n]
temp T fp16 [m, j]
output out fp16 [m, n]
library first: T = matmul(A, B)
library main: out = matmul(T, C)
"""


def judged(tools: Tools, text: str, graph: MuGraph, change: tuple[str, str] = ("", "")) -> Verdict:
    """The verdict on a µGraph and its module, in which one text is changed."""
    function = read(Request(text, "<text>", text.split("def ")[1].split("(")[0]))
    program = trace(function, "<text>", tools.runner, CancelToken())
    found = problem(program, lower(program))
    name = function.decorated.name
    module = emit_module(program, graph, function.slice.readable, function=name, header={})
    assert change[0] in module
    case = Case(found.t, found.outputs, graph, module.replace(*change), program, function.slice.text, name)
    return judge(case, lambda task, payload: tools.runner.call(task, payload, timeout_s=120.0))


def test_a_mean_over_everything_is_verified(tools: Tools):
    result = optimize(Request(ERROR, "<text>", "error", anyway=True), lambda _: None, CancelToken(), tools)
    assert result.answer == "kernel"
    text = to_text(json_form.from_json(result.mugraphs[0]))
    assert "= sub(" in text
    assert judged(tools, ERROR, parse(text)).accepted
    assert not judged(tools, ERROR, parse(text.replace("= sub(", "= add("))).accepted


@pytest.mark.parametrize("change,accepted", [(("", ""), True), (("T @ C", "T @ (C + 1)"), False)])
def test_a_module_of_calls_alone(change: tuple[str, str], accepted: bool, tools: Tools):
    verdict = judged(tools, PRODUCTS, parse(CALLS), change)
    assert verdict.accepted == accepted, verdict

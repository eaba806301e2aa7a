"""Rounding to whole numbers, eight-bit integers and flags as results of kernels: accepted as PyTorch has them, refused otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from workloads.traced import trace

from mirage.codegen.emit import emit_module
from mirage.devices.table import DEVICES
from mirage.ir.opaque_calls import is_call
from mirage.meaning.terms import Terms
from mirage.operators.pointwise import eight_bit_integer
from mirage.pipeline.search_problems import problem
from mirage.profile.roofline import estimate
from mirage.program.lower import lower
from mirage.results.verdict import Verdict
from mirage.search.engine import Bounds, Search
from mirage.verify.judge import Case, judge
from mirage.verify.semantics.program_values import run as run_program

Run = Callable[[str, dict[str, Any]], dict[str, Any]]
FEW = Bounds(keep=4, tilings=2, structures=2, cuts=0)
QUANTIZED = """import torch


def f(x):
    scale = x.abs().amax(dim=-1, keepdim=True).clamp(min=1e-5) / 127.0
    return torch.round(x / scale).clamp(-128, 127).to(torch.int8), scale, x > 0.25
"""
WRAPPED = "import torch\n\n\ndef f(x):\n    return (x * 300.0).to(torch.int8)\n"


@cache
def emitted(text: str) -> Case:
    p = trace(text, "f", [("x", (24, 40), "fp32", ("m", "k"))])
    assert not any(is_call(n.op) for n in p.nodes)
    search = Search(problem(p, lower(p)), lambda g: estimate(g, DEVICES["sm_90"]), bounds=FEW)
    list(search.run())
    graph, found = search.best[0].mugraph, search.problem
    module = emit_module(p, graph, text, function="f", header={})
    return Case(found.t, found.outputs, graph, module, p, text, "f", None, found.calls, found.returns)


def verdict(text: str, run: Run, old: str = "", new: str = "") -> Verdict:
    case = emitted(text)
    assert not old or case.module.count(old) >= 1, (old, case.module)
    return judge(replace(case, module=case.module.replace(old, new)) if old else case, run)


@pytest.mark.parametrize("text", [QUANTIZED, WRAPPED], ids=["quantized", "wrapped"])
def test_what_pytorch_gives_is_accepted(text: str, run: Run) -> None:
    found = verdict(text, run)
    assert found.accepted, [e.summary for e in found.evidence if e.word == "REJECTED"]
    assert {"field", "float", "memory"} <= {e.opinion for e in found.evidence if e.link == "text"}


@pytest.mark.parametrize(
    "text,old,new",
    [
        (QUANTIZED, "> 0.5, -tl.floor(", ">= 0.5, -tl.floor("),  # half goes up
        (QUANTIZED, "< 0.5, tl.floor(", "< 0.75, tl.floor("),
        (QUANTIZED, "tl.minimum(127.0", "tl.minimum(126.0"),
        (QUANTIZED, "0.25 <", "0.25 <="),
        (WRAPPED, "256.0 *", "255.0 *"),
    ],
)
def test_another_rounding_range_or_flag_is_refused(text: str, old: str, new: str, run: Run) -> None:
    assert not verdict(text, run, old, new).accepted


HALVES = np.array([-3.5, -2.5, -1.5, -0.5, -0.25, 0.0, 0.49999997, 0.5, 1.5, 2.5, 8388609.0, np.inf, -np.inf])
FAR = np.array([-129.5, -128.7, -128.0, -1.5, -0.5, 0.0, 0.99, 127.0, 127.99, 128.0, 200.5, 300.0, 1000.25, -70000.0])


@pytest.mark.parametrize(
    "text,x", [("torch.round(x)", HALVES), ("x.to(torch.int8)", FAR), ("x.round().to(torch.int8).float()", FAR)]
)
def test_values_are_pytorchs(text: str, x: np.ndarray) -> None:
    p = trace(f"import torch\n\n\ndef f(x):\n    return {text}\n", "f", [("x", x.shape, "fp32")])
    (got,), _ = run_program(p, [x])
    want = eval(text, {"torch": torch, "x": torch.from_numpy(x).float()})
    assert np.array_equal(got.astype(np.float64), want.double().numpy())
    assert not np.array_equal(got.astype(np.float64), x)


@pytest.mark.parametrize(
    "text", ["x.to(torch.int8) + 1", "x.to(torch.int8) * 2 == 0", "x.int()", "x.to(torch.int8)[1:]"]
)
def test_what_is_computed_with_stays_a_call(text: str) -> None:
    p = trace(f"import torch\n\n\ndef f(x):\n    return {text}\n", "f", [("x", (24, 40), "fp32")])
    assert "aten._to_copy.default" in {n.op for n in p.nodes}


def test_the_turns_are_left_out_where_the_range_is_known() -> None:
    t = Terms({"i": 8})
    x = t.input("x", ())
    near = t.fn("minimum", t.fn("maximum", t.fn("round", x), t.const(-128)), t.const(127))
    assert eight_bit_integer(t, near) == near
    beyond = t.fn("minimum", t.fn("maximum", t.fn("round", x), t.const(-129)), t.const(127))
    assert eight_bit_integer(t, beyond) != beyond
    part = t.fn("minimum", t.fn("maximum", x, t.const(-128)), t.const(127))
    assert eight_bit_integer(t, part) != part and not t.is_whole(part)

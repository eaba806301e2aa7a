"""Operators without a meaning in the table stay PyTorch's own calls: what they are given, which dims go together."""

from __future__ import annotations

import math

import pytest
import torch
from workloads.traced import trace, trace_generic

from mirage.codegen.library_text import library_call
from mirage.errors import EmissionRefused, UnknownOperator
from mirage.ir.opaque_calls import RESULT, SIZES, call_arguments, call_text, fault, is_call
from mirage.ir.program import Operation, Program
from mirage.mugraph.grammar import LibraryKernel
from mirage.program.lower import lower

HEAD = "import torch\nimport torch.nn.functional as F\n"
X, W = ("x", (6, 10), "fp32"), ("w", (10, 4), "fp32")


def traced(body: str, inputs=(X, W)) -> Program:
    arguments = ", ".join(i[0] for i in inputs)
    return trace(f"{HEAD}def f({arguments}):\n    " + body.replace("\n", "\n    ") + "\n", "f", list(inputs))


def calls(p: Program) -> list[Operation]:
    return [n for n in p.nodes if is_call(n.op)]


def given(n: Operation) -> dict:
    return {k: v for k, v in n.attrs if not k.startswith("_")}


# body -> (operator, what it is given, the dims that go together); -1 is the result
CALLS = {
    "x.cumsum(1)": ("aten.cumsum.default", {"self": "%0", "dim": 1}, {((0, 0), (-1, 0)), ((0, 1), (-1, 1))}),
    "x.cumsum(0, dtype=torch.float64)": (
        "aten.cumsum.default", {"self": "%0", "dim": 0, "dtype": "torch.float64"}, {((0, 0), (-1, 0)), ((0, 1), (-1, 1))},
    ),
    "torch.topk(x, 3)[0]": ("aten.topk.default", {"self": "%0", "k": 3}, {((0, 0), (-1, 0))}),
    "torch.atan2(x, x.exp())": (
        "aten.atan2.default", {"self": "%0", "other": "%1"},
        {((0, 0), (1, 0), (-1, 0)), ((0, 1), (1, 1), (-1, 1))},
    ),
    "torch.hypot(x, x)": ("aten.hypot.default", {"self": "%0", "other": "%0"}, {((0, 0), (-1, 0)), ((0, 1), (-1, 1))}),
    "F.conv1d(x[None], w[:, None, :3].expand(10, 6, 3))": (
        "aten.conv1d.default", {"input": "%0", "weight": "%1"}, {((1, 0), (-1, 1)), ((0, 1), (1, 1))},
    ),
    "torch.linalg.inv(w.T @ w)": ("aten.linalg_inv.default", {"A": "%0"}, {((0, 0), (0, 1), (-1, 0), (-1, 1))}),
    "F.pad(x, (1, 2), value=-float('inf'))": ("aten.pad.default", {"self": "%0", "pad": (1, 2), "value": "-inf"}, {((0, 0), (-1, 0))}),
    "x.unfold(1, 3, 1)": ("aten.unfold_copy.default", {"self": "%0", "dimension": 1, "size": 3, "step": 1}, {((0, 0), (-1, 0))}),
    "x.long()": ("aten._to_copy.default", {"self": "%0", "dtype": "torch.int64"}, {((0, 0), (-1, 0)), ((0, 1), (-1, 1))}),
    "torch.cdist(x, w.T)": (
        "aten.cdist.default", {"x1": "%0", "x2": "%1"}, {((0, 0), (-1, 0)), ((1, 0), (-1, 1)), ((0, 1), (1, 1))},
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", CALLS)
def test_what_a_call_is_given_and_which_dims_go_together(body: str) -> None:
    op, attributes, groups = CALLS[body]
    (call,) = calls(traced(f"return {body}"))
    assert (call.op, given(call)) == (op, attributes)
    assert set(call.attr(SIZES)) == groups
    assert not fault(call.op, call.attrs, len(call.args))


def test_the_text_of_a_call_computes_what_the_function_does() -> None:
    tensors = {"x": torch.randn(6, 10), "w": torch.randn(10, 4)}
    for body in (
        "torch.topk(x, 3)[0]",
        "x.cumsum(0, dtype=torch.float64)",
        "F.pad(x, (1, 2), value=-float('inf'))",
        "x.argmin()",
        "x.to(torch.int32)",
    ):
        p = traced(f"return {body}")
        (call,) = calls(p)
        made = eval(call_text(call.op, call.attrs, ["x"]), {"torch": torch}, tensors)
        want = eval(body, {"torch": torch, "F": torch.nn.functional}, tensors)
        assert made.is_contiguous() and made.dtype == want.dtype and torch.equal(made, want)


def test_one_call_is_made_once_and_another_apart() -> None:
    assert len(calls(traced("return x.cumsum(1) + x.cumsum(1)"))) == 1
    assert len(calls(traced("return x.cumsum(1) + x.cumsum(0)"))) == 2
    assert len(calls(traced("v, i = torch.sort(x)\nreturn v, i"))) == 2
    assert len(calls(traced("v, i = torch.sort(x)\nreturn v"))) == 1  # nobody asks for the places


def test_a_program_with_calls_reads_as_it_was_written() -> None:
    p = traced("v, i = torch.sort(x * 2)\nreturn v @ w, i")
    assert Program.from_dict(p.to_dict()) == p
    assert p.key != traced("v, i = torch.sort(x * 2, descending=True)\nreturn v @ w, i").key


def test_the_table_gives_the_value_and_a_call_its_place() -> None:
    p = traced("v, i = x.max(-1)\nreturn v, i")
    assert [n.op for n in p.nodes] == ["amax", "aten.max.dim"] and p.nodes[1].attr(RESULT) == 1
    assert p.type_of(p.outputs[1]).dtype == "int64"


def test_what_calls_give_is_free_and_what_they_take_is_made() -> None:
    low = lower(traced("y = (x * 2).cumsum(1)\nreturn y @ w, x.cumsum(0)"))
    (first, second) = low.calls
    assert [c.op for c in low.calls] == ["aten.cumsum.default"] * 2
    assert (first.args, first.out) == (("given0",), "call0") and (second.args, second.out) == (("x",), "out1")
    assert [(m.name, m.dims) for m in low.made] == [("given0", low.given[0].dims)]
    assert [(g.name, g.kind) for g in low.given] == [("call0", "temp"), ("out1", "output")]
    assert low.terms.inputs(low.outputs[0][0]) == {"call0", "w"} and low.terms.inputs(low.made[0].term) == {"x"}


def test_names_of_inputs_are_not_taken() -> None:
    inputs = [("call0", (6, 10), "fp32"), ("given0", (6, 10), "fp32")]
    low = lower(traced("return (call0 * given0).cumsum(1) * 2.0", inputs))
    names = [x.name for x in (*low.tensors, *low.given)] + [m.name for m in low.made]
    assert len(set(names)) == 4


def test_a_call_at_other_sizes_is_the_same_call() -> None:
    text = f"{HEAD}def f(x, w):\n    return torch.atan2(x, x * 2.0).cumsum(1) @ w\n"
    named = [("x", (6, 12), "fp32", ("a", "b")), ("w", (12, 4), "fp32", ("b", "c"))]
    assert trace_generic(text, "f", named).generic == ("a", "b", "c")  # also where two dims have one size
    top = f"{HEAD}def f(x, w):\n    return torch.topk(x, x.shape[1] // 2)[0].sum(-1)\n"
    assert "b" not in trace_generic(top, "f", named).generic


@pytest.mark.parametrize("body", ["torch.rand_like(x)", "torch.multinomial(x, 3)", "torch.bernoulli(x)"])
def test_random_numbers_are_refused(body: str) -> None:
    with pytest.raises(UnknownOperator, match="random") as raised:
        traced(f"return {body}")
    assert "pass them in" in raised.value.next_step


GIVEN = (("dim", 1), ("self", "%0"), ("names", ("a", "-inf")), ("like", "torch.float32"))


def test_a_call_is_matched_as_it_is_written() -> None:
    x = object()
    right = {"self": x, "dim": 1, "names": ["a", -math.inf], "like": torch.float32}
    assert call_arguments(GIVEN, right, 1) == [x]
    for wrong in (
        {"dim": True},
        {"dim": 1.0},
        {"dim": 2},
        {"names": ["a", math.inf]},
        {"like": torch.float64},
        {"more": 1},
    ):
        assert call_arguments(GIVEN, right | wrong, 1) is None
    two = (("a", "%0"), ("b", "%0"))
    assert call_arguments(two, {"a": x, "b": x}, 1) == [x] and call_arguments(two, {"a": x, "b": object()}, 1) is None


@pytest.mark.parametrize("op,attrs,arguments", [
    ("aten.cumsum", (("self", "%0"),), 1), ("aten.cumsum.default", (("self", "%1"),), 1), ("aten.cumsum.default", (), 1),
    ("aten.f.default;import os", (("self", "%0"),), 1), ("aten.cumsum.default", (("self", "%0"), ("x=1,y", 2)), 1),
    ("aten.cumsum.default", (("self", "%0"), ("_other", 2)), 1), ("aten.cumsum.default", (("self", "%0"), ("_sizes", ((1, 2),))), 1),
    ("aten.sort.default", (("self", "%0"), ("_result", "0].data")), 1),
])  # fmt: skip
def test_what_is_no_call_is_not_emitted(op: str, attrs: tuple, arguments: int) -> None:
    assert fault(op, attrs, arguments)
    with pytest.raises(EmissionRefused):
        library_call(LibraryKernel("k", op, ("x",) * arguments, "y", attrs), {"x": "x", "y": "y"})

"""Reshapes without named axes become calls, as few as there can be, and the function keeps its meaning."""

from __future__ import annotations

import pytest
import torch
from workloads.traced import trace, trace_generic

from mirage.errors import UnsupportedReshape
from mirage.ir.opaque_calls import SIZES, call_text, fault, is_call
from mirage.ir.program import Program
from mirage.program.kept_reshapes import RESHAPE, lowerable

HEAD = "import torch\nimport torch.nn.functional as F\n"


def traced(body: str, *shape: int) -> Program:
    return trace(f"{HEAD}def f(x):\n    return {body}\n", "f", [("x", shape, "fp32")])


# body -> the shape of x, and how many reshapes are calls
CUT = {
    "x.reshape(-1)[3:9]": ((5, 7), 1),
    "x.reshape(7, 5) @ x": ((5, 7), 1),
    "x + x.reshape(7, 5).T": ((5, 7), 1),
    "(2 * x).view(3, 4, 7, 5)[:, :, 1:].reshape(3, 4, 5, 6) * 2": ((3, 4, 5, 7), 2),
    "x.reshape(6, 4, 2)[..., 0] + x.reshape(4, 12)[:, 5:11].T": ((6, 8), 1),
}


@pytest.mark.parametrize("body", CUT)
def test_only_what_cuts_across_is_a_call(body: str) -> None:
    shape, count = CUT[body]
    program = traced(body, *shape)
    made, lowered = lowerable(program)
    kept = [n for n in made.nodes if is_call(n.op)]
    assert [n.op for n in kept] == [RESHAPE] * count == [c.op for c in lowered.calls]
    assert [made.type_of(x) for x in made.outputs] == [program.type_of(x) for x in program.outputs]
    for n in kept:
        assert n.line == 4 and not fault(n.op, n.attrs, 1)
        given = torch.randn(made.type_of(n.args[0]).shape)
        want = given.reshape(n.type.shape)
        assert torch.equal(eval(call_text(n.op, n.attrs, ["given"]), {"torch": torch}, {"given": given}), want)


@pytest.mark.parametrize("body", ["x.reshape(-1)[7:14]", "x.reshape(35) * 2", "x.reshape(1, 5, 1, 7) @ x.T"])
def test_what_has_axes_is_no_call(body: str) -> None:
    program = traced(body, 5, 7)
    assert lowerable(program)[0] is program


def test_the_dims_in_front_may_have_any_size() -> None:
    (call, *_) = [
        n for n in lowerable(traced("x.view(3, 4, 7, 5)[:, :, 1:].exp()", 3, 4, 5, 7))[0].nodes if is_call(n.op)
    ]
    assert call.attr("size") == (-1, 7, 5) and call.attr(SIZES) == (((0, 0), (-1, 0)),)
    text = f"{HEAD}def f(x):\n    return x.reshape(x.shape[0], 7, 5)[:, 1:]\n"
    assert trace_generic(text, "f", [("x", (3, 5, 7), "fp32", ("b", "", ""))]).generic == ("b",)
    fixed = f"{HEAD}def f(x):\n    return x.reshape(-1)[3:9]\n"
    assert trace_generic(fixed, "f", [("x", (3, 5), "fp32", ("b", ""))]).generic == ()


def test_what_no_reshape_of_the_function_causes_is_refused() -> None:
    with pytest.raises(UnsupportedReshape) as raised:
        lowerable(traced("x.repeat_interleave(2, 1)[:, 1:4]", 5, 7))
    assert raised.value.line == 4

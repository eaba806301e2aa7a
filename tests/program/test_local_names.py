"""What the source calls its values: which node of a program gets which name, and what names are not for."""

from __future__ import annotations

import pytest
from workloads.traced import trace

from mirage.ir.program import Program
from mirage.program.builder import expand

HEAD = "import torch\nimport torch.nn.functional as F\n\n\ndef twice(v):\n    inner = v * 2\n    return inner\n\n\n"
XW = [("x", (5, 7), "fp32"), ("w", (7, 11), "fp32")]


def program(*body: str) -> Program:
    return trace(HEAD + "def f(x, w):\n    " + "\n    ".join(body) + "\n", "f", XW)


def names(p: Program) -> dict[str, str]:
    """The operator that makes each named value."""
    return {n.name: n.op for n in p.nodes if n.name}


@pytest.mark.parametrize(
    ("body", "want"),
    {
        "assigned": (["projected = x @ w", "return projected.relu()"], {"projected": "matmul"}),
        "the last": (["y = x @ w", "z = F.relu(y)", "return z"], {"y": "matmul", "z": "relu"}),
        "bound again": (["h = x.exp()", "h = h @ w", "return h.sum(1)"], {"h": "matmul"}),
        "of several": (["a, b = x.exp(), x.abs()", "return (a + b) @ w"], {"a": "exp", "b": "abs"}),
        "the first of two": (["a = x.exp()", "b = a", "return b @ w"], {"a": "exp"}),
        "the caller's": (["doubled = twice(x)", "return doubled @ w"], {"doubled": "mul"}),
        "a helper's": (["return twice(x) @ w"], {"inner": "mul"}),
        "in a loop": (["y = x", "for i in range(2):", "    y = y.exp()", "return y @ w"], {"y": "exp"}),
        "none": (["return x.exp() @ w"], {}),
        "an input's": (["y = x", "return y @ w"], {}),
    }.values(),
)  # fmt: skip
def test_a_value_has_the_name_that_it_is_bound_to(body: list[str], want: dict[str, str]) -> None:
    assert names(program(*body)) == want


def test_names_decide_nothing_and_travel() -> None:
    """Programs that differ in names alone are one; what is written and expanded keeps them."""
    one, other = (program(f"{n} = F.softmax(x, 1)", f"return {n} @ w") for n in ("rows", "columns"))
    assert one.key == other.key and one == other and names(one) != names(other)
    assert names(Program.from_dict(one.to_dict())) == names(one)
    assert {n.name for n in expand(one).nodes} == {"", "rows"}


def test_a_name_that_is_no_text_is_refused() -> None:
    data = program("y = x @ w", "return y").to_dict()
    data["nodes"][-1]["name"] = 3  # type: ignore[index, call-overload]
    with pytest.raises(TypeError):
        Program.from_dict(data)

"""Tracing: what a text becomes, and each mistake as a coded error at its line."""

from __future__ import annotations

import pytest
import torch
from program.numeric import draw, values
from workloads.traced import trace, trace_generic

from mirage.errors import (
    DataDependentBranch,
    DtypeMix,
    InPlaceEdit,
    MirageError,
    RankMismatch,
    SideEffect,
    SourceSyntaxError,
    TraceFailed,
    UnknownOperator,
    UnsafeReference,
    UnsupportedOperands,
    UnsupportedOutput,
    UnsupportedReshape,
    ZeroSizeAxis,
)
from mirage.ir.program import Program
from mirage.program import meta_kernels
from mirage.program.load_function import load
from mirage.program.lower import lower
from mirage.program.reference import reference
from mirage.program.trace_task import trace_task as task

HEAD = "import torch\nimport torch.nn.functional as F\n"
XW = [("x", (5, 7), "fp32"), ("w", (7, 11), "fp32")]


def text(body: str) -> str:
    """A function whose body begins at line 4."""
    return f"{HEAD}def f(x, w):\n    " + body.replace("\n", "\n    ") + "\n"


# (body, inputs, error, line, part of the message): beside each stands a twin that is accepted
MISTAKES = {
    "branch": ("if x.sum() > 0:\n    return x\nreturn -x", XW, DataDependentBranch, 4, "value of a tensor"),
    "item": ("y = x * 2\nreturn y * float(x.max())", XW, DataDependentBranch, 5, ""),
    "contracted": ("y = x + 1\nreturn y @ w.T", XW, RankMismatch, 5, ""),
    "broadcast": ("return x + w", XW, RankMismatch, 4, ""),
    "view": ("return x.view(6, 6)", XW, RankMismatch, 4, ""),
    "dim": ("return x.sum(3)", XW, RankMismatch, 4, ""),
    "dtypes": ("return x @ w", [XW[0], ("w", (7, 11), "fp16")], DtypeMix, 4, "fp32 and fp16"),
    "linear": ("return F.linear(x, w.T)", [XW[0], ("w", (7, 11), "bf16")], DtypeMix, 4, ""),
    "random": ("y = x\n\nreturn torch.bernoulli(y)", XW, UnknownOperator, 6, "draws random numbers"),
    "made of nothing": ("return x @ w + torch.tril_indices(3, 3).sum()", XW, UnknownOperator, 4, "takes no tensor"),
    "strides": ("return x.as_strided((3, 3), (1, 1))", XW, UnknownOperator, 4, "shares memory"),
    "training": ("return F.batch_norm(x, None, None, training=True)", XW, UnknownOperator, 4, "may change a tensor"),
    "channels": ("return F.batch_norm(x, w[0], w[1])", XW, MirageError, 4, ""),
    "by values": ("return torch.nonzero(x)", XW, UnknownOperator, 4, ""),
    "complex": ("return torch.fft.fft(x)", XW, UnsupportedOperands, 4, "complex64"),
    "indexed": ("return x[w[:, 0] > 0]", XW, MirageError, 4, ""),
    "input": ("x += 1\nreturn x", XW, InPlaceEdit, 4, "`x`"),
    "input view": ("y = x.T\ny.mul_(2)\nreturn y", XW, InPlaceEdit, 5, "`x`"),
    "input behind a part": ("y = x * 1\ny[:, 0] = 0\nx[0] = 1\nreturn y", XW, InPlaceEdit, 6, "`x`"),
    "print": ("print(x)\nreturn x", XW, SideEffect, 4, "print"),
    "open": ("open('/tmp/never', 'w')\nreturn x", XW, SideEffect, 4, "open"),
    "import": ("import os\nreturn x", XW, SideEffect, 4, "os"),
    "exec": ("exec('1')\nreturn x", XW, SideEffect, 4, "exec"),
    "numpy": ("return torch.tensor(x.numpy())", XW, SideEffect, 4, "numpy"),
    "number": ("return 3.0", XW, UnsupportedOutput, 3, "float"),
    "nothing": ("x + 1", XW, UnsupportedOutput, 3, "NoneType"),
    "dict": ("return {'x': x}", XW, UnsupportedOutput, 3, "dict"),
    "raises": ("return x.nothing_like_it()", XW, TraceFailed, 4, "nothing_like_it"),
    "dropout": ("return F.dropout(x, 0.5)", XW, UnsupportedOperands, 4, "random"),
    "zero": ("return x", [("x", (0, 7), "fp32"), XW[1]], ZeroSizeAxis, None, "`x`"),
    "empty slice": ("return x[:, 3:3]", XW, MirageError, 4, ""),
    "missing": ("return x", XW[:1], TraceFailed, None, "`w`"),
}
TWINS = {
    "branch": ("return torch.where(x.sum() > 0, x, -x)", XW),
    "item": ("y = x * 2\nreturn y * x.max()", XW),
    "contracted": ("y = x + 1\nreturn y @ w", XW),
    "broadcast": ("return x + w[:, 0]", XW),
    "view": ("return x.view(7, 5) if x.shape[0] == 7 else x.view(35)", XW),
    "dtypes": ("return x @ w.to(x.dtype)", [XW[0], ("w", (7, 11), "fp16")]),
    "random": ("y = x\n\nreturn torch.cumsum(y, 0)", XW),
    "made of nothing": ("return x @ w @ torch.linalg.inv(w.T @ w)", XW),
    "strides": ("return x.unfold(1, 3, 1)", XW),
    "training": ("return F.layer_norm(x, (7,))", XW),
    "channels": ("return F.batch_norm(x, w[:, 0], w[:, 1])", XW),
    "to integers": ("return x.round().to(torch.int8), x.long() * x", XW),
    "by values": ("return torch.topk(x, 3)", XW),
    "complex": ("return torch.special.bessel_j0(x)", XW),
    "in integers": ("return torch.gather(x, 1, torch.argsort(x))", XW),
    "with integers": ("return x * torch.argsort(x)", XW),
    "of integers": ("return x * w", [XW[0], ("w", (5, 7), "int64")]),
    "input": ("x = x + 1\nreturn x", XW),
    "input view": ("y = x.T * 1\ny.mul_(2)\nreturn y", XW),
    "print": ("y = x\nreturn y", XW),
    "number": ("return x * 3.0", XW),
    "dropout": ("return F.dropout(x, 0.5, training=False)", XW),
    "zero": ("return x", XW),
    "index": ("return x * w", [XW[0], ("w", (5, 7), "bool")]),
    "argmax": ("v, i = x.max(-1)\nreturn v, i", XW),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_coded_and_placed(name: str) -> None:
    body, inputs, error, line, part = MISTAKES[name]
    with pytest.raises(error) as raised:
        trace(text(body), "f", inputs, path="user.py")
    assert raised.value.line == line
    assert raised.value.path == "user.py"
    assert part in raised.value.message
    assert raised.value.next_step


@pytest.mark.parametrize("name", TWINS)
def test_twins_are_accepted(name: str) -> None:
    body, inputs = TWINS[name]
    assert trace(text(body), "f", inputs).outputs


def test_text_that_does_not_parse_or_imports_what_it_may_not() -> None:
    with pytest.raises(SourceSyntaxError) as raised:
        trace("def f(x, w):\n    return x +\n", "f", XW)
    assert raised.value.line == 2
    with pytest.raises(UnsafeReference) as refused:
        trace("import subprocess\n" + text("return x"), "f", XW)
    assert refused.value.line == 1


def test_lines_follow_the_map() -> None:
    program = trace(text("y = x * 2\nreturn y @ w"), "f", XW, line_offset=100)
    assert [n.line for n in program.nodes if n.op != "const"] == [104, 105]
    with pytest.raises(RankMismatch) as raised:
        trace(text("return x @ x"), "f", XW, lines={4: 40})
    assert raised.value.line == 40


def test_in_place_edits_of_own_tensors_are_values() -> None:
    program = trace(text("y = x + 1\ny += x\ny.mul_(2)\ny.relu_()\nreturn y, torch.zeros_like(x).add_(x)"), "f", XW)
    inputs = draw(XW)
    got = values(program, inputs)
    x = torch.tensor(inputs["x"])
    assert torch.allclose(torch.tensor(got[0]), torch.relu((x + 1 + x) * 2))
    assert torch.allclose(torch.tensor(got[1]), x)
    assert program.returns_tuple


@pytest.mark.parametrize("body", [
    "y = x.type_as(x)\ny.add_(1)\nreturn y", "y = x[:, ::7]\ny.mul_(2)\nreturn y", "y, z = x.chunk(2)\ny.add_(1)\nreturn y",
    "y = F.dropout(x, 0.5, False)\ny.add_(1)\nreturn y", "y = x.float()\ny.add_(1)\nreturn y",
])  # fmt: skip
def test_an_alias_of_an_input_is_the_input(body: str) -> None:
    with pytest.raises(InPlaceEdit) as raised:
        trace(text(body), "f", XW)
    assert raised.value.line == 5
    assert trace(text(body.replace("y.add_(1)", "y = y + 1").replace("y.mul_(2)", "y = y * 2")), "f", XW).outputs
    assert trace(text("y = x.clone()\ny.add_(1)\nz = x.half()\nz.mul_(2)\nreturn y, z"), "f", XW).outputs


def test_a_view_sees_edits_before_it_and_after_it() -> None:
    inputs = draw(XW)
    for body in ("y.mul_(2)\nz = y.T", "z = y.T\ny.mul_(2)"):
        program = trace(text(f"y = x + 1\n{body}\nreturn z"), "f", XW)
        assert abs(values(program, inputs)[0] - (inputs["x"].T + 1) * 2).max() < 1e-12


@pytest.mark.parametrize(
    "view",
    [
        "torch.broadcast_tensors(y, w[:, 0])[0]",
        "F.dropout(y, 0.5, False)",
        "torch.einsum('ij->ji', y)",
    ],
)
def test_memory_that_no_schema_calls_shared_is_not_written_to(view: str) -> None:
    """PyTorch's own graph without writes takes them for tensors of their own."""
    assert trace(text(f"y = x + 1\nz = {view}\nreturn z"), "f", XW).outputs
    for edit in ("y[:, :2].mul_(2)", "z[:1].mul_(2)"):
        with pytest.raises(MirageError):
            trace(text(f"y = x + 1\nz = {view}\n{edit}\nreturn z, y"), "f", XW)


def test_a_narrowing_is_an_event_unless_the_inputs_have_that_dtype() -> None:
    def casts(program: Program) -> list[bool]:
        return [bool(n.attr("event")) for n in program.nodes if n.op == "cast"]

    half = [("x", (5, 7), "fp16"), ("w", (7, 11), "fp16")]
    own = trace(text("return (x.float() * 2).to(torch.float16)"), "f", half)
    assert casts(own) == [False, False]
    assert "more precision" in own.notes[0]
    foreign = trace(text("return (x * 2).to(torch.float8_e4m3fn).to(x.dtype)"), "f", half)
    assert casts(foreign) == [True, False]
    lowered = lower(foreign)
    assert "round_fp8e4m3" in lowered.terms.show(lowered.outputs[0][0])
    assert casts(trace(text("return (x * 2).to(torch.bfloat16)"), "f", XW)) == [True]


def test_rounding_to_8_bits_is_refused_where_pytorch_does_not_saturate(monkeypatch: pytest.MonkeyPatch) -> None:
    half = [("x", (5, 7), "fp16"), ("w", (7, 11), "fp16")]
    cast = text("return (x * 2).to(torch.float8_e4m3fn)")
    assert trace(cast, "f", half).nodes
    with pytest.raises(
        UnsupportedOperands, match="rounds to float8_e5m2: kernels saturate where this PyTorch gives inf"
    ):
        trace(cast.replace("e4m3fn", "e5m2"), "f", half)
    monkeypatch.setattr("mirage.program.trace._too_large", lambda dtype: float("nan"))
    with pytest.raises(UnsupportedOperands, match=r"rounds to float8_e4m3fn: .* gives nan"):
        trace(cast, "f", half)
    stored = [("x", (5, 7), "fp8e4m3"), half[1]]
    assert trace(text("return x.t().contiguous()"), "f", stored).nodes  # it is moved, not rounded
    with pytest.raises(UnsupportedOperands, match="`relu` computes in float8_e4m3fn"):
        trace(text("return torch.relu(x)"), "f", stored)


def test_defaults_and_constants() -> None:
    source = f"{HEAD}def f(x, eps=1e-5, n=2):\n    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * n\n"
    numbers = [n.attr("value") for n in trace(source, "f", XW[:1]).nodes if n.op == "const"]
    assert numbers == [1e-5, 2]
    given = trace(source, "f", XW[:1], {"n": 3})
    assert [n.attr("value") for n in given.nodes if n.op == "const"] == [1e-5, 3]


def test_named_dims_are_generic_where_the_meaning_stays() -> None:
    named = [("x", (5, 7), "fp32", ("b", "h")), ("w", (7, 11), "fp32", ("h", ""))]
    program = trace_generic(text("return F.rms_norm(x, (x.shape[-1],), None, 1e-6) @ w"), "f", named)
    assert program.generic == ("b", "h")
    scaled = trace_generic(text("return (x @ w) / x.shape[-1]"), "f", named)
    assert scaled.generic == ("b",)
    assert "`h`" in scaled.notes[0]
    branched = trace_generic(text("return x * 2 if x.shape[0] > 6 else x"), "f", named)
    assert branched.generic == ("h",)
    fixed = trace_generic(text("return x.view(5, 7, 1)"), "f", named)
    assert fixed.generic == ()


def test_the_task_takes_and_gives_plain_data() -> None:
    payload = {
        "text": text("return x @ w"), "function": "f", "path": "user.py",
        "inputs": [{"name": n, "shape": list(s), "dtype": d, "names": ["b", ""] if n == "x" else []} for n, s, d in XW],
    }  # fmt: skip
    program = Program.from_dict(task(payload)["program"])
    assert [n.op for n in program.nodes] == ["matmul"]
    assert program.generic == ("b",)
    with pytest.raises(UnsupportedReshape) as raised:
        task({**payload, "text": text("return x.repeat_interleave(2, 1)[:, 1:4] + w[:5, :3]")})
    assert raised.value.path == "user.py"


ROWS = "return F.nll_loss(x, x[:, 0].argsort(), w[:, 0], reduction='none')"
MARGINS = "F.margin_ranking_loss(x, x * 2, x.sign(), reduction='none')"


@pytest.mark.parametrize(
    "body", [ROWS, f"{ROWS} * 2", f"return {MARGINS} * F.hinge_embedding_loss(x, x.sign(), reduction='none')"]
)
def test_losses_that_are_not_reduced_have_their_own_shape(body: str) -> None:
    program = trace(text(body), "f", XW)
    assert program.type_of(program.outputs[0]).shape == ((5,) if "nll" in body else (5, 7))


def test_a_shape_that_a_call_does_not_give_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meta_kernels, "MISREAD", ())
    for body in (ROWS, f"{ROWS} * 2"):
        with pytest.raises(UnsupportedOperands, match="trace has") as raised:
            trace(text(body), "f", XW)
        assert raised.value.line == 4


def test_equal_functions_have_equal_keys() -> None:
    a = trace(text("return x @ w * 2"), "f", XW)
    b = trace(
        "import torch\ndef g(a, b):\n    return torch.mul(a.matmul(b), 2)\n",
        "g",
        [("a", *XW[0][1:]), ("b", *XW[1][1:])],
    )
    c = trace(text("return x @ w * 2.5"), "f", XW)
    assert a.key == b.key != c.key


def test_reference_runs_natively_and_in_float64() -> None:
    x = torch.tensor([1.0, 1e-4], dtype=torch.float16)
    source = f"{HEAD}def f(x):\n    return x + 1000\n"
    assert reference(source, "f")([x])[0].dtype == torch.float16
    (exact,) = reference(source, "f", exact=True)([x])
    assert exact.dtype == torch.float64 and exact[1] != 1000
    with pytest.raises(SideEffect):
        reference(f"{HEAD}def f(x):\n    print(x)\n", "f")([x])


def test_imports_of_torch_itself_pass_while_the_function_runs() -> None:
    """C++ code of torch calls the running frame's __import__, with a list of names: not the user's statement."""

    def calls(name: str, names: str) -> object:
        return load(f"def f(x):\n    return __import__({name!r}, {{}}, {{}}, {names}, 0)\n", "f")(1)

    assert calls("torch", "[]") is torch
    for name, names, error in (
        ("torch", "()", SideEffect),
        ("torch", "None", SideEffect),
        ("os", "[]", UnsafeReference),
    ):
        with pytest.raises(error):
            calls(name, names)


def test_a_form_that_no_expansion_covers_is_refused_with_its_line() -> None:
    program = trace(text("return torch.linalg.vector_norm(x, 2, dim=1)"), "f", XW)
    assert lower(program).outputs
    with pytest.raises(UnsupportedOperands, match="order 3") as raised:
        lower(trace(text("return torch.linalg.vector_norm(x, 3, dim=1)"), "f", XW))
    assert raised.value.line == 4

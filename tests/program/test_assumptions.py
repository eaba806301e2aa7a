"""What a traced text asks that shapes and dtypes do not fix: it is known, and no program rests on it unseen."""

from __future__ import annotations

import json

import pytest
from workloads.traced import trace, trace_generic

from mirage.errors import MirageError, SideEffect, TraceFailed, UnfixedAnswer
from mirage.ir.program import Program
from mirage.verify.report import lines
from mirage.verify.two_programs import compare

HEAD = "import math\n\nimport torch\nimport torch.nn.functional as F\n\n\n"
X = [("x", (6, 64), "fp32", ("b", "h"))]


def text(body: str) -> str:
    """A function whose body begins at line 8."""
    return f"{HEAD}def f(x):\n    " + body.replace("\n", "\n    ") + "\n"


def traced(body: str) -> Program:
    return trace_generic(text(body), "f", X)


# what is asked, and a part of the message
UNFIXED = [
    ("x.stride(0) == 64", "strides of `x`"), ("x.stride() == (64, 1)", "strides"), ("x.T.stride(0) == 1", "strides"),
    ("x.is_contiguous(memory_format=torch.channels_last)", "strides"),
    ("x.device.type == 'cuda'", "device of `x`"), ("x.device == torch.device('cuda')", "device"), ("x.is_cuda", "device"),
    ("x.is_cpu", "device"), ("str(x.device) == 'cpu'", "device"), ("f'{x.device}' == 'cpu'", "device"),
    ("torch.device(x.device).type == 'cuda'", "device"), ("x.device.index == 1", "device"), ("x.get_device() == 0", "device"),
    ("'cuda' in x.device.type", "device"), ("{'cuda': 1}.get(x.device.type)", "device"),
    ("x.requires_grad", "gradient of `x`"), ("(x * 2).requires_grad", "a computed tensor"), ("x.is_leaf", "gradient"),
    ("x.grad is None", "gradient"), ("x.grad_fn is not None", "gradient"),
    ("torch.is_grad_enabled()", "gradient mode"), ("getattr(torch, 'is_grad' + '_enabled')()", "gradient mode"),
    ("F.torch.is_grad_enabled()", "gradient mode"), ("torch.is_inference_mode_enabled()", "gradient mode"),
    ("torch.is_autocast_enabled()", "autocast"), ("torch.is_autocast_enabled('cuda')", "autocast"),
    ("torch.get_autocast_dtype('cuda') == torch.float16", "autocast"),
    ("torch.get_default_dtype() == torch.float32", "default dtype"),
    ("x.layout == torch.strided", "layout"), ("x.is_sparse", "layout"), ("x.is_conj()", "layout"),
    ("x.data_ptr() % 16 == 0", "memory"), ("x.storage_offset() == 0", "memory"), ("id(x) % 2 == 0", "memory"),
    ("x.untyped_storage().nbytes() > 99", "memory"), ("x.contiguous() is x", "memory"), ("x.clone() is not x", "memory"),
    ("isinstance(x, torch.nn.Parameter)", "class of `x`"), ("type(x) is torch.nn.Parameter", "class"),
    ("x.__class__ == torch.Tensor", "class"), ("hasattr(x, 'scale')", "attributes"), ("getattr(x, 'scale', None)", "attributes"),
    ("x._base is not None", "memory"), ("x._is_view()", "memory"), ("x.__dict__", "attributes"),
    ("x.type() == 'torch.FloatTensor'", "class"),
    ("torch.backends.cuda.matmul.allow_tf32", "torch.backends.cuda.matmul"), ("torch.backends.cudnn.enabled", "setting"),
    ("torch.backends.cuda.flash_sdp_enabled()", "setting"), ("torch.get_float32_matmul_precision() == 'high'", "setting"),
    ("torch.are_deterministic_algorithms_enabled()", "setting"), ("torch.get_num_threads() > 1", "setting"),
    ("torch.cuda.is_available()", "setting"), ("torch.__version__ > '2'", "setting"), ("torch.version.cuda", "setting"),
    ("torch.compiler.is_compiling()", "setting"), ("torch.jit.is_tracing()", "setting"),
    ("torch.initial_seed() == 1", "setting"),
]  # fmt: skip


@pytest.mark.parametrize("asked,part", UNFIXED)
def test_an_answer_that_nothing_fixes_decides_nothing_unseen(asked: str, part: str) -> None:
    with pytest.raises(UnfixedAnswer, match="MIR210") as raised:
        traced(f"return x * 2 if {asked} else x")
    assert part in raised.value.message
    assert raised.value.line == 8
    fixed = traced(f"_ = {asked}\nreturn x * 2" if _is_yes_or_no(asked) else "return x * 2")
    assert not fixed.assumptions  # asked, and nothing follows from the answer
    assert [n.op for n in fixed.nodes] == ["const", "mul"]


def _is_yes_or_no(asked: str) -> bool:
    return asked.startswith(("torch.is_", "x.is_")) and "grad is" not in asked and "is_contiguous(m" not in asked


# an answer in other places than a test
BODIES = [
    "c = x.is_cuda\ny = x\nif c:\n    y = x * 2\nreturn y",
    "return x * float(torch.is_grad_enabled())",
    "return (x, x * 2)[x.requires_grad]",
    "return x * (torch.is_autocast_enabled() + 1)",
    "return x.exp() if x.is_cuda != torch.is_grad_enabled() else x",
    "while torch.is_grad_enabled():\n    return x\nreturn x * 2",
    "assert not torch.is_autocast_enabled()\nreturn x",
    "return {True: x, False: x * 2}[x.is_cuda]",
    "return x * x.stride(0)",
    "return x.sum([0, 1][: 2 - x.is_leaf])",
    "try:\n    return x.view(-1)\nexcept RuntimeError:\n    return x * 2",
    "def inner(y):\n    return y * 2 if y.is_cuda else y\nreturn inner(x)",
    "return sum([y if y.is_cuda else y * 2 for y in (x, x * 3)])",
]


@pytest.mark.parametrize("body", BODIES)
def test_answers_decide_in_any_place(body: str) -> None:
    with pytest.raises(UnfixedAnswer):
        traced(body)


# the same computations without a question, and questions that PyTorch asks by itself or that decide nothing
PLAIN = [
    "return x * torch.ones(x.shape[-1], device=x.device, dtype=x.dtype)",
    "m = torch.arange(x.shape[1], device=x.device)\nreturn x.masked_fill(m[None, :] < 5, 0.0)",
    "return x.to(x.device) + x.new_zeros(x.shape)",
    "d = torch.device(x.device)\nassert isinstance(d, torch.device)\nreturn x + torch.zeros(x.shape, device=d)",
    "y = x.exp()\nassert y.device == x.device\nreturn y",
    "y = x if x.is_contiguous() else x.contiguous()\nreturn y * 2",
    "return x * 2 if x.is_cuda else 2 * x",
    "if torch.is_grad_enabled():\n    return x + x\nreturn x + x",
    "return x * 2 if x.dtype == torch.float32 and x.is_floating_point() and x.dim() == 2 else x",
    "return F.scaled_dot_product_attention(x[None], x[None], x[None])",
    "return F.layer_norm(x, x.shape[-1:])",
    "return F.rms_norm(x, (x.size(-1),), None, torch.finfo(x.dtype).eps)",
    "return F.multi_head_attention_forward.__name__ and F.softmax(x, -1, dtype=torch.float32)",
    "return torch.nn.functional.dropout(x, 0.1, False)",
    "return torch.einsum('bh,bh->b', x, x)",
    "return torch.add(x, torch.pi)",
    "assert hasattr(x, 'shape') and type(x.dim()) is int\nreturn getattr(x, 'exp')()",
    "y = None\nif y is None:\n    y = x\nreturn y * 2",
    "a, b = x.chunk(2, -1)\nreturn F.silu(a) * b",
]


@pytest.mark.parametrize("body", PLAIN)
def test_what_decides_nothing_is_not_assumed(body: str) -> None:
    assert not traced(body).assumptions


def test_contiguity_is_assumed_where_it_decides() -> None:
    program = traced("return x * 2 if x.is_contiguous() else x")
    (assumed,) = program.assumptions
    assert (assumed.kind, assumed.subject, assumed.answer, assumed.line) == ("contiguity", "x", "True", 8)
    assert assumed.words == "assumed: line 8: for contiguous x"
    assert program.rests_on == program.assumptions
    again = Program.from_dict(json.loads(json.dumps(program.to_dict())))
    assert again.assumptions == program.assumptions
    plain = traced("return x * 2")
    assert "assumptions" not in plain.to_dict() and plain.nodes == program.nodes
    assert plain.key != program.key == again.key


@pytest.mark.parametrize("inner", ["x * 3 if x.is_cuda else x", "x * x.stride(0)", "x if x.requires_grad else x * 2"])
def test_questions_behind_an_answer_that_is_assumed(inner: str) -> None:
    program = traced(f"if not x.is_contiguous():\n    return {inner}\nreturn x * 2")
    assert [(a.kind, a.answer) for a in program.assumptions] == [("contiguity", "True")]
    with pytest.raises(UnfixedAnswer, match="contiguity"):
        compare(program, traced("return x * 2"))
    with pytest.raises(UnfixedAnswer):
        traced(f"if x.is_contiguous():\n    return {inner}\nreturn x * 2")


def test_two_functions_are_not_compared_where_one_asks() -> None:
    asks, plain = traced("return x * 2 if x.is_contiguous() else x"), traced("return x * 2")
    for a, b in ((asks, plain), (plain, asks), (asks, asks)):
        with pytest.raises(UnfixedAnswer, match="contiguity of x") as raised:
            compare(a, b)
        assert raised.value.line == 8
    assert compare(plain, traced("return x + x")).headline == "PROVED (all sizes)"
    same = traced("return x.contiguous() * 2 if not x.is_contiguous() else 2 * x")
    assert compare(plain, same).headline == "PROVED (all sizes)"


def test_a_computed_dtype_is_said_to_hang_on_modes() -> None:
    program = traced("return x * 2 if (x @ x.T).dtype != torch.bfloat16 else x")
    assert [(a.kind, a.line) for a in program.assumptions] == [("dtype", 8)]
    verdict = compare(program, traced("return x + x"))
    assert verdict.headline == "PROVED (all sizes)"
    assert any("without autocast" in n for n in lines(verdict, "f", "g"))
    assert program.key == traced("return x * 2").key
    assert not traced("return (x * 2).to(x.dtype)").assumptions


# a test of sizes whose answer is the same at all sizes that are traced
READS = [
    "x.shape[0] > 2", "x.shape[0] < 1 << 40", "x.shape[0] % 2 == 0", "len(x) > 2", "x.size(1) >= 3", "x.numel() > 8",
    "x.size()[0] != 1", "x.shape[0] * 2 > 5", "x.shape[1] / 2 > 3", "math.sqrt(x.shape[1]) > 2", "math.prod(x.shape) > 9",
    "int(x.shape[0]) > 2", "float(x.shape[0]) > 2", "x.shape[0] not in (1, 2)", "min(x.shape[0], 4) == 4", "x.nbytes > 9",
    "x.shape.numel() > 3", "x[:, 1:].shape[1] > 3", "x.shape[0] // 1000000 == 0", "bool(x.shape[0])", "sum(x.shape) > 9",
    "str(x.shape[0]) != '1'", "{1: False}.get(x.shape[0], True)", "x.shape[1:] != (1,)", "(x.shape[0] - 1).bit_length() > 1",
    "max(range(x.shape[0])) > 2", "round(x.shape[0] / 3) > 1", "math.isfinite(x.shape[0])", "divmod(x.shape[1], 2)[1] == 0",
]  # fmt: skip


@pytest.mark.parametrize("asked", READS)
def test_a_test_of_a_size_is_never_about_all_sizes(asked: str) -> None:
    program = traced(f"return x * 2 if {asked} else x")
    assert [(a.kind, a.line) for a in program.assumptions][:1] == [("size", 8)]
    verdict = compare(program, traced("return x + x"))
    assert verdict.headline == "PROVED (these sizes)"
    assert any(n.startswith("line 8: ") for n in verdict.notes)
    assert program.key == traced("return x * 2").key  # at these sizes it is the same program


@pytest.mark.parametrize(
    "body", ["return x * 2 + x.shape[0] // 1000000", "return x * 2 + math.floor(x.shape[0] / 1e6)"]
)
def test_a_rounded_size_is_never_about_all_sizes(body: str) -> None:
    assert [a.kind for a in traced(body).assumptions] == ["size"]


@pytest.mark.parametrize("body", [
    "return F.rms_norm(x, (x.shape[-1],))", "b, h = x.shape\nreturn x.view(b, h).softmax(-1)", "return x.view(*x.shape)",
    "return x.reshape(x.shape[0], 2, x.shape[1] // 2).sum((1, 2))", "assert x.shape[-1] == x.size(1)\nreturn x.exp()",
    "return x.expand(x.shape) * x.shape[-1] ** -0.5", "return x / math.sqrt(x.shape[-1])", "return x.mean(-1) * len(x.shape)",
    "h = x.shape[-1] // 2\nreturn torch.cat((-x[..., h:], x[..., :h]), -1)", "return x.sum(list(range(x.ndim)))",
])  # fmt: skip
def test_sizes_in_shapes_and_as_factors_are_no_assumptions(body: str) -> None:
    assert not traced(body).assumptions


def test_values_of_sizes_leave_no_trace_in_the_program() -> None:
    program = traced("n = x.shape[-1]\nreturn F.layer_norm(x.view(x.shape[0], n) * n, (n,), eps=1 / n)")
    values = [v for n in program.nodes for _, v in n.attrs]
    flat = [w for v in values for w in (v if isinstance(v, tuple) else (v,))]
    assert {type(v) for v in flat} <= {int, float, bool, str, type(None)}
    assert {type(n) for node in program.nodes for n in node.type.shape} == {int}


def test_refusals_stay_as_they_are() -> None:
    with pytest.raises(SideEffect, match="print"):
        traced("print(x.shape)\nreturn x")
    with pytest.raises(TraceFailed):
        traced("return torch.no_such_function(x)")
    with pytest.raises(MirageError):
        traced("return x if x.sum() > 0 else -x")
    three = "a, b, c, d = x.is_cuda, x.is_cpu, x.is_meta, x.is_leaf\nreturn x"
    with pytest.raises(UnfixedAnswer):  # more answers than are tried together
        traced(three)
    assert not traced(three.replace(", d =", " =").replace(", x.is_leaf", "")).assumptions


def test_a_text_outside_of_tracing_asks_freely() -> None:
    assert trace(text("return x"), "f", X).assumptions == ()

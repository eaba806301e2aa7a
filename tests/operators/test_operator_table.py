"""The operator table: entries are whole, agree with each other, and one entry is all that a new operator needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from program.numeric import HEAD, expression
from workloads.traced import trace

from mirage.meaning.nodes import Apply
from mirage.meaning.terms import Terms
from mirage.operators import document, table, type_rules
from mirage.operators.entry import ORACLE, BlockOperator, Form, Operator
from mirage.operators.pointwise import unary
from mirage.operators.table import ATEN, BLOCK, OPERATORS

DOCS = Path(__file__).parents[2] / "docs" / "operators.md"


@pytest.fixture
def scratch() -> Iterator[None]:
    """What a test registers is taken out again."""
    with table.temporary():
        yield


def hardswish(t: Terms, x: int) -> int:
    lifted = t.fn("maximum", t.add(x, t.const(3)), t.const(0))
    return t.mul(t.const(Fraction(1, 6)), x, t.fn("minimum", lifted, t.const(6)))


def test_a_new_operator_is_one_entry(scratch: None) -> None:
    x = ("x", (5, 7))
    text = "import torch.nn.functional as F\ndef f(x):\n    return F.hardswish(x)\n"
    assert [n.op for n in trace(text, "f", [(*x, "fp32")]).nodes] == ["aten.hardswish.default"]  # PyTorch's own call
    table.register(unary("hardswish", hardswish, "x * relu6(x + 3) / 6", "F.hardswish({0})", infer=type_rules.same))
    assert all(n.op in OPERATORS for n in trace(text, "f", [(*x, "fp32")]).nodes)
    assert expression("F.hardswish(4 * x) @ x.T", x) < 1e-12
    assert "`hardswish`" in document.markdown()


def test_a_new_block_operator_is_one_entry(scratch: None) -> None:
    table.register(BlockOperator("trunc", 1, 1, np.trunc, torch="torch.trunc({0})", integral=True, aten=("trunc.default",),
                                 summary="towards zero"))  # fmt: skip
    assert expression("torch.trunc(4 * x)", ("x", (5, 7))) == 0
    assert BLOCK["trunc"].form == "pointwise"


def test_an_entry_means_one_thing_and_names_are_not_taken_twice(scratch: None) -> None:
    with pytest.raises(TypeError, match="exactly one"):
        Operator("nothing", "pointwise", "", 1, 1, type_rules.same)
    with pytest.raises(ValueError, match="already"):
        table.register(OPERATORS["add"])
    with pytest.raises(ValueError, match="already"):
        table.register(BLOCK["tanh"])
    with pytest.raises(TypeError, match="needs PyTorch's call"):
        BlockOperator("nothing", 1, 1, aten=("nothing.default",))
    with pytest.raises(ValueError, match=r"aten\.add"):
        table.register(Operator("plus", "pointwise", "", 2, 2, type_rules.same, value=lambda t, xs, a: xs[0],
                                torch={"aten.add.Tensor": Form()}))  # fmt: skip


def test_a_temporary_table_is_taken_back() -> None:
    before = dict(OPERATORS), dict(ATEN), dict(BLOCK)
    with table.temporary(BlockOperator("tanh", 1, 1, np.sin)):  # in the place of the one of that name
        assert BLOCK["tanh"] is not before[2]["tanh"] and "tanh" not in OPERATORS and "aten.tanh.default" not in ATEN
    assert before == (OPERATORS, ATEN, BLOCK)


def test_fields_have_the_methods_that_entries_name() -> None:
    from mirage.verify.field.arithmetic import Field
    from mirage.verify.field.expression_size import ExpressionCounts

    for name, entry in BLOCK.items():
        if entry.form == "pointwise" and entry.field != ORACLE:
            methods = table.field_methods(entry)
            assert methods, name
            assert all(callable(getattr(kind, m, None)) for m in methods for kind in (Field, ExpressionCounts)), name


def test_values_use_known_block_operators() -> None:
    t = Terms({"i": 5})
    axes = [t.fn("abs", t.index(("i",))) for _ in range(4)]
    attrs = {
        "exponent": 0.3,
        "base": 2.0,
        "min": 0.0,
        "max": 1.0,
        "dtype": "fp16",
        "event": True,
        "approximate": "none",
        "by": 3,
    }
    for entry in OPERATORS.values():
        if entry.value is not None:
            term = entry.value(t, axes[: entry.most], attrs)
            used = {n.name for n in map(t.node, t.walk(term)) if isinstance(n, Apply)}
            assert used <= set(BLOCK), (entry.name, used - set(BLOCK))


def test_aten_names_exist() -> None:
    for name in ATEN:
        packet, _, overload = name.removeprefix("aten.").rpartition(".")
        assert hasattr(getattr(torch.ops.aten, packet), overload), name


def test_forms_name_arguments_of_the_schema() -> None:
    for name, (entry, form) in ATEN.items():
        packet, _, overload = name.removeprefix("aten.").rpartition(".")
        schema = getattr(getattr(torch.ops.aten, packet), overload)._schema
        known = {a.name for a in schema.arguments}
        assert set(form.args) | set(form.attrs.values()) <= known, (entry.name, name)


SPECIAL = torch.tensor(
    [0.0, -0.0, 1.0, -2.5, 1e-9, 30.0, -30.0, float("inf"), float("-inf"), float("nan")], dtype=torch.float64
)
HAVE_PYTORCHS_CALL = [e.name for e in BLOCK.values() if e.torch]


def beside_torch(entry: BlockOperator) -> tuple[np.ndarray, np.ndarray]:
    """The values of an entry by numpy and by the call of PyTorch that it states, over a grid with infinities and NaN."""
    arity = 2 if entry.most > 3 else entry.most
    grids = torch.meshgrid(*[SPECIAL] * arity, indexing="ij")
    names = "abc"[:arity]
    want = eval(entry.torch.format(*names), {"torch": torch} | dict(zip(names, grids, strict=True)))
    with np.errstate(all="ignore"):
        got = np.asarray(entry.float64(*[g.numpy() for g in grids]))  # type: ignore[misc]
    assert got.shape == want.shape == (len(SPECIAL),) * arity
    return got, want.double().numpy()


def same(got: np.ndarray, want: np.ndarray) -> bool:
    return bool(np.allclose(got, want, rtol=1e-13, atol=1e-15, equal_nan=True))


@pytest.mark.parametrize("name", HAVE_PYTORCHS_CALL)
def test_float64_values_are_pytorchs(name: str) -> None:
    assert same(*beside_torch(BLOCK[name]))


def test_every_pointwise_operator_states_pytorchs_call() -> None:
    assert set(HAVE_PYTORCHS_CALL) == {e.name for e in BLOCK.values() if e.form == "pointwise"}


def test_a_wrong_float64_value_is_noticed() -> None:
    for name, wrong in (("tanh", np.arctan), ("maximum", np.fmax), ("sqrt", lambda x: np.sqrt(np.abs(x)))):
        assert not same(*beside_torch(replace(BLOCK[name], float64=wrong)))


def test_rounding_is_pytorchs_everywhere() -> None:
    x = torch.randn(20000, dtype=torch.float64) * torch.logspace(-9, 5, 20000, dtype=torch.float64)
    x = x.float().double()  # PyTorch rounds by way of float32
    for name, dtype in (("round_fp16", torch.float16), ("round_bf16", torch.bfloat16),
                        ("round_fp8e4m3", torch.float8_e4m3fn), ("round_fp8e5m2", torch.float8_e5m2)):  # fmt: skip
        want = x.to(dtype).double().numpy()
        got = BLOCK[name].float64(x.numpy())  # type: ignore[misc]
        assert np.array_equal(got, want, equal_nan=True), name


def test_documentation_is_the_tables() -> None:
    assert DOCS.read_text() == document.markdown(), "run: python -m mirage.operators.document > docs/operators.md"


def test_shape_rules_agree_with_pytorch_on_mistakes() -> None:
    """What the table refuses, PyTorch refuses; what it accepts has PyTorch's type."""
    from mirage.errors import RankMismatch
    from mirage.program.builder import Builder

    b = Builder()
    x, y, w = b.input("x", (5, 7)), b.input("y", (7, 5)), b.input("w", (5, 1), "fp16")
    for op, args in (("add", (x, y)), ("matmul", (x, x)), ("linear", (x, y))):
        with pytest.raises(RankMismatch):
            b.op(op, *args)
    assert b.type(b.op("matmul", x, y)).shape == (5, 5)
    mixed = b.type(b.op("mul", x, w))
    assert mixed.dtype == "fp32" and mixed.shape == (5, 7)
    source = f"{HEAD}def f(x, w):\n    return x * w\n"
    assert trace(source, "f", [("x", (5, 7), "fp32"), ("w", (5, 1), "fp16")]).nodes[0].type == mixed

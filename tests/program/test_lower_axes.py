"""Lowering: axes meet by dataflow only, binders never capture, slices are offsets, names are the user's."""

from __future__ import annotations

import pytest
from program.numeric import HEAD
from program.random_programs import random_programs
from workloads.traced import trace

from mirage.errors import DtypeMix, RankMismatch, UnknownOperator, UnsupportedOperands, UnsupportedReshape, ZeroSizeAxis
from mirage.ir.index import DimIndex
from mirage.ir.program import Program
from mirage.meaning.nodes import Input
from mirage.meaning.terms import Terms
from mirage.program.axis_classes import AxisClasses
from mirage.program.builder import Builder, expand
from mirage.program.lower import Lowered, lower


def lowered(text: str, *inputs: tuple, t: Terms | None = None) -> Lowered:
    names = ", ".join(i[0] for i in inputs)
    return lower(trace(f"{HEAD}def f({names}):\n    return {text}\n", "f", inputs), t)


def shown(low: Lowered) -> str:
    return low.terms.show(low.outputs[0][0])


def test_norm_and_contraction_share_their_axis() -> None:
    low = lowered("F.rms_norm(x, (7,), None, 1e-6) @ w", ("x", (5, 7), "fp16", ("b", "h")), ("w", (7, 11), "fp16"))
    assert low.sizes == {"b": 5, "m": 11, "h": 7}
    assert low.outputs[0][1] == (("b",), ("m",))
    assert [t.dims for t in low.tensors] == [(("b",), ("h",)), (("h",), ("m",))]
    assert shown(low).count("sum_h") == 2


def test_equal_sizes_alone_do_not_unify() -> None:
    low = lowered("x @ w", ("x", (7, 7), "fp32"), ("w", (7, 7), "fp32"))
    assert len(low.sizes) == 3
    assert len(lowered("x * w", ("x", (7, 7), "fp32"), ("w", (7, 7), "fp32")).sizes) == 2


def test_a_tensor_read_at_two_indices_gets_two_names() -> None:
    low = lowered("x @ x.T", ("x", (5, 7), "fp32", ("b", "h")))
    assert low.outputs[0][1] == (("b",), ("b2",))
    assert shown(low) == "sum_h((x[b, h] * x[b2, h]))"
    nested = lowered("(x @ x.T) @ (x @ x.T)", ("x", (5, 7), "fp32", ("b", "h")))
    assert {"b", "b2", "b3"} <= set(nested.sizes)


def test_heads_split_an_axis_everywhere() -> None:
    low = lowered(
        "(x.view(5, 2, 3) * k).reshape(5, 6) @ w", ("x", (5, 6), "fp32"), ("k", (2, 1), "fp32"), ("w", (6, 7), "fp32")
    )
    x, k, w = low.tensors
    assert len(x.dims[1]) == 2 and w.dims[0] == x.dims[1] and k.dims == ((x.dims[1][0],), ())


def test_slices_are_offsets_and_make_a_dim_rigid() -> None:
    low = lowered("F.silu(x[:, :3]) * x[:, 3:]", ("x", (5, 6), "fp32"))
    (x,) = low.tensors
    assert x.rigid == (None, 6)
    reads = {n.index for n in map(low.terms.node, low.terms.walk(low.outputs[0][0])) if isinstance(n, Input)}
    axis = low.outputs[0][1][1]
    assert {r[1] for r in reads} == {DimIndex(axis, 0), DimIndex(axis, 3)}
    assert lowered("x[:, :6]", ("x", (5, 6), "fp32")).tensors[0].rigid == ()


def test_size_one_has_no_axis() -> None:
    low = lowered("x + y", ("x", (1, 7), "fp32"), ("y", (5, 1), "fp32"))
    assert [t.dims for t in low.tensors] == [((), ("n",)), (("m",), ())]


def test_names_are_readable_and_not_taken() -> None:
    low = lowered("m @ k", ("m", (5, 7), "fp32", ("Batch", "lambda")), ("k", (7, 11), "fp32", ("", "batch")))
    assert set(low.sizes) == {"batch", "j", "batch2"}
    assert low.named == {"Batch": ("batch",), "lambda": ("j",), "batch": ("batch2",)}


def test_terms_do_not_depend_on_how_it_is_written() -> None:
    inputs = (("x", (5, 7), "fp32"), ("w", (7, 11), "fp32"))
    forms = [
        "x @ w",
        "F.linear(x, w.T)",
        "torch.einsum('ab,bc->ac', x, w)",
        "(w.T @ x.T).T",
        "(x[:, :, None] * w).sum(1)",
    ]
    t = Terms()
    assert len({lowered(f, *inputs, t=t).outputs[0][0] for f in forms}) == 1
    masked = ["x.masked_fill(x > 0, float('-inf'))", "torch.where(x > 0, float('-inf'), x)"]
    assert len({lowered(f, inputs[0], t=t).outputs[0][0] for f in masked}) == 1
    assert lowered("x @ w", *inputs, t=t).outputs != lowered("x @ w * 2", *inputs, t=t).outputs


@pytest.mark.parametrize("text", ["x.reshape(-1)[3:9]", "x.reshape(7, 5) @ x", "x + x.reshape(7, 5).T"])
def test_reshapes_that_cut_across(text: str) -> None:
    with pytest.raises(UnsupportedReshape) as raised:
        lowered(text, ("x", (5, 7), "fp32"))
    assert raised.value.line == 5


@pytest.mark.parametrize("text", ["x.reshape(-1)[7:14]", "x.reshape(35)", "x.reshape(1, 5, 1, 7) @ x.T"])
def test_reshapes_that_do_not(text: str) -> None:
    assert lowered(text, ("x", (5, 7), "fp32")).outputs


def test_a_long_chain_is_refused_and_a_shorter_one_is_not() -> None:
    def chain(n: int) -> Program:
        b = Builder()
        x = b.input("x", (5,))
        for _ in range(n):
            x = b.op("sin", x)
        b.output(x)
        return b.program()

    assert lower(chain(100)).outputs
    with pytest.raises(UnsupportedOperands, match="5000"):
        lower(chain(5000))


def test_classes_split_and_unify() -> None:
    c = AxisClasses()
    (a,), (b,), (d,) = c.fresh(12), c.fresh(3), c.fresh(4)
    assert c.fresh(1) == ()
    c.unify((a,), (b, d))
    assert [c.size(x) for x in c.resolve((a,))] == [3, 4]
    assert c.resolve((a,)) == c.resolve((b, d))
    with pytest.raises(UnsupportedReshape):
        c.unify((a,), c.fresh(5) + c.fresh(2))


def test_the_builder_names_mistakes() -> None:
    b = Builder()
    x, h = b.input("x", (5, 7)), b.input("h", (7, 3), "fp16")
    b.line = 12
    for error, op, args in ((UnknownOperator, "mystery", (x,)), (RankMismatch, "matmul", (x, x)), (DtypeMix, "matmul", (x, h)),
                            (UnsupportedOperands, "add", (x,))):  # fmt: skip
        with pytest.raises(error) as raised:
            b.op(op, *args)
        assert raised.value.line == 12
    with pytest.raises(ZeroSizeAxis):
        Builder().input("x", (5, 0))
    with pytest.raises(ValueError):
        b.op("relu", x)
        b.input("late", (3,))


def test_expansion_leaves_values_and_primitives() -> None:
    program = trace(f"{HEAD}def f(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)\n", "f",
                    [("q", (1, 6, 5, 7), "fp32"), ("k", (1, 2, 11, 7), "fp32"), ("v", (1, 2, 11, 7), "fp32")])  # fmt: skip
    from mirage.operators.table import OPERATORS

    assert all(OPERATORS[n.op].expand is None for n in expand(program).nodes)
    assert Program.from_dict(program.to_dict()) == program
    assert Program.from_dict(program.to_dict()).key == program.key


def test_random_programs_give_pytorchs_values() -> None:
    from program.numeric import difference

    made = random_programs(200)
    assert len({p.text for p in made}) == 200
    assert made == random_programs(200)
    for p in made[:100]:
        assert difference(p.text, p.function, list(p.inputs), p.seed) < 1e-9, p.text
    for p in made[100:]:
        assert lower(trace(p.text, p.function, list(p.inputs))).outputs, p.text

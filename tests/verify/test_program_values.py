"""The evaluator of tensor programs gives PyTorch's own values, and knows what it has no value of."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.program.trace import trace
from mirage.verify.semantics.program_values import NoValue, ResultPrecision, run

HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
SHAPES = {"x": ((4, 6), "fp64"), "y": ((4, 6), "fp64"), "w": ((6, 5), "fp64"), "m": ((4, 6), "bool"),
          "c": ((2, 3, 4, 6), "fp64")}  # fmt: skip
EXPRESSIONS = (
    ("x + y * 2 - x / y", "xy"), ("torch.relu(x) + F.relu6(3 * x)", "x"), ("F.silu(x) + F.gelu(x)", "x"),
    ("F.gelu(x, approximate='tanh')", "x"), ("x ** 3 + x.abs() ** 0.5 + x.abs() ** 1.7", "x"), ("2 ** x + x.exp2()", "x"),
    ("x.clamp(-0.5, 0.5) + x.clamp(min=1)", "x"), ("torch.lerp(x, y, 0.3)", "xy"), ("torch.addcmul(x, x, y, value=2)", "xy"),
    ("torch.where(m, x, y).masked_fill(~m, 3)", "xym"), ("F.softplus(x) + F.leaky_relu(x, 0.2)", "x"),
    ("x.sigmoid() + x.tanh() + x.erf() + x.sin() + x.cos()", "x"), ("x.abs().log() + x.abs().rsqrt()", "x"),
    ("torch.maximum(x, y) - torch.minimum(x, y)", "xy"), ("(x > y).double() + (x <= 0).double() + (x != y).double()", "xy"),
    ("x @ w", "xw"), ("c @ c.transpose(-1, -2)", "c"), ("torch.einsum('ij,ij,jk->k', x, y, w)", "xyw"),
    ("F.linear(x, y)", "xy"), ("x.sum(0) + x.mean(0) + x.amax(0) + x.amin(0)", "x"), ("x.var(1) + x.std(1)", "x"),
    ("x.softmax(1) + x.log_softmax(1) + x.logsumexp(1, keepdim=True)", "x"), ("x.norm(dim=1)", "x"),
    ("F.layer_norm(x, (6,)) + F.rms_norm(x, (6,), eps=1e-5)", "x"), ("F.normalize(x, dim=1)", "x"),
    ("F.scaled_dot_product_attention(c, c, c, is_causal=True)", "c"), ("x.T.reshape(2, 12).t()[3:7]", "x"),
    ("torch.cat([x, y], 1)[:, 2:9]", "xy"), ("x.tril(1) + x.triu(-1)", "x"), ("x.repeat_interleave(2, 0)", "x"),
    ("x.repeat(2, 1) * torch.arange(6)", "x"), ("torch.where(torch.arange(6) * 3 - 2 > torch.arange(4)[:, None], x, 0)", "x"),
)  # fmt: skip


def program(text: str, names: str) -> Program:
    return trace(
        f"{HEAD}def f({', '.join(names)}):\n    return {text}\n", "f", [TensorSpec(n, *SHAPES[n]) for n in names]
    )


def values(names: str) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    drawn = {"bool": lambda s: rng.integers(0, 2, s).astype(bool), "fp64": rng.standard_normal}
    return [drawn[SHAPES[n][1]](SHAPES[n][0]) for n in names]


@pytest.mark.parametrize("text,names", EXPRESSIONS, ids=[t for t, _ in EXPRESSIONS])
def test_values_are_those_of_pytorch(text: str, names: str) -> None:
    given = values(names)
    tensors = {n: torch.from_numpy(v) for n, v in zip(names, given, strict=True)}
    want = eval(text, {"torch": torch, "F": torch.nn.functional, **tensors}).numpy()
    (have,), _ = run(program(text, names), given)
    np.testing.assert_allclose(have, want, rtol=1e-12, atol=1e-14)


def test_another_program_has_other_values() -> None:
    given = values("xy")
    (one,), _ = run(program("x - y", "xy"), given)
    (two,), _ = run(program("y - x", "xy"), given)
    assert not np.allclose(one, two)


def test_rounded_results_move_and_exact_ones_do_not() -> None:
    """A product of halves is exact in float64; an exponential is not."""
    given = [np.round(v * 8) / 8 for v in values("x")]
    for text, exact in (("x * x - 2 * x + 1", True), ("x.exp()", False), ("x * 0.1", False)):
        p = program(text, "x")
        (base,), _ = run(p, given)
        (moved,), _ = run(p, given, ResultPrecision(disturbance=1))
        assert (base == moved).all() == exact
        np.testing.assert_allclose(base, moved, rtol=1e-9)


def test_flags_of_arithmetic_are_told() -> None:
    x = [np.full((4, 6), 1e3)]
    assert "overflow" in run(program("x.exp()", "x"), x)[1]
    assert "divide" in run(program("1 / (x - x)", "x"), x)[1]
    assert not run(program("x + 1", "x"), x)[1]


def test_a_call_of_pytorch_s_own_has_no_value() -> None:
    with pytest.raises(NoValue, match="cumsum"):
        run(program("x.cumsum(0)", "x"), values("x"))

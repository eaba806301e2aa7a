"""The model of what matrix units cut off: every way to write a product has it, nothing else does, and it is of the stated size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from mirage.ir.tensor_spec import TensorSpec
from mirage.program.trace import trace
from mirage.verify.floats.matrix_units import CHUNK, CUT, cut_off
from mirage.verify.floats.regimes import REGIMES, round_to
from mirage.verify.floats.worker import rounding, units_of
from mirage.verify.real_sizes.comparison import ComparedFunction, Differs, compare_rounded, regime_inputs, tensors

A, B = torch.randn(8, 256, dtype=torch.float64), torch.randn(256, 12, dtype=torch.float64)
WAYS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "operator": lambda a, b: a @ b,
    "matmul": torch.matmul,
    "method": lambda a, b: a.matmul(b),
    "mm": torch.mm,
    "bmm": lambda a, b: torch.bmm(a[None], b[None])[0],
    "linear": lambda a, b: F.linear(a, b.t()),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_product_is_off_by_at_most_what_its_additions_cut_off(way: str) -> None:
    exact = WAYS[way](A, B)
    with cut_off(0):
        off = WAYS[way](A, B) - exact
    most = (A * A @ (B * B)).sqrt() * (256 // CHUNK * CUT)
    assert bool((off.abs() <= most).all())
    assert float((off.abs() / most).max()) > 0.9


def test_other_functions_and_integers_are_exact() -> None:
    with cut_off(0):
        assert torch.equal(A + 1, A + torch.ones_like(A))
        whole = torch.arange(6).reshape(2, 3)
        assert torch.equal(whole @ whole.t(), torch.tensor([[5, 14], [14, 50]]))


def test_a_function_with_other_roundings_has_it_in_its_products() -> None:
    def cancels(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b

    x = torch.cat([torch.ones(1, 4096), -torch.ones(1, 4096)], dim=1)
    w = torch.ones(8192, 1)
    units = units_of(cancels, x, w)
    plain = rounding(cancels, units, 1)(x.double(), w.double())
    with cut_off(1):
        cut = rounding(cancels, units, 1)(x.double(), w.double())
    assert float(plain.abs()) < 1e-6 < float(cut.abs()) <= 8192**0.5 * (8192 // CHUNK) * CUT * 1.01


@pytest.mark.parametrize(("narrow", "accepted"), [(torch.float32, True), (torch.float16, False)])
def test_a_product_that_cancels_before_a_factor_is_judged_beside_cut_off_products(
    narrow: torch.dtype, accepted: bool
) -> None:
    """Sums of products of the size of 10,000 that leave 0.6: added up one by one in float32 they are as far off as any library's; in
    float16 they are not."""
    given = [
        TensorSpec("x", (8, 1024), "fp16"),
        TensorSpec("u", (1024, 512), "fp16"),
        TensorSpec("w", (1024, 512), "fp16"),
    ]
    text = "import torch.nn.functional as F\n\n\ndef f(x, u, w):\n    return F.silu(x @ u) * (x @ w)\n"
    subject = ComparedFunction(lambda x, u, w: F.silu(x @ u) * (x @ w), trace(text, "f", given))
    values = regime_inputs(subject.program, REGIMES[0], subject.longest_sum, 0)
    values[0] = round_to(300 * values[0], "fp16")
    x, u, w = made = tensors(subject.program, values, False)

    def product(b: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(8, 512)
        for k in range(1024):
            total = (total + x[:, k, None].float() * b[k].float()).to(narrow).float()
        return total

    result = (F.silu(product(u)) * product(w)).half()
    wild = replace(REGIMES[0], wild=True)
    if accepted:
        compare_rounded(subject, wild, made, [result])
        assert subject.largest <= 1
    else:
        with pytest.raises(Differs) as found:
            compare_rounded(subject, wild, made, [result])
        assert found.value.word == "REJECTED"

"""The model of what matrix units cut off: every way to write a product has it, nothing else does, and it is of the stated size."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from mirage.verify.floats.matrix_units import CHUNK, CUT, cut_off
from mirage.verify.floats.worker import rounding, units_of

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

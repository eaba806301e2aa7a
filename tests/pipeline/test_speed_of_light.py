"""The speed of light of a program: its bytes and its products, and never more than what is known."""

from __future__ import annotations

import pytest

from mirage.devices.table import DEVICES
from mirage.ir.program import Program
from mirage.pipeline.answer import floor
from mirage.program.builder import Builder

DEVICE = DEVICES["sm_90"]


def product(m: int, n: int, dtype: str = "fp16") -> Program:
    b = Builder("product")
    b.output(b.op("matmul", b.input("x", (m, n), dtype), b.input("w", (n, n), dtype)))
    return b.program()


def bytes_us(m: int, n: int) -> float:
    return (2 * m * n + n * n) * 2 / DEVICE.bandwidth * 1e6


def test_many_rows_wait_for_the_tensor_cores() -> None:
    wanted = 2 * 4096**3 / DEVICE.tensor_flops * 1e6
    assert wanted > bytes_us(4096, 4096)
    assert floor(product(4096, 4096), 1e9, DEVICE) == pytest.approx(wanted)


def test_few_rows_wait_for_bytes() -> None:
    assert floor(product(16, 4096), 1e9, DEVICE) == pytest.approx(bytes_us(16, 4096))


def test_a_kernel_that_is_faster_does_fewer_products() -> None:
    light = floor(product(4096, 4096), 1e9, DEVICE)
    assert floor(product(4096, 4096), light * 0.9, DEVICE) == pytest.approx(bytes_us(4096, 4096))


def test_float32_products_take_twice_as_long() -> None:
    assert floor(product(4096, 4096, "fp32"), 1e9, DEVICE) == pytest.approx(2 * floor(product(4096, 4096), 1e9, DEVICE))

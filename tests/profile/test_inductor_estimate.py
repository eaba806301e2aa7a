"""The model of torch.compile: what is fused into how many kernels, and the bytes that they move."""

from __future__ import annotations

import pytest

from mirage.devices.table import DEVICES
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.pipeline.fusion_remarks import compiled_instead
from mirage.profile.inductor_estimate import inductor_estimate
from mirage.profile.roofline import baseline
from mirage.program.trace import trace

DEVICE = DEVICES["sm_90"]
HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"


def program(arguments: str, body: str, *shapes: tuple[int, ...], dtype: str = "fp16") -> Program:
    names = arguments.split(", ")
    dtypes = ["int64" if n == "ids" else dtype for n in names]
    specs = [TensorSpec(n, s, d) for n, s, d in zip(names, shapes, dtypes, strict=True)]
    return trace(f"{HEAD}def f({arguments}):\n    return {body}\n", "f", specs)


KERNELS = [
    ("x, y", "F.silu(x) * y + x", ((64, 4096), (64, 4096)), 1),
    ("x", "F.silu(x.transpose(0, 1)) * 2", ((64, 4096),), 1),
    ("x, w", "F.rms_norm(x * 2, (4096,), w) + x", ((64, 4096), (4096,)), 1),
    ("x", "x / (x.abs().amax(dim=-1, keepdim=True) + 1)", ((64, 4096),), 1),
    ("x, w", "F.silu(x @ w)", ((64, 4096), (4096, 512)), 2),
    ("x, w", "(x + 1) @ w", ((64, 4096), (4096, 512)), 2),
    ("x, w, v", "F.silu(x @ w) * (x @ v)", ((64, 4096), (4096, 512), (4096, 512)), 3),
    ("x", "x.sum()", ((4096, 4096),), 2),  # cut over the blocks, then joined
    ("x", "x / x.sum()", ((4096, 4096),), 3),  # nothing is divided before all is summed
    ("x", "torch.sort(x, dim=-1)[0] * 2", ((64, 4096),), 2),
]


@pytest.mark.parametrize(("arguments", "body", "shapes", "kernels"), KERNELS, ids=[row[1] for row in KERNELS])
def test_kernels_are_what_lies_between_products(
    arguments: str, body: str, shapes: tuple[tuple[int, ...], ...], kernels: int
) -> None:
    assert inductor_estimate(program(arguments, body, *shapes), DEVICE).kernels == kernels


def test_a_chain_of_pointwise_operators_moves_its_ends_alone() -> None:
    one = inductor_estimate(program("x", "x * 2", (4096, 4096)), DEVICE)
    many = inductor_estimate(program("x", "torch.tanh(F.silu(x * 2) + 1) * 3", (4096, 4096)), DEVICE)
    assert many.us == one.us < baseline(program("x", "torch.tanh(F.silu(x * 2) + 1) * 3", (4096, 4096)), DEVICE)


def test_a_table_is_read_where_it_is_looked_up() -> None:
    small = program("ids, w", "F.embedding(ids, w) * 2", (64,), (1000, 512))
    large = program("ids, w", "F.embedding(ids, w) * 2", (64,), (500000, 512))
    for model in (lambda p: inductor_estimate(p, DEVICE).us, lambda p: baseline(p, DEVICE)):
        assert model(small) == model(large)
    assert inductor_estimate(large, DEVICE).kernels == 1


def test_rows_too_long_for_a_block_are_read_again() -> None:
    short = inductor_estimate(program("x", "torch.softmax(x, dim=-1)", (16384, 1024)), DEVICE)
    long = inductor_estimate(program("x", "torch.softmax(x, dim=-1)", (64, 262144)), DEVICE)
    assert short.kernels == long.kernels == 1 and long.us > 1.4 * short.us


def test_what_torch_compile_would_take_stands_beside_an_estimate() -> None:
    p = program("x, y", "F.silu(x) * y + x", (64, 4096), (64, 4096))
    us = inductor_estimate(p, DEVICE).us
    faster, slower = compiled_instead(p, us / 2, DEVICE), compiled_instead(p, 2 * us, DEVICE)
    assert faster.code == slower.code == "torch-compile" and faster.figures["other_us"] == us
    assert "in one kernel by the estimate" in faster.text and "let a GPU measure" not in faster.text
    assert "let a GPU measure both" in slower.text

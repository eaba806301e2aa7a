"""The times of a whole pre-norm attention block as PyTorch traces it (norm with gain, three projections, normalized queries and
keys, attention, output projection, residual), at a small size and at one that models have."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from mirage.devices.table import Device
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.pipeline.search_problems import problem as from_program
from mirage.profile.roofline import baseline
from mirage.program.lower import lower
from mirage.program.trace import trace
from mirage.search.engine import Problem
from searching.rows import Row, at_most
from searching.times import LARGE, of_workload

TEXT = """
import torch
import torch.nn.functional as F

def block(x, g, wq, wk, wv, wo, gq, gk):
    h = F.rms_norm(x, (x.shape[-1],), g, 1e-6)
    heads = (*x.shape[:-1], -1, gq.shape[0])
    q, k, v = ((h @ w).reshape(heads).transpose(-2, -3) for w in (wq, wk, wv))
    q = F.rms_norm(q, (q.shape[-1],), gq, 1e-6)
    k = F.rms_norm(k, (k.shape[-1],), gk, 1e-6)
    p = torch.softmax((q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5, dim=-1)
    return x + (p @ v).transpose(-2, -3).reshape(x.shape) @ wo
"""
BLOCKS: dict[str, tuple[tuple[int, ...], int]] = {  # the shape of x, the heads
    "traced attention block 128x256, 4 heads": ((128, 256), 4),
    "traced attention block 1x2048x4096, 32 heads": ((1, 2048, 4096), 32),
    "traced attention block 4x2048x4096, 32 heads": ((4, 2048, 4096), 32),
}


def spec(name: str, *shape: int) -> TensorSpec:
    return TensorSpec(name, shape, "fp16")


@cache
def traced(name: str) -> Program:
    shape, heads = BLOCKS[name]
    n = shape[-1]
    inputs = [spec("x", *shape), spec("g", n), *(spec(w, n, n) for w in ("wq", "wk", "wv", "wo"))]
    return trace(TEXT, "block", [*inputs, *(spec(g, n // heads) for g in ("gq", "gk"))])


def block(name: str) -> Problem:
    program = traced(name)
    return from_program(program, lower(program))


def rows(device: Device) -> Iterator[Row]:
    for name in BLOCKS:
        found = list(of_workload(name, LARGE, device, block))
        yield from found
        best = next(r["value"] for r in found if r["name"] == f"{name}: best estimate")
        yield at_most(f"{name}: best estimate / as written", best / baseline(traced(name), device), "", 1.0)

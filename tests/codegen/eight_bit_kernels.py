"""Casts from and to 8-bit floats in the interpreter, in a process of its own."""

import numpy as np
import torch
import triton
import triton.language as tl

from mirage.codegen.interpreter import float_interpreter


@triton.jit
def cast(x, y, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < N, other=0.0).to(y.dtype.element_ty), mask=i < N)


@triton.jit
def by_way_of(x, y, N, B: tl.constexpr, T: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < N, other=0.0).to(T).to(tl.float32)
    tl.store(y + i, tl.abs(v), mask=i < N)


@triton.jit
def bits(x, y, N, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + i).to(y.dtype.element_ty, bitcast=True))


@triton.jit
def product(x, y, z, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(z + at, tl.dot(tl.load(x + at), tl.load(y + at)))


def run(kernel, x, dtype, **more):
    y = torch.empty(x.shape, dtype=dtype)
    kernel[(-(-x.numel() // 1024),)](x, y, x.numel(), B=min(1024, x.numel()), **more)
    return y


def same(a, b):
    a, b = a.double().numpy(), b.double().numpy()
    return np.array_equal(a, b, equal_nan=True)


halves = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch.float16)
plain, failed = 0, []
for dtype, triton_dtype, largest in (
    (torch.float8_e4m3fn, tl.float8e4nv, 448.0),
    (torch.float8_e5m2, tl.float8e5, 57344.0),
):
    every = torch.arange(256, dtype=torch.uint8).view(dtype)
    with float_interpreter():
        for wide in (torch.float32, torch.float16, torch.bfloat16):
            assert same(run(cast, every, wide), every.to(wide)), (dtype, wide)
        number = ~every.float().isnan()
        assert torch.equal(run(bits, every, torch.uint8)[number], every.view(torch.uint8)[number]), dtype
        assert same(run(bits, every.view(torch.uint8), dtype), every), dtype
        for source in (torch.float32, torch.float16):
            x = halves.to(source)
            want = x.float().clamp(-largest, largest).to(dtype)  # as the GPU's instruction: it saturates
            assert same(run(cast, x, dtype), want), (dtype, source)
            assert same(run(by_way_of, x, torch.float32, T=triton_dtype), want.float().abs()), (dtype, source)
        tile = torch.randn(16, 16).to(dtype)
        try:
            product[(1,)](tile, tile, torch.empty(16, 16), B=16)
            raise SystemExit("a product of 8-bit floats ran")
        except Exception as e:
            assert "fewer bits" in str(e), e
    try:  # what is mended
        plain += not same(run(cast, halves.float(), dtype), halves.float().clamp(-largest, largest).to(dtype))
    except Exception as e:
        failed.append(str(e))
assert plain + len(failed) == 2, (plain, failed)

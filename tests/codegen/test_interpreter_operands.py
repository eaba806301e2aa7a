"""Operands that are not converted again: the same bits and the same refusals as Triton's own interpreter."""

from __future__ import annotations

import os
from pathlib import Path

from forked_python import ForkedPython

KERNELS = '''
import torch
import triton
import triton.language as tl


@triton.jit
def mixed(x, h, n, out, B: tl.constexpr):
    """Numbers that are equal in Python and not in Triton, unlike shapes and types, each again and again."""
    at = tl.arange(0, B)
    a, b, i = tl.load(x + at), tl.load(h + at), tl.load(n + at)
    for k in range(3):
        row, column = a[None, :] + k, b[:, None]
        for value in (row * 0.0, row * -0.0, row / 0.0, row / -0.0, row + 1, row + 1.0, column / column, column * 2,
                      column + row, row - column * 1e30, (i * 3 // 2)[None, :] + row, (i % 3)[None, :] * row,
                      (i * 1.5)[None, :] + row, tl.where(row > 0.5, row, 0), tl.where(i[None, :] >= 2, row, column),
                      (i & 1)[None, :] + row, ((i > 1) & (i < 9))[None, :] + row, (3 - i)[None, :] * row,
                      (i * 4)[None, :] + row, (i * 4.0)[None, :] + row):
            tl.store(out + at[:, None] * B + at[None, :], tl.zeros((B, B), tl.float32) + value)
            out += B * B


@triton.jit
def unlike(x, h, n, out, B: tl.constexpr):
    tl.store(out + tl.arange(0, B), tl.load(x + tl.arange(0, B)) + tl.load(h + tl.arange(0, 2 * B)))


@triton.jit
def addressed(x, h, n, out, B: tl.constexpr):
    tl.store(out + tl.load(x + tl.arange(0, B)), 0.0)


@triton.jit
def beyond(x, h, n, out, B: tl.constexpr):
    tl.store(out + tl.arange(0, B) + 10000000, 0.0)
'''

SCRIPT = """
import sys
import torch
from mirage.codegen import interpreter as ours

module = ours.load_module(open(sys.argv[1]).read())
g = torch.Generator().manual_seed(0)
x = torch.randn(16, generator=g)
x[3], x[5] = 0.0, -0.0
h = torch.randn(32, generator=g).half()
n = torch.arange(16, dtype=torch.int32) - 5
n[0] = 2**30  # four times that is no int32
runs, refusals = [], []
lighten = ours.lighten
for own in (lighten, lambda patches: None):
    ours.lighten = own
    for _ in range(2):
        out = torch.zeros(3 * 20 * 256)
        with ours.float_interpreter():
            module.mixed[(1,)](x, h, n, out, 16)
        runs.append(out.view(torch.int32))
    said = []
    for name in ("unlike", "addressed", "beyond"):
        try:
            with ours.float_interpreter():
                getattr(module, name)[(1,)](x, h, n, out, 16)
            said.append("nothing")
        except Exception as e:
            said.append(str(e))
    refusals.append(said)
assert all(torch.equal(runs[0], r) for r in runs)
whole = runs[0].view(3, 20, -1)[0]
assert not torch.equal(whole[18], whole[19]), "a float was taken for an integer"
"""


def test_the_same_bits_and_the_same_refusals(forked_python: ForkedPython, tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS, "utf-8")
    env = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = forked_python.run("-c", SCRIPT, tmp_path / "kernels.py", env=env)
    assert done.returncode == 0, done.stderr

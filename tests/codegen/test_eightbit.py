"""8-bit floats: their codes beside PyTorch's own conversions, in our tables and in interpreted kernels."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch
from forked_python import ForkedPython

from mirage.ir.fp8_formats import FORMATS

TORCH = {"fp8e4m3": torch.float8_e4m3fn, "fp8e5m2": torch.float8_e5m2}
HALVES = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch.float16).float().numpy()  # every float16


def near(name: str) -> np.ndarray:
    """Every float16, and the middles between neighbours with the float32 numbers beside them."""
    middle = FORMATS[name].middles.astype(np.float32)
    line = np.concatenate([middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(np.inf))])
    return np.concatenate([HALVES, line, -line, np.float32([3e38, -3e38])])


def codes(x: np.ndarray, name: str) -> np.ndarray:
    return torch.from_numpy(x).to(TORCH[name]).view(torch.uint8).numpy()


@pytest.mark.parametrize("name", FORMATS)
def test_all_values_are_pytorchs(name: str) -> None:
    want = torch.arange(256, dtype=torch.uint8).view(TORCH[name]).float().numpy()
    got = FORMATS[name].values
    assert np.array_equal(got, want, equal_nan=True) and np.array_equal(np.signbit(got), np.signbit(want))
    assert FORMATS[name].largest == torch.finfo(TORCH[name]).max
    others = FORMATS["fp8e5m2" if name == "fp8e4m3" else "fp8e4m3"].values
    assert (got != others).sum() > 200  # a table taken for the other shows


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_become_the_codes_that_pytorch_gives(name: str) -> None:
    x = near(name)
    nan = np.isnan(x)
    inside = np.abs(x) < FORMATS[name].middles[-1]
    assert np.array_equal(FORMATS[name].code(x)[inside], codes(x, name)[inside])
    got = FORMATS[name].code(x, saturate=False)
    assert np.isnan(FORMATS[name].values[got[nan]]).all() and nan.any()
    if name == "fp8e5m2":
        assert np.array_equal(got[~nan], codes(x, name)[~nan])  # infinite beyond the largest
    down = codes(np.nextafter(x[~nan], np.float32(0)), name)
    assert (down != codes(x, name)[~nan])[inside[~nan]].any()  # a rounding that is off by one float32 shows


def test_what_is_too_large_saturates() -> None:
    for name, kind in FORMATS.items():
        far = np.float32([1e9, -1e9, np.inf, -np.inf])
        assert np.array_equal(kind.rounded(far), np.sign(far) * kind.largest), name
    assert np.isinf(FORMATS["fp8e5m2"].rounded(np.float32([61440.0, -np.inf]), saturate=False)).all()
    assert FORMATS["fp8e5m2"].rounded(np.float32([61439.0]), saturate=False) == 57344


def test_interpreted_kernels_convert_as_pytorch_does(forked_python: ForkedPython) -> None:
    env = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    folder = os.path.dirname(__file__)
    path = os.path.join(folder, "eight_bit_kernels.py")
    done = forked_python.run(path, env=env)
    assert done.returncode == 0, done.stderr[-3000:]

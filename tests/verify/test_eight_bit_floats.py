"""The float opinion on 8-bit floats: its inputs, its guards, what it allows an 8-bit output."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mirage.ir.dtypes import computing_dtypes
from mirage.ir.fp8_formats import FORMATS
from mirage.verify.floats.error_limits import Compared, judge
from mirage.verify.floats.regimes import REGIMES, SMALLEST, round_to
from mirage.verify.floats.worker import GUARD, GuardedAllocations, decode, packed, torch_equal
from mirage.verify.ranges.intervals import LIMITS

TORCH = {"fp8e4m3": torch.float8_e4m3fn, "fp8e5m2": torch.float8_e5m2}


@pytest.mark.parametrize("dtype", FORMATS)
def test_inputs_are_numbers_of_their_format(dtype: str) -> None:
    rng, k = np.random.default_rng(0), 64
    for r in REGIMES:
        for draw in filter(None, (r.draw, r.first)):
            x = round_to(draw(rng, (256, k), dtype, k), dtype)
            assert np.isfinite(x).all(), r.name
            given = torch.from_numpy(x)
            assert torch.equal(given.to(TORCH[dtype]).double(), given), r.name
            assert r.name == "zeros" or len(np.unique(x)) > 1, r.name
            assert np.array_equal(decode(packed(dtype, x)), x), r.name
    made = {r.name: round_to(r.draw(rng, (256, k), dtype, k), dtype) for r in REGIMES}
    small = np.abs(made["subnormal"])
    assert small.max() > 0 and np.median(small) < SMALLEST[dtype]
    values = FORMATS[dtype].values
    codes = made["every 8-bit number"]
    every = values[np.abs(values) <= codes.max()]
    assert set(codes.ravel()) == set(every) and len(set(every)) > 170
    every_number = next(r for r in REGIMES if r.name == "every 8-bit number")
    again = round_to(every_number.draw(rng, (256, k), dtype, k), dtype)
    assert 20000 < np.abs(codes @ again.T).max() < 150000
    assert round_to(np.array([1e9]), dtype) == FORMATS[dtype].largest == LIMITS[dtype]


@pytest.mark.parametrize("dtype", [*TORCH.values(), torch.bfloat16, torch.int32])
def test_what_is_written_beside_a_tensor_or_into_an_input_is_seen(dtype: torch.dtype) -> None:
    memory = GuardedAllocations()
    x = torch.ones(3, 5).to(dtype)
    placed = memory.place(x)
    assert torch_equal(placed, x) and not memory.touched()
    placed.view(-1)[4:5].fill_(0)
    assert not torch_equal(placed, x) and not memory.touched()
    block, _ = memory._blocks[0]
    block[GUARD + 15 : GUARD + 16].fill_(1)
    assert memory.touched()


def test_bits_are_compared() -> None:
    nan, other = (torch.tensor(x).to(torch.float8_e5m2) for x in ([float("nan"), 1.0], [1.0, float("nan")]))
    assert torch_equal(nan, nan.clone()) and not torch_equal(nan, other)
    assert not torch_equal(torch.zeros(1), -torch.zeros(1))


def rounded(x: np.ndarray, dtype: str) -> np.ndarray:
    return FORMATS[dtype].rounded(x).astype(np.float64)


def test_an_8_bit_output_may_be_off_by_its_rounding_alone() -> None:
    x = np.random.default_rng(0).standard_normal(4096)
    right = rounded(x, "fp8e4m3")
    assert judge(Compared(right, x, None, x, "fp8e4m3"), 16, False)[1] is None
    assert judge(Compared(right, x, right, x, "fp8e4m3"), 16, False)[1] is None
    coarse = rounded(rounded(x, "fp8e5m2"), "fp8e4m3")
    assert judge(Compared(coarse, x, None, x, "fp8e4m3"), 16, False)[1] is not None
    off = np.where(np.arange(4096) == 7, 2 * right, right)
    assert judge(Compared(off, x, right, x, "fp8e4m3"), 16, False)[1] == (7,)


def test_what_is_too_large_for_e4m3_is_its_largest_number() -> None:
    want = np.array([1e4, -np.inf, 460.0, np.nan, 1.0])
    right = np.array([448.0, -448.0, 448.0, np.nan, 1.0])
    assert judge(Compared(right, want, right, want, "fp8e4m3"), 16, False)[1] is None
    for place, wrong in ((0, 256.0), (1, 448.0), (2, np.nan), (3, 448.0)):
        got = np.where(np.arange(5) == place, wrong, right)
        assert judge(Compared(got, want, right, want, "fp8e4m3"), 16, False)[1] == (place,), place
    assert judge(Compared(np.array([57344.0]), np.array([1e6]), None, np.array([1e6]), "fp8e5m2"), 16, False)[1] == (0,)


def test_8_bit_floats_are_only_stored() -> None:
    assert computing_dtypes(["fp8e4m3", "bf16", "int64"], ["fp32"]) == ["bf16"]
    assert computing_dtypes(["fp8e4m3", "fp8e5m2"], ["fp8e4m3", "fp16"]) == ["fp16"]
    assert computing_dtypes(["fp8e4m3"], ["fp8e4m3"]) == ["fp32"]
    assert computing_dtypes(["bool"], ["fp16"]) == ["fp32"]

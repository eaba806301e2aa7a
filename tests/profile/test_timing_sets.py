"""Sets of inputs to rotate through: as many as leave nothing in L2, and no more than the device's memory holds."""

from __future__ import annotations

import pytest
import torch

from mirage.profile import gpu_timing
from mirage.profile.gpu_timing import bits, calls_in, input_sets, relative_difference, replays_in
from mirage.profile.tune import breaks, said_of

L2 = 4000


def make(seed: int) -> list[torch.Tensor]:
    return [torch.full((250,), float(seed))]  # 1000 bytes


@pytest.mark.parametrize(("room", "sets"), [(float("inf"), 13), (5500, 6), (1000, 2), (999, 1), (0, 1)])
def test_as_many_sets_as_rotation_needs_and_memory_has(room: float, sets: int) -> None:
    found = input_sets(make, L2, room)
    assert [float(x[0][0]) for x in found] == list(map(float, range(sets)))


def test_a_broken_process_is_known_by_any_line_of_the_error() -> None:
    told = (
        "CUDA error: an illegal memory access was encountered\nSearch for `cudaErrorIllegalAddress'\nCompile with DSA"
    )
    assert breaks(said_of(RuntimeError(told)))
    assert said_of(RuntimeError(told)) == "RuntimeError: CUDA error: an illegal memory access was encountered"
    assert not breaks(said_of(RuntimeError("shape mismatch\nat line 3")))
    assert said_of(ValueError("")) == "ValueError: "


@pytest.mark.parametrize(
    ("us", "sets", "calls", "replays"),
    [
        (1.0, 1, 20, 10),
        (99.0, 3, 20, 10),
        (500.0, 2, 20, 2),
        (5e3, 2, 4, 1),
        (5e5, 2, 2, 1),
        (5e5, 1, 1, 1),
        (2.0, 512, 512, 1),
    ],
)
def test_a_repetition_takes_milliseconds_not_a_count_of_calls(us: float, sets: int, calls: int, replays: int) -> None:
    assert calls_in(us, sets) == calls
    assert replays_in(us * calls, calls) == replays


@pytest.mark.parametrize("size", [1, 3, 8, 9])
def test_a_difference_is_found_in_any_chunk(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_timing, "CHUNK", size)
    want = torch.arange(9.0).reshape(3, 3)
    assert relative_difference(want.clone(), want) == 0.0
    for place in range(9):
        wrong = want.clone()
        wrong.view(-1)[place] += 4.0
        assert relative_difference(wrong, want) == 0.5
        wrong.view(-1)[place] = float("nan")
        assert not relative_difference(wrong, want) <= 1.0


@pytest.mark.parametrize("dtype", [torch.bool, torch.float8_e4m3fn, torch.float16, torch.float32, torch.float64])
def test_bits_tell_what_values_tell_and_nan_is_equal_to_itself(dtype: torch.dtype) -> None:
    x = torch.tensor([0.0, 1.0, 0.0, 1.0]).to(dtype)
    assert not (bits(x) != bits(x.clone())).any()
    assert (bits(x) != bits(torch.zeros(4).to(dtype))).sum() == 2
    if dtype.is_floating_point:
        y = torch.tensor([float("nan")]).to(dtype)
        assert not (bits(y) != bits(y.clone())).any()

"""Sets of inputs to rotate through: as many as leave nothing in L2, and no more than the device's memory holds."""

from __future__ import annotations

import pytest
import torch

from mirage.profile.gpu_timing import input_sets
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

"""Tuning goes on when the GPU's memory is there again, and says so when it never is."""

from __future__ import annotations

import pytest
import torch

from mirage.profile.memory_shortage import retried


class Device:
    """A device that has no room for the first `short` tries."""

    def __init__(self, short: int, error: type[Exception] = torch.OutOfMemoryError) -> None:
        self.short, self.error = short, error
        self.tries = self.released = 0
        self.slept: list[float] = []

    def run(self) -> str:
        self.tries += 1
        if self.tries <= self.short:
            raise self.error("CUDA out of memory")
        return "measured"

    def release(self) -> None:
        self.released += 1


def test_a_shortage_of_memory_is_waited_for() -> None:
    device = Device(2)
    assert retried(device.run, device.release, (1.0, 4.0, 9.0), device.slept.append) == "measured"
    assert (device.tries, device.released, device.slept) == (3, 2, [1.0, 4.0])


def test_a_shortage_that_lasts_is_an_error() -> None:
    device = Device(99)
    with pytest.raises(torch.OutOfMemoryError):
        retried(device.run, device.release, (1.0, 4.0), device.slept.append)
    assert (device.tries, device.slept) == (3, [1.0, 4.0])


def test_another_error_is_not_tried_again() -> None:
    device = Device(1, ValueError)
    with pytest.raises(ValueError):
        retried(device.run, device.release, (1.0,), device.slept.append)
    assert (device.tries, device.released) == (1, 0)

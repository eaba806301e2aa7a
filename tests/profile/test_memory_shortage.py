"""Tuning goes on when the GPU's memory is there again, and says so when it never is."""

from __future__ import annotations

import pytest
import torch

from mirage.profile import tune
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


@pytest.mark.parametrize(("broken", "emptied"), [(True, 0), (False, 1)])
def test_memory_goes_back_to_others_unless_the_process_is_broken(
    broken: bool, emptied: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an error that breaks the process every call to CUDA raises: the answer says so and is not lost."""
    calls = []

    def answer(run: object) -> dict[str, object]:
        if broken:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return {}

    monkeypatch.setattr(tune, "here", lambda: "sm_90")
    monkeypatch.setattr(tune._Tuning, "answer", answer)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: calls.append(1))
    found = tune.tune_modules({"texts": ["text"], "function": "f"}, lambda counts: None)
    assert bool(found.get("broken")) == broken and len(calls) == emptied and found["device"] == "a GPU"

"""A worker that may use the GPUs has every wall in which their driver starts, and no other is left out."""

from __future__ import annotations

import pytest

from mirage.isolate import confinement, gpu_trial
from mirage.isolate.launch_order import LANDLOCK, NAMESPACES, SECCOMP, WALLS

# a driver in place of NVIDIA's: what it asks of the machine; argument 1 is its name
ANYWHERE = "pass"
IN_NO_USER_NAMESPACE = "import sys; sys.exit(open('/proc/self/uid_map').read().split()[2] == '1')"
NOWHERE = "raise SystemExit('no device')"


@pytest.fixture(autouse=True)
def forgotten() -> None:
    gpu_trial.walls.cache_clear()


def chosen(monkeypatch: pytest.MonkeyPatch, driver: str, nodes: str = "/dev/null") -> tuple[str, ...]:
    monkeypatch.setattr(gpu_trial, "PROGRAM", driver)
    monkeypatch.setattr(gpu_trial, "NODES", nodes)
    return gpu_trial.walls(WALLS)


@pytest.mark.skipif(not confinement.holds()["namespaces"], reason="no namespaces can be made here")
def test_a_driver_that_does_not_start_in_a_private_view_costs_that_wall_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(monkeypatch, IN_NO_USER_NAMESPACE) == (LANDLOCK, SECCOMP)


@pytest.mark.parametrize("driver", [ANYWHERE, NOWHERE])
def test_a_driver_that_starts_or_never_does_costs_none(monkeypatch: pytest.MonkeyPatch, driver: str) -> None:
    assert chosen(monkeypatch, driver) == WALLS


def test_without_gpus_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_trial, "starts", lambda *_: pytest.fail("tried"))
    assert chosen(monkeypatch, NOWHERE, nodes="/dev/nvidia-that-is-not-there") == WALLS
    assert gpu_trial.walls((LANDLOCK, SECCOMP)) == (LANDLOCK, SECCOMP)


def test_the_trial_asks_the_driver_itself() -> None:
    assert not gpu_trial.starts((SECCOMP,), "libno-such-driver.so.1")
    assert NAMESPACES in WALLS

"""`mirage doctor` tries a GPU's driver where it will run: in a worker, and in a worker that a worker of the daemon starts."""

from __future__ import annotations

import pytest

from mirage.cli import doctor
from mirage.isolate import confinement, gpu_trial
from mirage.isolate.launch_order import WALLS

# drivers in place of NVIDIA's: what they ask of the machine; argument 1 is the name
NAMES_A_THREAD = "import threading; open(f'/proc/self/task/{threading.get_native_id()}/comm', 'w').write('x')"
STARTS_IN_A_WORKER_ALONE = """
import sys
filters = next(line for line in open("/proc/self/status") if line.startswith("Seccomp_filters:"))
sys.exit(int(filters.split()[1]) > 1)
"""
NOWHERE = "raise SystemExit('no device')"


@pytest.mark.skipif(not confinement.holds()["namespaces"], reason="no namespaces can be made here")
@pytest.mark.parametrize(
    ("driver", "said"),
    [
        (NAMES_A_THREAD, "all of it holds"),
        (STARTS_IN_A_WORKER_ALONE, "the driver does not start in a worker of the daemon's"),
        (NOWHERE, "the driver does not start in a worker"),
    ],
)
def test_the_driver_is_tried_where_it_will_run(monkeypatch: pytest.MonkeyPatch, driver: str, said: str) -> None:
    monkeypatch.setattr(gpu_trial, "PROGRAM", driver)
    monkeypatch.setattr(gpu_trial, "walls", lambda wanted: WALLS)
    row = doctor._with_gpu()
    assert (row["value"], row["ok"]) == (said, said.startswith("all"))

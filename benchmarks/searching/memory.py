"""The memory of a search that would grow for hours: a program with a product of choices, under bounds that do not cut it.

It runs in a process of its own, whose peak is what the system says: with small bounds that it reaches (it takes longer than ten
minutes, and had 880 MiB then, to reach the default one). The largest workloads run so too, with all bounds as they are by default.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mirage.devices.table import Device
from searching.rows import Row, at_most, row

ROOT = Path(__file__).resolve().parents[2]
LARGEST = ("attention_block", "qknorm_attention", "norm_mlp")
SMALL, OVER, LIMIT = (128, 384), 64, 2048  # MiB: small bounds, what may be overshot, the most of any search
RUN = """
import json, resource, sys
sys.path[:0] = ["core", "tests"]
from workloads.terms import problem
from mirage.devices.table import DEVICES
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Search
from mirage.search.limits import resident
wide = Bounds(systems=10**9, reductions=10**9, lean=False, seconds=1e9, memory=int(sys.argv[3] or 0))
bounds = wide if sys.argv[3] else Bounds()
search = Search(problem(sys.argv[2]), lambda g: estimate(g, DEVICES[sys.argv[1]]), bounds=bounds)
before = resident()
list(search.run())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"before": before, "peak": peak, "limits": search.counts.limits, "answers": len(search.best)}))
"""


def measured(device: Device, workload: str, bound: str) -> dict[str, Any]:
    """A search in a process of its own; `bound` in MiB, with all others wide open, or "" for the default bounds."""
    command = [sys.executable, "-c", RUN, device.target, workload, bound]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    )
    return found


def rows(device: Device) -> Iterator[Row]:
    for workload in LARGEST:
        found = measured(device, workload, "")
        name = f"memory, default bounds, {workload}"
        yield at_most(f"{name}: peak of the process", found["peak"] / 2**20, "MiB", LIMIT)
        yield row(f"{name}: answers that it keeps", found["answers"], "", ">= 1", found["answers"] >= 1)
    for bound in SMALL:
        found = measured(device, "attention_block", str(bound))
        name = f"memory, bound of {bound} MiB"
        yield at_most(f"{name}: growth", (found["peak"] - found["before"]) / 2**20, "MiB", bound + OVER)
        yield at_most(f"{name}: peak of the process", found["peak"] / 2**20, "MiB", LIMIT)
        said = f"{bound} MiB of memory" in found["limits"]
        yield row(f"{name}: it says so", float(said), "", "== 1", said)
        yield row(f"{name}: answers that it keeps", found["answers"], "", ">= 1", found["answers"] >= 1)

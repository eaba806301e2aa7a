"""What every part of the benchmark uses: a row, a clock, and a search under the estimate of a device."""

from __future__ import annotations

import gc
import time
from typing import Any

from workloads.terms import problem

from mirage.devices.table import Device
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Search

Row = dict[str, Any]


def row(name: str, value: float, unit: str = "", bound: str | None = None, ok: bool = True) -> Row:
    """One line of the report. `bound` is a text such as "<= 1.0", None where the figure is only given."""
    return {"name": name, "value": round(value, 3), "unit": unit, "bound": bound, "ok": ok}


def at_most(name: str, value: float, unit: str, most: float) -> Row:
    return row(name, value, unit, f"<= {most:g}", value <= most)


def at_least(name: str, value: float, unit: str, least: float) -> Row:
    return row(name, value, unit, f">= {least:g}", value >= least)


class Clock:
    """Processor and wall seconds since it was made."""

    def __init__(self) -> None:
        gc.collect()
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        return time.process_time() - self.cpu, time.perf_counter() - self.wall


def search_for(name: str, device: Device, bounds: Bounds | None = None, **more: Any) -> Search:
    """The search for a workload of tests/workloads/terms.py."""
    return Search(problem(name), lambda g: estimate(g, device), bounds=bounds, **more)

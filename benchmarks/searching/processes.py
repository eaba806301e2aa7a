"""Where searching the parts in several processes pays: wall and processor seconds of a whole search, here and in two processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from workloads.search_processes import Processes
from workloads.terms import problem

from mirage.devices.table import Device
from mirage.profile.roofline import estimate
from mirage.search.engine import Search
from mirage.search.executor import Executor, Serial
from searching.rows import Clock, Row, row

NAMES = ("norm_mlp", "qknorm_attention", "attention_block")
ROUNDS = 3  # the shortest counts: another process may share the cores


def timed(name: str, device: Device, executor: Executor) -> tuple[float, float, object]:
    """Wall seconds, processor seconds with those of the workers, and the answers in their order."""
    clock, before = Clock(), os.times()
    search = Search(problem(name), partial(estimate, device=device), executor=executor)
    found = [c.mugraph for c in search.run()] + [c.mugraph for c in search.best]
    wall, after = clock.read()[1], os.times()
    return wall, sum(after[:4]) - sum(before[:4]), found


def rows(device: Device) -> Iterator[Row]:
    for name in NAMES:
        here = min((timed(name, device, Serial()) for _ in range(ROUNDS)), key=lambda x: x[0])
        there = min((timed(name, device, Processes(2)) for _ in range(ROUNDS)), key=lambda x: x[0])
        same = here[2] == there[2]
        yield row(f"{name}: two processes find what one finds, in its order", float(same), "", "== 1", same)
        for what, (wall, cpu, _) in (("one process", here), ("two processes", there)):
            yield row(f"{name}: {what}, wall", wall, "s")
            yield row(f"{name}: {what}, processor", cpu, "s")

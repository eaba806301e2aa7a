"""Completeness: random programs of up to four operators, enumerated by brute force without pruning, against the search.

Each program is enumerated with as many operators as it has; tests/workloads/brute.py says what a class is. Programs are
taken in order until the seconds are over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from workloads.brute import Brute, random_small
from workloads.classes import found_by_search

from mirage.profile.devices import Device
from searching.rows import Row, at_least, row

SECONDS = 40.0
PROGRAMS = 40


def rows(_: Device) -> Iterator[Row]:
    start, programs, classes, missed, visited = time.process_time(), 0, 0, 0, 0
    for seed in range(PROGRAMS):
        if time.process_time() - start > SECONDS:
            break
        program = random_small(seed)
        brute = Brute(program, len(program.steps))
        found = found_by_search(program)
        missed += sum(c not in found for c in brute.run())
        programs, classes, visited = programs + 1, classes + len(brute.classes), visited + brute.visited
    yield row("completeness: classes that the search misses", missed, "", "== 0", missed == 0)
    yield at_least("completeness: programs enumerated", programs, "", 8)
    yield row("completeness: classes found by brute force", classes)
    yield row("completeness: operators tried by brute force", visited)

"""How many processors this process may use: fewer than the machine has under an affinity mask, as containers and `taskset` set it."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """At least one."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1

"""The whole corpus."""

from __future__ import annotations

from . import file_reads, file_writes, forgeries, kernel_objects, other_processes, resources, sockets, survivors
from .attempt import Attempt

CORPUS: tuple[Attempt, ...] = tuple(
    attempt
    for module in (
        file_reads,
        file_writes,
        other_processes,
        survivors,
        sockets,
        kernel_objects,
        resources,
        forgeries,
    )
    for attempt in module.ATTEMPTS
)

"""The order of queued jobs: the most urgent one first, and among equally urgent ones that of the project that had the fewest turns."""

from __future__ import annotations

import itertools
import os
from typing import Generic, Protocol, TypeVar

from mirage.link.paths import PROJECT_MARKS


class Waiting(Protocol):
    """`priority`: 0 is on screen, larger is later. It may change while the job waits."""

    @property
    def id(self) -> str: ...
    @property
    def priority(self) -> int: ...
    @property
    def project(self) -> str: ...


J = TypeVar("J", bound=Waiting)


class Turns(Generic[J]):
    """The jobs that wait. A project with a thousand functions gets no more turns than one that has a single function waiting,
    and one that arrives late starts level with the others: it has no turns to catch up."""

    def __init__(self) -> None:
        self._order = itertools.count()
        self._waiting: dict[str, tuple[int, J]] = {}
        self._turns: dict[str, int] = {}  # of the projects that have something waiting

    def __len__(self) -> int:
        return len(self._waiting)

    def push(self, job: J) -> None:
        if job.project not in self._turns:
            self._turns[job.project] = min(self._turns.values(), default=0)
        self._waiting[job.id] = (next(self._order), job)

    def discard(self, job: J) -> None:
        """It waits no more."""
        if self._waiting.pop(job.id, None) is not None and not self._waits(job.project):
            del self._turns[job.project]

    def pop(self) -> J:
        """The next one; KeyError when none waits."""
        if not self._waiting:
            raise KeyError("nothing waits")
        _, job = min(self._waiting.values(), key=lambda x: (x[1].priority, self._turns[x[1].project], x[0]))
        self._turns[job.project] += 1
        self.discard(job)
        return job

    def _waits(self, project: str) -> bool:
        return any(job.project == project for _, job in self._waiting.values())


def project_of(path: str) -> str:
    """The project that a file belongs to: the nearest folder above it with one of PROJECT_MARKS, else its own folder. Decides
    nothing but whose turn it is."""
    folder = own = os.path.dirname(os.path.abspath(path))
    while folder != os.path.dirname(folder):
        if any(os.path.lexists(os.path.join(folder, mark)) for mark in PROJECT_MARKS):
            return folder
        folder = os.path.dirname(folder)
    return own

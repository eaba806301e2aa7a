"""The order of queued jobs: clients take turns, a client's most urgent job is first, and among equally urgent ones that of the
project that had the fewest turns."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterator, Set
from typing import Generic, Protocol, TypeVar

from mirage.link.paths import PROJECT_MARKS

BACKGROUND = 5  # the first priority of jobs that nobody waits for: they come after all others
DAEMON = 0  # the process of what the daemon asks itself: saves in watched projects, jobs of an earlier daemon
Group = tuple[str, int | str]  # a process or a project


class Waiting(Protocol):
    """`priority`: 0 is on screen, larger is later. It may change while the job waits. `processes` are the clients that want it,
    each with its process id."""

    @property
    def id(self) -> str: ...
    @property
    def priority(self) -> int: ...
    @property
    def project(self) -> str: ...
    @property
    def processes(self) -> Set[int]: ...


J = TypeVar("J", bound=Waiting)


class Turns(Generic[J]):
    """The jobs that wait. A client or a project with a thousand jobs gets no more turns than one that has a single job waiting,
    and one that arrives late starts level with the others: it has no turns to catch up."""

    def __init__(self) -> None:
        self._order = itertools.count()
        self._waiting: dict[str, tuple[int, J]] = {}
        self._groups: dict[str, set[Group]] = {}  # of each job that waits
        self._jobs = Counter[Group]()  # that wait, by group
        self._turns: dict[Group, int] = {}  # of the groups that have something waiting

    def __len__(self) -> int:
        return len(self._waiting)

    def push(self, job: J) -> None:
        self._waiting[job.id], self._groups[job.id] = (next(self._order), job), set()
        self.join(job)

    def join(self, job: J) -> None:
        """Whoever wants the job by now: it may take anybody's turn of those."""
        if job.id not in self._waiting:
            return
        for group in {*_processes(job), ("project", job.project)} - self._groups[job.id]:
            if group not in self._turns:
                level = (turns for other, turns in self._turns.items() if other[0] == group[0])
                self._turns[group] = min(level, default=0)
            self._jobs[group] += 1
            self._groups[job.id].add(group)

    def discard(self, job: J) -> None:
        """It waits no more."""
        if self._waiting.pop(job.id, None) is None:
            return
        for group in self._groups.pop(job.id):
            self._jobs[group] -= 1
            if not self._jobs[group]:
                del self._jobs[group], self._turns[group]

    def pop(self) -> J:
        """The next one; KeyError when none waits."""
        if not self._waiting:
            raise KeyError("nothing waits")
        _, job = min(self._waiting.values(), key=self._rank)
        for group in (self._whose(job), ("project", job.project)):
            self._turns[group] += 1
        self.discard(job)
        return job

    def _rank(self, held: tuple[int, J]) -> tuple[bool, int, int, int, int]:
        order, job = held
        level = self._turns[self._whose(job)]
        return job.priority >= BACKGROUND, level, job.priority, self._turns["project", job.project], order

    def _whose(self, job: J) -> Group:
        """The client whose turn the job takes: of those that want it the one that had the fewest."""
        return min(_processes(job), key=lambda group: self._turns[group])


def _processes(job: Waiting) -> Iterator[Group]:
    return (("process", process) for process in job.processes or (DAEMON,))


def project_of(path: str) -> str:
    """The project that a file belongs to: the nearest folder above it with one of PROJECT_MARKS, else its own folder. Decides
    nothing but whose turn it is."""
    folder = own = os.path.dirname(os.path.abspath(path))
    while folder != os.path.dirname(folder):
        if any(os.path.lexists(os.path.join(folder, mark)) for mark in PROJECT_MARKS):
            return folder
        folder = os.path.dirname(folder)
    return own

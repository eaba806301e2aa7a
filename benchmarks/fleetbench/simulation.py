"""A discrete-event simulation of many functions on larger fleets, from the times of tasks that were measured.

A job's search needs a processor of a node (or is done by the worker that does the rest), the rest a worker of a daemon, and in the
middle of that a GPU of the daemon's machine, one job at a time. Nothing else is waited for.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Step = tuple[str, "Resource | float"]  # take, give: a resource; work: seconds


@dataclass(frozen=True)
class Task:
    """Seconds of one function: its search, what a daemon's worker does besides, and what that needs a GPU for."""

    search: float
    here: float
    gpu: float


@dataclass(eq=False)
class Resource:
    """So many of a kind, which are taken in the order in which they are asked for."""

    kind: str
    count: int
    held: int = 0
    busy: float = 0.0  # seconds, of all together
    waiting: deque[Iterator[Step]] = field(default_factory=deque)


@dataclass(frozen=True)
class Layout:
    """Daemons of one machine each, with workers and GPUs; the `nodes`' processors are for all of them, and 0 leaves the search to
    the workers."""

    name: str
    daemons: int
    workers: int
    gpus: int
    nodes: int


@dataclass(frozen=True)
class Outcome:
    """`busy`: the share of the time for which each kind of resource was held."""

    seconds: float
    busy: dict[str, float]

    @property
    def bottleneck(self) -> str:
        return max(self.busy, key=lambda kind: self.busy[kind])


class Clock:
    """Runs processes, which yield steps, until none is left."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order, self._due = itertools.count(), list[tuple[float, int, Iterator[Step]]]()

    def run(self, processes: Sequence[Iterator[Step]]) -> float:
        for process in processes:
            self._go(process)
        while self._due:
            self.now, _, process = heapq.heappop(self._due)
            self._go(process)
        return self.now

    def _go(self, process: Iterator[Step]) -> None:
        """On until it waits for something."""
        for step, of in process:
            if isinstance(of, float):
                heapq.heappush(self._due, (self.now + of, next(self._order), process))
                return
            if step == "give":
                of.held -= 1
                if of.waiting:
                    of.held += 1
                    heapq.heappush(self._due, (self.now, next(self._order), of.waiting.popleft()))
            elif of.held == of.count:
                of.waiting.append(process)
                return
            else:
                of.held += 1


def job(task: Task, nodes: Resource | None, workers: Resource, gpus: Resource) -> Iterator[Step]:
    """One function's way."""
    if nodes is not None:
        yield from _with(nodes, task.search)
    before = task.here / 2 + (task.search if nodes is None else 0.0)
    yield "take", workers
    yield "work", before
    workers.busy += before
    if task.gpu:
        yield from _with(gpus, task.gpu)
        workers.busy += task.gpu
    yield "work", task.here / 2
    workers.busy += task.here / 2
    yield "give", workers


def _with(resource: Resource, seconds: float) -> Iterator[Step]:
    yield "take", resource
    yield "work", seconds
    resource.busy += seconds
    yield "give", resource


def simulate(tasks: Sequence[Task], layout: Layout) -> Outcome:
    """All tasks at once, dealt out to the daemons in turn."""
    nodes = Resource("nodes", layout.nodes) if layout.nodes else None
    machines = [(Resource("workers", layout.workers), Resource("GPUs", layout.gpus)) for _ in range(layout.daemons)]
    jobs = [job(task, nodes, *machines[i % layout.daemons]) for i, task in enumerate(tasks)]
    seconds = Clock().run(jobs)
    kinds: dict[str, list[Resource]] = {"nodes": [nodes] if nodes is not None else []}
    kinds |= {"workers": [w for w, _ in machines], "GPUs": [g for _, g in machines]}
    busy = {
        kind: sum(r.busy for r in found) / (seconds * sum(r.count for r in found))
        for kind, found in kinds.items()
        if found
    }
    return Outcome(seconds, busy)


def drawn(measured: Sequence[Task], gpu: Sequence[float], count: int, *, search: float = 1.0) -> list[Task]:
    """So many tasks, of the measured ones; the time on a GPU, which another machine measured, is drawn by itself. `search`: how many
    times as long as measured the searches take."""
    chance = random.Random(1)
    return [
        Task(found.search * search, found.here, chance.choice(gpu) if gpu else 0.0)
        for found in (chance.choice(measured) for _ in range(count))
    ]

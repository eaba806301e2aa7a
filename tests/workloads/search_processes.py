"""The parts of a search in several processes: measured beside the search in one (`benchmarks/searching/processes.py`)."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from mirage.results.progress import CancelToken
from mirage.search.executor import Serial
from mirage.search.limits import Guard
from mirage.search.subproblems import Key, Part, SharedWork

TICK_S = 0.02  # how often cancellation is looked at


class Processes:
    """In `count` processes that live until `close`. They are fresh interpreters, which share nothing with this one, import no
    torch, and end with it whatever happens to it."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._workers: list[tuple[Any, Connection]] = []
        self._work: SharedWork | None = None

    def parts(self, work: SharedWork, keys: Sequence[Key], guard: Guard) -> Iterator[Part]:
        if len(keys) < 2:
            yield from Serial().parts(work, keys, guard)
            return
        try:
            yield from self._spread(work, keys, guard)
        except BaseException:
            self.close()  # what runs there is of no use any more
            raise

    def _spread(self, work: SharedWork, keys: Sequence[Key], guard: Guard) -> Iterator[Part]:
        if self._work is not work:
            self.close()
            self._start(work, guard)
        found: dict[int, Part] = {}
        todo = iter(enumerate(keys))
        busy: dict[Connection, int] = {}
        idle = [connection for _, connection in self._workers]
        for i, key in enumerate(keys):
            while i not in found:
                for connection in list(idle):
                    following = next(todo, None)
                    if following is None:
                        break
                    busy[connection] = following[0]
                    idle.remove(connection)
                    with suppress(OSError):  # that it is gone is seen when its answer is read
                        connection.send((following[1], guard.left if guard.armed else float("inf")))
                guard.check()
                if not busy:  # every worker is gone
                    found[i] = work.search(key, guard)
                for ready in multiprocessing.connection.wait(list(busy), TICK_S):
                    assert isinstance(ready, Connection)
                    j = busy.pop(ready)
                    try:
                        found[j] = ready.recv()
                        idle.append(ready)
                    except (EOFError, OSError):  # killed, for its memory say: its part is searched here
                        found[j] = work.search(keys[j], guard)
            yield found.pop(i)

    def _start(self, work: SharedWork, guard: Guard) -> None:
        context = multiprocessing.get_context("spawn")
        self._work = work
        for _ in range(self.count):
            here, there = context.Pipe()
            process = context.Process(target=serve, args=(there, work, guard.memory // self.count), daemon=True)
            process.start()
            there.close()
            self._workers.append((process, here))

    def close(self) -> None:
        for process, connection in self._workers:
            process.kill()
            connection.close()
        for process, _ in self._workers:
            process.join()
        self._workers, self._work = [], None


def serve(connection: Connection, work: SharedWork, memory: int) -> None:
    """A worker: parts as they are asked for, until the other side is gone."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    while True:
        try:
            key, seconds = connection.recv()
            connection.send(work.search(key, Guard(CancelToken(), seconds, memory)))
        except (EOFError, OSError):
            return


def end_with_parent() -> None:
    """Waits for the parent's end, however it comes, and ends this process."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

"""Worker processes that stay when a `Worker` is closed, for the next one that asks for the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from mirage.isolate.runner import Worker, _Process
from mirage.isolate.system import ended


@dataclass
class KeptWorkers:
    """Idle processes by what they were started with. A process is kept as the daemon's pool keeps it: as long as no call on it
    was cancelled, timed out or ended it; such a one is ended as ever."""

    idle: dict[str, list[tuple[_Process, int, int]]] = field(default_factory=dict)

    def patch(self, patch: pytest.MonkeyPatch) -> None:
        """Within the patch every Worker of this process takes from here, and gives back here."""
        kept, start, warm, call, close = self, Worker._started, Worker.warm, Worker.call, Worker.close
        calling: set[int] = set()

        def warmed(self: Worker, *modules: str, **named: Any) -> None:
            if self._process is None and not kept.take(self):
                warm(self, *modules, **named)

        def called(self: Worker, *args: Any, **named: Any) -> Any:
            if self._process is None and not kept.take(self):
                start(self)
            calling.add(id(self))
            try:
                return call(self, *args, **named)
            finally:
                calling.discard(id(self))

        def closed(self: Worker) -> None:
            if self._process is None or id(self) in calling:
                close(self)
                return
            kept.idle.setdefault(kind(self), []).append((self._process, self._calls, self._warming))
            self._process, self._warming = None, 0

        patch.setattr(Worker, "warm", warmed)
        patch.setattr(Worker, "call", called)
        patch.setattr(Worker, "close", closed)

    def take(self, worker: Worker) -> bool:
        """Gives the worker an idle process, if there is one that lives."""
        while waiting := self.idle.get(kind(worker)):
            try:
                process, calls, warming = waiting.pop()
            except IndexError:  # another thread was quicker
                return False
            if ended(process.popen) is None:
                worker._process, worker._calls, worker._warming = process, calls, warming
                return True
            process.end()
        return False

    def end(self) -> None:
        for processes in self.idle.values():
            for process, _, _ in processes:
                process.end()
        self.idle.clear()


def kind(worker: Worker) -> str:
    """The same for workers that are started alike."""
    return repr((worker._order, worker._system))

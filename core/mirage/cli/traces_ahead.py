"""Traces in children of a worker, which begin before anybody asks for them, while the worker imports what runs kernels."""

from __future__ import annotations

from concurrent.futures import Future

from mirage.cli.worker_queue import WorkerQueue
from mirage.errors import ProtocolError, WorkerDied
from mirage.isolate.task_table import Payload, Value
from mirage.results.progress import CancelToken
from mirage.verify.worker_tasks import RunTask


class TracesAhead:
    """Whatever is called runs in a child of the queue's worker: what is traced cannot change what gives evidence on it. For one
    thread."""

    def __init__(self, queue: WorkerQueue) -> None:
        self._queue = queue
        self._begun: list[tuple[Payload, Future[Value]]] = []

    def begin(self, payload: Payload, timeout_s: float) -> None:
        """Begins the trace that the task "trace" makes of a payload; whoever calls for it gets this one's answer."""
        self._begun.append((payload, self._submit("trace", payload, timeout_s)))

    def call(self, task: str, payload: Payload, *, timeout_s: float, cancel: CancelToken | None = None) -> Value:
        """As a worker's own; `cancel` is looked at before it begins."""
        begun = next((x for x in self._begun if task == "trace" and x[0] == payload), None)
        if begun is not None:
            self._begun.remove(begun)
            try:
                return begun[1].result()
            except (ProtocolError, WorkerDied):
                pass  # another task may have ended the worker, and this child with it: asked again, it fails in its own words
        if cancel is not None:
            cancel.check()
        return self._submit(task, payload, timeout_s).result()

    def _submit(self, task: str, payload: Payload, timeout_s: float) -> Future[Value]:
        def work(run_task: RunTask, given: dict[str, object]) -> Value:
            return run_task(task, given)

        return self._queue.beside(work, dict(payload), timeout_s)

"""A queue before a worker: tasks that begin now and are waited for later, in the order in which they were asked."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

from mirage.isolate.runner import Worker
from mirage.results.progress import CancelToken
from mirage.verify.worker_tasks import RunTask

P = TypeVar("P")
R = TypeVar("R")


class WorkerQueue:
    """Of the `worker`, which answers one call after another and which nobody else calls meanwhile; a context manager that ends with
    what is left of them. `timeout_s` is each call's."""

    def __init__(self, worker: Worker, timeout_s: float) -> None:
        self._worker, self._timeout = worker, timeout_s
        self._queue = ThreadPoolExecutor(1, thread_name_prefix="mirage-queue")
        self._stop = CancelToken()
        self._begun: list[Future[object]] = []

    def __enter__(self) -> WorkerQueue:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._stop.cancel()
        self._queue.shutdown(wait=True, cancel_futures=True)

    def __call__(self, work: Callable[[RunTask, P], R], payload: P) -> Future[R]:
        """Begins `work`, which runs tasks."""
        found = self._queue.submit(work, self._call, payload)
        self._begun.append(found)  # type: ignore[arg-type]
        return found

    def run(self, task: str, payload: dict[str, object]) -> dict[str, object]:
        """The task's answer, after all that was asked before."""
        return self(lambda run_task, given: run_task(task, given), payload).result()

    def forget(self) -> None:
        """Nobody waits any more for what has not begun."""
        for future in self._begun:
            future.cancel()
        self._begun.clear()

    def _call(self, task: str, payload: dict[str, object]) -> dict[str, object]:
        return self._worker.call(task, payload, timeout_s=self._timeout, cancel=self._stop)

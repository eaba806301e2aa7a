"""A queue before a worker: tasks that begin now and are waited for later, in the order in which they were asked, or beside them in
children of the worker."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import TypeVar

from mirage.isolate.runner import Worker
from mirage.results.progress import CancelToken
from mirage.verify.worker_tasks import RunTask

P = TypeVar("P")
R = TypeVar("R")
CHILDREN = 4  # tasks beside the queue at once


class WorkerQueue:
    """Of the `worker`, which answers one call after another and which nobody else calls meanwhile; a context manager that ends with
    what is left of them. `timeout_s` is each call's."""

    def __init__(self, worker: Worker, timeout_s: float) -> None:
        self._worker, self._timeout = worker, timeout_s
        self._queue = ThreadPoolExecutor(1, thread_name_prefix="mirage-queue")
        self._waiting = ThreadPoolExecutor(CHILDREN, thread_name_prefix="mirage-beside")
        self._urgent: deque[Callable[[], None]] = deque()
        self._stop = CancelToken()
        self._begun: list[Future[object]] = []

    def __enter__(self) -> WorkerQueue:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._stop.cancel()
        self._queue.shutdown(wait=True, cancel_futures=True)
        self._waiting.shutdown(wait=True, cancel_futures=True)

    def __call__(self, work: Callable[[RunTask, P], R], payload: P) -> Future[R]:
        """Begins `work`, which runs tasks."""
        found = self._queue.submit(self._next, work, payload)
        self._begun.append(found)  # type: ignore[arg-type]
        return found

    def beside(self, work: Callable[[RunTask, P], R], payload: P, timeout_s: float = 0.0) -> Future[R]:
        """Begins `work`, each of whose tasks a child of the worker does: it begins before what is in the queue, and its answer is taken
        after it, which it may take `timeout_s` to be there (by default the queue's)."""
        return self._waiting.submit(work, partial(self._in_child, timeout_s=timeout_s), payload)

    def run(self, task: str, payload: dict[str, object], timeout_s: float = 0.0) -> dict[str, object]:
        """The task's answer, after all that was asked before."""
        return self(lambda run_task, given: self._call(task, given, timeout_s), payload).result()

    def forget(self) -> None:
        """Nobody waits any more for what has not begun."""
        for future in self._begun:
            future.cancel()
        self._begun.clear()

    def _next(self, work: Callable[[RunTask, P], R], payload: P) -> R:
        self._do_urgent()
        return work(self._call, payload)

    def _do_urgent(self) -> None:
        while self._urgent:
            self._urgent.popleft()()

    def _in_child(self, task: str, payload: dict[str, object], timeout_s: float = 0.0) -> dict[str, object]:
        return self.run("collect_forked", self._first("begin_forked", {"task": task, "payload": payload}), timeout_s)

    def _first(self, task: str, payload: dict[str, object]) -> dict[str, object]:
        """The task's answer, before what is in the queue."""
        found: Future[dict[str, object]] = Future()

        def now() -> None:
            if not found.set_running_or_notify_cancel():
                return
            try:
                found.set_result(self._call(task, payload))
            except BaseException as e:
                found.set_exception(e)

        self._urgent.append(now)
        self._queue.submit(self._do_urgent).add_done_callback(
            lambda turn: found.cancel()
        )  # it has ended, or will have no turn
        return found.result()

    def _call(self, task: str, payload: dict[str, object], timeout_s: float = 0.0) -> dict[str, object]:
        return self._worker.call(task, payload, timeout_s=timeout_s or self._timeout, cancel=self._stop)

"""A worker of its own for the runs of float opinions, which begin while the other opinions are asked."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from mirage.isolate.runner import Worker
from mirage.results.progress import CancelToken
from mirage.verify.worker_tasks import FloatPayload, FloatRun, run_floats


class FloatWorker:
    """Begins runs in the `worker`, one after another; a context manager that ends with what is left of them."""

    def __init__(self, worker: Worker, timeout_s: float) -> None:
        self._worker, self._timeout = worker, timeout_s
        self._queue = ThreadPoolExecutor(1, thread_name_prefix="mirage-floats")
        self._stop = CancelToken()

    def __enter__(self) -> FloatWorker:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._stop.cancel()
        self._queue.shutdown(wait=True, cancel_futures=True)

    def __call__(self, payload: FloatPayload) -> Future[FloatRun]:
        return self._queue.submit(run_floats, self._call, payload)

    def _call(self, task: str, payload: dict[str, object]) -> dict[str, object]:
        return self._worker.call(task, payload, timeout_s=self._timeout, cancel=self._stop)

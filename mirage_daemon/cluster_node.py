"""What a node of a cluster does: the searches of a job, or all of it where the node's GPU is to choose, in a limited worker as on the
daemon's machine, with this node's interpreter.

It gives bytes of our own messages: who it is, one for each finished part, and an answer at the end. What it does stands in its log
(standard error, which Ray keeps) under the job's name.
"""

from __future__ import annotations

import logging
import platform
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from queue import SimpleQueue

from mirage.errors import ClusterFault, MirageError
from mirage.isolate import worker_messages
from mirage.isolate.task_table import Value
from mirage.results.progress import CancelToken
from mirage_daemon import question_key
from mirage_daemon.jobs import Report
from mirage_daemon.worker_pool import WorkerPool

log = logging.getLogger("mirage.daemon.node")
MEASURE = "measure"  # all of a job; every other task is to search
SAME = "install the same version of mirage on every node, and start the daemon again"


@lru_cache
def _pool(task: str) -> WorkerPool:
    """The workers of this process, kept from task to task."""
    return WorkerPool(task, most=1)


@lru_cache(maxsize=1)
def _thread() -> ThreadPoolExecutor:
    """Who starts them: a worker dies with its thread."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    return ThreadPoolExecutor(1, thread_name_prefix="mirage-node")


def _search_here(payload: Value, report: Report, cancel: CancelToken) -> Value:
    return dict(_pool("search").run_job({**payload, "interpreter": sys.executable}, report, cancel))  # type: ignore[typeddict-item]


def _measure_here(payload: Value, report: Report, cancel: CancelToken) -> Value:
    """Several such tasks share the GPU: each takes its lock to time, and for nothing else."""
    return dict(_pool("optimize").run_job({**payload, "interpreter": sys.executable}, report, cancel))  # type: ignore[typeddict-item]


def work(request: bytes) -> Iterator[bytes]:
    """The messages of one task, for the one that `request` frames."""
    (asked,) = worker_messages.Frames().feed(request)
    if asked["type"] != "call":
        raise ClusterFault("work has to be asked for by a call")
    ident, task, payload, job = asked["id"], asked["task"], asked["payload"], asked["payload"].pop("job", "")
    if payload.pop("code", "") != question_key.code_digest():
        error = ClusterFault(f"the node {platform.node()} has another version of mirage", next_step=SAME)
        yield worker_messages.encode(worker_messages.answer(ident, None, error.to_dict()))
        return
    said: SimpleQueue[bytes | None] = SimpleQueue()
    cancel, here = CancelToken(), _measure_here if task == MEASURE else _search_here
    thread = _thread()
    log.info("job %s: %s of `%s` begins", job, task, payload.get("function", ""))
    yield worker_messages.encode(worker_messages.event(ident, {"node": platform.node()}))

    def run() -> None:
        try:
            found = here(
                payload,
                lambda event: said.put(worker_messages.encode(worker_messages.event(ident, dict(event)))),
                cancel,
            )
            said.put(worker_messages.encode(worker_messages.answer(ident, found)))
        except MirageError as e:
            said.put(worker_messages.encode(worker_messages.answer(ident, None, e.to_dict())))
        finally:
            said.put(None)

    done = thread.submit(run)
    try:
        while (message := said.get()) is not None:
            yield message
        done.result()
    finally:
        cancel.cancel()
        log.info("job %s: %s ends", job, task)

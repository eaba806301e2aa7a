"""What a node of a cluster does: the searches of a job, in a limited worker as on the daemon's machine, with this node's interpreter.

It gives bytes of our own messages, one for each finished part and an answer at the end.
"""

from __future__ import annotations

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

SAME = "install the same version of mirage on every node, and start the daemon again"


@lru_cache(maxsize=1)
def _kept() -> tuple[WorkerPool, ThreadPoolExecutor]:
    """The workers of this process, kept from task to task, and the thread that starts them: a worker dies with its thread."""
    return WorkerPool("search", most=1), ThreadPoolExecutor(1, thread_name_prefix="mirage-node")


def _search_here(payload: Value, report: Report, cancel: CancelToken) -> Value:
    return dict(_kept()[0].run_job({**payload, "interpreter": sys.executable}, report, cancel))  # type: ignore[typeddict-item]


def search(request: bytes) -> Iterator[bytes]:
    """The messages of one search, for the one that `request` frames."""
    (asked,) = worker_messages.Frames().feed(request)
    if asked["type"] != "call":
        raise ClusterFault("a search has to be asked for by a call")
    ident, payload = asked["id"], asked["payload"]
    if payload.pop("code", "") != question_key.code_digest():
        error = ClusterFault(f"the node {platform.node()} has another version of mirage", next_step=SAME)
        yield worker_messages.encode(worker_messages.answer(ident, None, error.to_dict()))
        return
    said: SimpleQueue[bytes | None] = SimpleQueue()
    cancel = CancelToken()

    def run() -> None:
        try:
            found = _search_here(
                payload,
                lambda event: said.put(worker_messages.encode(worker_messages.event(ident, dict(event)))),
                cancel,
            )
            said.put(worker_messages.encode(worker_messages.answer(ident, found)))
        except MirageError as e:
            said.put(worker_messages.encode(worker_messages.answer(ident, None, e.to_dict())))
        finally:
            said.put(None)

    done = _kept()[1].submit(run)
    try:
        while (message := said.get()) is not None:
            yield message
        done.result()
    finally:
        cancel.cancel()

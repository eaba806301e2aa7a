"""The background thread of a running program: reports the inputs of calls to the daemon and fetches finished kernels.

No call waits for it. The queue is bounded, and while no daemon answers what comes is dropped; none is started. A program that
ends waits for what it just sent, for EXIT_S at most: one that makes a single call would say nothing otherwise."""

from __future__ import annotations

import atexit
import linecache
import logging
import os
import queue
import sys
import threading
import time
from typing import TYPE_CHECKING

from mirage.errors import DaemonUnavailable, MirageError
from mirage.runtime.observed_calls import Inputs, Observer

if TYPE_CHECKING:
    from mirage.link.client import Client

log = logging.getLogger("mirage.runtime")
SWITCH = "MIRAGE_RUNTIME"  # "off": nothing is recorded or taken
QUEUED = 64
EXIT_S = 1.0
AWAY_S, IDLE_S = 10.0, 5.0  # no daemon: so long nothing is tried; nothing to say: so long the connection is kept

Item = tuple[Observer, Inputs, bool]


class Background:
    """The queue and its thread, which begins with the first item."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Item] = queue.Queue(QUEUED)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._away_until = 0.0

    def send(self, observer: Observer, inputs: Inputs, new: bool) -> bool:
        """Whether it was taken on; never waits."""
        if time.monotonic() < self._away_until:
            return False
        try:
            self._queue.put_nowait((observer, inputs, new))
        except queue.Full:
            return False
        if self._thread is None and self._lock.acquire(blocking=False):
            try:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, daemon=True, name="mirage-runtime")
                    atexit.register(self.wait, EXIT_S)
                    self._thread.start()
            finally:
                self._lock.release()
        return True

    def wait(self, timeout_s: float | None = None) -> None:
        """Until everything that was sent is dealt with; not longer than so long."""
        with self._queue.all_tasks_done:
            self._queue.all_tasks_done.wait_for(lambda: not self._queue.unfinished_tasks, timeout_s)

    def _run(self) -> None:
        while True:
            try:
                item = self._queue.get(timeout=None if self._client is None else IDLE_S)
            except queue.Empty:
                self._close()
                continue
            try:
                self._deal(*item)
            except (MirageError, OSError) as e:  # nobody waits for an answer here
                log.debug("the daemon was not told of a call: %s", e)
                self._close()
                if isinstance(e, DaemonUnavailable | OSError):
                    self._away_until = time.monotonic() + AWAY_S
            except Exception:  # a loader that gives no source, a mistake of ours: the next call may do better
                log.debug("the daemon was not told of a call", exc_info=True)
                self._close()
            finally:
                self._queue.task_done()

    def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _deal(self, observer: Observer, inputs: Inputs, new: bool) -> None:
        from mirage.link.client import Client
        from mirage.runtime import daemon_kernels

        code = observer.function.__code__
        path = os.path.abspath(code.co_filename)
        text = "".join(linecache.getlines(code.co_filename, observer.function.__globals__))
        if not text or os.path.basename(path).startswith("<"):
            return
        if self._client is None:
            self._client = Client.connect(start_daemon=False, name="runtime")
        name, rows = observer.function.__name__, [(n, list(shape), dtype) for n, shape, dtype in inputs]
        if new:
            observer.tell(self._client, text, path, rows)
        if observer.done:
            return
        result = self._client.lookup(
            text, path, name, target=daemon_kernels.target(), interpreter=sys.executable, inputs=rows
        )
        if result is not None and observer.wants(result):
            kernel = daemon_kernels.take(observer.function, inputs, result)
            if kernel is not None:
                observer.done = True
                observer.use(kernel)


_background = Background()


def send(observer: Observer, inputs: Inputs, new: bool) -> bool:
    """See Background.send."""
    return _background.send(observer, inputs, new)


def wait() -> None:
    """See Background.wait."""
    _background.wait()


def _afresh() -> None:
    global _background
    atexit.unregister(_background.wait)  # what the parent sent is the parent's to wait for
    _background = Background()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_afresh)  # the thread is not there, and a lock may be held for good

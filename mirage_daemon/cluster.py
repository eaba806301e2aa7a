"""The nodes of a Ray cluster, which search for the daemon's jobs. What they deliver is candidates: the daemon's own workers emit,
verify and time them as if they had found them.

Ray is used in a process of its own (`cluster_driver.py`): it unpickles what nodes send, and its library ends the process that has
lost the cluster. The daemon reads that process's messages as it reads a worker's, and does without a cluster where it ends.
"""

from __future__ import annotations

import logging
import os
import queue
import re
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from mirage.errors import ClusterFault, MirageError, ProtocolError
from mirage.isolate import worker_messages
from mirage.isolate.listening import WITH_ONE_OF_MANY, Listener
from mirage.isolate.task_table import Payload
from mirage.isolate.worker_messages import FromWorker
from mirage.profile.candidate_choice import gpu_here
from mirage.results.progress import CancelToken
from mirage_daemon import question_key
from mirage_daemon.fault_breaker import FaultBreaker
from mirage_daemon.jobs import Report
from mirage_daemon.journal import JobPayload

log = logging.getLogger("mirage.daemon.cluster")
CONNECT_S = 60.0  # until the process has to say that it reached the cluster
SEARCH_S = 3600.0  # of one job at the nodes, with the time that it waits for one
LOOK_S = 0.05  # how often a job that waits looks whether it was cancelled
MAX_SAID = 300  # characters of what a node says of its fault
UNREAD = 16  # messages of one job that wait for it
ADDRESS = re.compile(r"auto|[A-Za-z0-9_.-]+:[0-9]{1,5}|\[[0-9A-Fa-f:.]+\]:[0-9]{1,5}")
# Variables that would put another cluster in the address's place: a project's shell may set them
REMOVED = ("RAY_ADDRESS", "RAY_JOB_CONFIG_JSON_ENV_VAR")
# As of the processes that read texts: neither the working folder nor a variable can put another module before ours
_START = "import sys; sys.path[:] = {path!r}; from mirage_daemon.cluster_driver import main; main({address!r})"


def checked_address(said: object) -> str:
    """The address that a setting or an option says; ClusterFault where it is none."""
    if not isinstance(said, str) or not ADDRESS.fullmatch(said):
        raise ClusterFault(
            f"{said!r} is no address of a cluster",
            next_step="say HOST:PORT, as `ray start --head` prints it, or `auto` on a machine that runs a node of it",
        )
    return said


class Cluster:
    """`connect` starts its process; `search` may be called by many threads. From then on nothing of it raises but Cancelled."""

    def __init__(
        self, address: object, *, command: Sequence[str] = (), breaker: FaultBreaker | None = None, connect_s: float = CONNECT_S
    ) -> None:  # fmt: skip
        self.address = checked_address(address)
        code = _START.format(path=[os.path.abspath(p) for p in sys.path if p], address=self.address)
        self._command = list(command) or [sys.executable, "-I", "-S", "-c", code]
        self._breaker, self._connect_s = breaker or FaultBreaker(), connect_s
        self._lock = threading.Lock()
        self._driver: _Driver | None = None
        self._closed = False

    def connect(self) -> None:
        """Reach the cluster, or raise ClusterFault."""
        self._connected()

    def connect_later(self) -> None:
        """Reach the cluster beside what else happens; a fault is told by the log alone."""

        def connect() -> None:
            try:
                self.connect()
            except ClusterFault as e:
                log.warning("%s", e)
                self._breaker.failed()

        threading.Thread(target=connect, daemon=True, name="mirage-cluster-connect").start()

    @property
    def processors(self) -> int:
        """How many searches the cluster does at once; 0 while it is not reached."""
        driver = self._driver
        return driver.processors if driver is not None and driver.alive else 0

    def close(self) -> None:
        """End its process, and with that what the cluster does for it."""
        self._closed = True
        with self._lock:
            driver, self._driver = self._driver, None
        if driver is not None:
            driver.end()

    def search(self, body: JobPayload, report: Report, cancel: CancelToken) -> None:
        """The job's searches, on a node. `report` gets the finished parts as they come; what does not come, whatever the reason,
        is searched by whoever asked."""
        if self._closed or not self._breaker.enter():
            return
        try:
            driver = self._connected()
            if driver.processors:
                driver.search(body, report, cancel)
            self._breaker.worked()
        except ClusterFault as e:
            log.warning("%s; what was found there is kept, and the search goes on here", e.message)
            self._breaker.failed()

    def _connected(self) -> _Driver:
        with self._lock:
            if self._driver is None or not self._driver.alive:
                if self._closed:
                    raise ClusterFault("the daemon stops")
                self._driver = _Driver(self._command, self._connect_s)
                log.info("the cluster at %s has %d processors", self.address, self._driver.processors)
            return self._driver


class _Driver:
    """The process that uses Ray. A thread reads what it says, and hands each job's messages to the thread that waits for them."""

    def __init__(self, command: Sequence[str], connect_s: float) -> None:
        self.processors, self.alive = 0, True
        self._number, self._lock, self._writing = 0, threading.Lock(), threading.Lock()
        self._jobs: dict[int, queue.Queue[FromWorker]] = {}
        self._said: queue.Queue[MirageError | None] = queue.Queue()  # how the connection went
        env = {name: value for name, value in os.environ.items() if name not in REMOVED}
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, cwd="/", env=env
            )
        except OSError as e:
            raise ClusterFault(f"the process for it cannot be started: {e.strerror}") from None
        threading.Thread(target=self._read, daemon=True, name="mirage-cluster").start()
        try:
            problem = self._said.get(timeout=connect_s)
        except queue.Empty:
            problem = ClusterFault(f"it did not answer within {connect_s:g} s")
        if problem is not None:
            self.end()
            raise problem

    def end(self) -> None:
        self.alive = False
        self._process.kill()
        self._process.wait()

    def search(self, body: JobPayload, report: Report, cancel: CancelToken) -> None:
        """ClusterFault where this process ended, or none of the nodes could do it."""
        messages: queue.Queue[FromWorker] = queue.Queue(UNREAD)
        with self._lock:
            self._number += 1
            ident = self._number
            self._jobs[ident] = messages
        asked = {**body, "timed": gpu_here(), "code": question_key.code_digest()}
        asked.pop("warm", None)
        until, answer = time.monotonic() + SEARCH_S, None
        try:
            self._send(ident, "search", asked)
            while answer is None:
                cancel.check()
                message = self._next(messages, until)
                if message is not None and message["type"] == "event":
                    report(message["event"])
                elif message is not None and message["type"] == "answer":
                    answer = message
        finally:
            with self._lock:
                del self._jobs[ident]
            if answer is None and self.alive:
                self._send(ident, "cancel", {})
        if answer["error"]:
            self._tell(MirageError.from_dict(answer["error"]))

    def _next(self, messages: queue.Queue[FromWorker], until: float) -> FromWorker | None:
        """The job's next message; None where there is none yet, ClusterFault where none will come."""
        try:
            return messages.get(timeout=LOOK_S)
        except queue.Empty:
            if not self.alive:
                raise ClusterFault("the connection to the cluster is lost") from None
            if time.monotonic() > until or not self.processors:
                raise ClusterFault("the cluster has no processors left, or none for this job in time") from None
            return None

    @staticmethod
    def _tell(error: MirageError) -> None:
        """A fault of the cluster counts as one; a mistake of the user's is found here too, and told by the job."""
        said = " ".join(error.message.split())[:MAX_SAID]
        if isinstance(error, ClusterFault):
            raise ClusterFault(said)
        log.info("no node searched for it: %s", said)

    def _send(self, ident: int, task: str, payload: Payload) -> None:
        try:
            data = memoryview(worker_messages.encode(worker_messages.call(ident, task, payload)))
            assert self._process.stdin is not None
            with self._writing:
                while data:
                    data = data[os.write(self._process.stdin.fileno(), data) :]
        except (OSError, ValueError):  # it has ended, or is being ended
            self.alive = False
            raise ClusterFault("the connection to the cluster is lost") from None

    def _read(self) -> None:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        frames, listener = worker_messages.Frames(WITH_ONE_OF_MANY), Listener(WITH_ONE_OF_MANY)
        try:
            while data := os.read(descriptor, 1 << 16):
                for message in frames.feed(data):
                    self._hand_on(message)
                listener.rest()
        except (OSError, ProtocolError, struct.error) as e:
            log.warning("the process that uses Ray is ended: %s", e)
        self.alive = False
        self._said.put(ClusterFault("the process that uses Ray ended before it reached the cluster"))
        self._process.kill()
        self._process.wait()

    def _hand_on(self, message: object) -> None:
        """The connection's own messages have the number 0: the number of processors, or why there are none."""
        checked = worker_messages.check(message)
        if checked["type"] in ("ready", "call"):
            return
        ident = checked["id"]  # type: ignore[typeddict-item]
        if ident:
            while (to := self._jobs.get(ident)) is not None:
                with suppress(queue.Full):
                    to.put(checked, timeout=LOOK_S)  # type: ignore[arg-type]
                    return
        elif checked["type"] == "answer" and checked["error"]:
            error = MirageError.from_dict(checked["error"])
            self._said.put(ClusterFault(error.message, next_step=error.next_step))
        elif checked["type"] == "event":
            found = checked["event"].get("processors")
            self.processors = found if type(found) is int and 0 < found < 1 << 20 else 0
            self._said.put(None)

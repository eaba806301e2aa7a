"""The nodes of a Ray cluster, which search for the daemon's jobs. What they deliver is candidates: the daemon's own workers emit,
verify and time them as if they had found them. On a machine without a GPU a node that has the target's one chooses among the
candidates; its µGraph is verified here, and its times are shown as its word.

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
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeGuard

from mirage.devices.table import target_named
from mirage.errors import ClusterFault, MirageError, ProtocolError, RemoteCacheFault
from mirage.isolate import worker_messages
from mirage.isolate.listening import WITH_ONE_OF_MANY, Listener
from mirage.isolate.task_table import Payload, Value
from mirage.isolate.worker_messages import FromWorker
from mirage.link.answers import NodeNumbers
from mirage.profile.candidate_choice import gpu_here
from mirage.results.progress import CancelToken
from mirage_daemon import question_key
from mirage_daemon.cluster_node import MEASURE
from mirage_daemon.fault_breaker import FaultBreaker
from mirage_daemon.jobs import Report
from mirage_daemon.journal import JobPayload
from mirage_daemon.known_result import KnownResult
from mirage_daemon.proposal import Proposal
from mirage_daemon.remote_entry import RemoteEntry

log = logging.getLogger("mirage.daemon.cluster")
CONNECT_S = 60.0  # until the process has to say that it reached the cluster
SEARCH_S = 3600.0  # of one job at the nodes, with the time that it waits for one
LOOK_S = 0.05  # how often a job that waits looks whether it was cancelled
MAX_SAID = 300  # characters of what a node says of its fault
DEAF_S = 20.0  # that the process may take to read a CHUNK of what it is asked
CHUNK = 1 << 16  # bytes
WITH_RAY = replace(WITH_ONE_OF_MANY, event_items=WITH_ONE_OF_MANY.items)  # it tells of all nodes in one event
UNREAD = 16  # messages of one job that wait for it
MAX_NODES, MAX_GPUS = 4096, 64  # that are told of
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,79}")  # of a node or a GPU: what people read
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


def is_of(gpu: str, target: str) -> bool:
    """Whether a GPU, by the name that Ray has for it ("H200", "A100-40G"), is one of a target ("sm_90a" is "sm_90")."""
    return target.rstrip("af") in (target_named(gpu), target_named(gpu.partition("-")[0]))


def nodes_of(said: object) -> list[NodeNumbers]:
    """The nodes that a cluster tells of; without those whose name, processors or GPUs are none."""
    found = map(_node, said[:MAX_NODES] if isinstance(said, list) else ())
    return [node for node in found if node is not None]


def _node(said: object) -> NodeNumbers | None:
    name, processors, gpus = map(said.get, ("name", "processors", "gpus")) if isinstance(said, dict) else (None,) * 3
    if not _is_name(name) or type(processors) is not int or not 0 <= processors < 1 << 20 or not isinstance(gpus, list):
        return None
    if len(gpus) > MAX_GPUS or not all(map(_is_name, gpus)):
        return None
    return {"name": name, "role": "node", "processors": processors, "gpus": gpus, "jobs": 0}


def _is_name(said: object) -> TypeGuard[str]:
    return isinstance(said, str) and NAME.fullmatch(said) is not None


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
        self._closed, self._did = False, Counter[str]()  # a node's name -> pieces of work

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

    @property
    def nodes(self) -> list[NodeNumbers]:
        """The cluster as a whole, then each of its nodes, by its own word."""
        driver = self._driver
        here = driver.nodes if driver is not None and driver.alive else []
        of_all: NodeNumbers = {
            "name": self.address,
            "role": "cluster",
            "processors": self.processors,
            "gpus": [gpu for node in here for gpu in node["gpus"]],
            "jobs": self._did.total(),
        }
        for node in here:
            node["jobs"] = self._did[node["name"]]
        return [of_all, *here]

    def close(self) -> None:
        """End its process, and with that what the cluster does for it."""
        self._closed = True
        with self._lock:
            driver, self._driver = self._driver, None
        if driver is not None:
            driver.end()

    def work(self, body: JobPayload, report: Report, cancel: CancelToken) -> Proposal | None:
        """What a node's GPU chose, where this machine has none and a node has one of the job's target; else its searches, on a node."""
        found = None if gpu_here() else self.measured(body, report, cancel)
        if found is None:
            self.search(body, report, cancel)
        return found

    def search(self, body: JobPayload, report: Report, cancel: CancelToken) -> None:
        """The job's searches, on a node. `report` gets the finished parts as they come; what does not come, whatever the reason,
        is searched by whoever asked."""
        self._ask("search", {**body, "timed": gpu_here()}, report, cancel)

    def measured(self, body: JobPayload, report: Report, cancel: CancelToken) -> Proposal | None:
        """The µGraph that a node chose with a GPU of the job's target, and what it measured; None where no node has one, or none of its
        kernels is the answer. The parts of its search are not reported: it keeps more candidates than a machine without a GPU would."""
        driver = self._driver
        gpus = [gpu for node in (driver.nodes if driver is not None else []) for gpu in node["gpus"]]
        gpu = next((gpu for gpu in gpus if is_of(gpu, body["target"])), "")
        if not gpu:
            return None
        answer = self._ask(
            MEASURE, {**body, "checkpoint": {}, "gpu": gpu}, lambda e: None if "part" in e else report(e), cancel
        )
        try:
            result = None if answer is None else KnownResult.of(answer.get("result")).result
            entry = None if result is None else RemoteEntry.of("", result)
            return None if entry is None else Proposal(entry.mugraph, entry.word(self.address))
        except (ProtocolError, RemoteCacheFault) as e:
            log.warning("what a node with a %s gave is no measured answer: %s", gpu, e.message)
            self._breaker.failed()
            return None

    def _ask(self, task: str, asked: Payload, report: Report, cancel: CancelToken) -> Value | None:
        """What a node answers; None where it does not, for whatever reason."""
        if self._closed or not self._breaker.enter():
            return None

        def told(event: Value) -> None:
            name = event.get("node")
            if _is_name(name):
                self._did[name] += 1
                log.info("job %s: %s at %s", asked.get("job", ""), task, name)
            else:
                report(event)

        answer = None
        try:
            driver = self._connected()
            if driver.processors:
                answer = driver.ask(task, asked, told, cancel)
            self._breaker.worked()
        except ClusterFault as e:
            log.warning("%s; what was found there is kept, and the search goes on here", e.message)
            self._breaker.failed()
        return answer

    def _connected(self) -> _Driver:
        with self._lock:
            if self._driver is None or not self._driver.alive:
                if self._closed:
                    raise ClusterFault("the daemon stops")
                self._driver = _Driver(self._command, self._connect_s)
                log.info("the cluster at %s has %d processors", self.address, self._driver.processors)
            return self._driver


class _Driver:
    """The process that uses Ray. A thread reads what it says, and hands each job's messages to the thread that waits for them; another
    one writes: a process that reads nothing holds up no job."""

    def __init__(self, command: Sequence[str], connect_s: float) -> None:
        self.processors, self.alive, self.nodes = 0, True, list[NodeNumbers]()
        self._number, self._lock = 0, threading.Lock()
        self._asked, self._writing_since = queue.SimpleQueue[bytes](), 0.0
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
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True, name="mirage-cluster").start()
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
        self._asked.put(b"")  # nothing more is written

    def ask(self, task: str, asked: Payload, report: Callable[[Value], None], cancel: CancelToken) -> Value | None:
        """The answer's value, None where the job itself is at fault; ClusterFault where this process ended, or no node could do it."""
        messages: queue.Queue[FromWorker] = queue.Queue(UNREAD)
        with self._lock:
            self._number += 1
            ident = self._number
            self._jobs[ident] = messages
        asked = {**asked, "code": question_key.code_digest()}
        asked.pop("warm", None)
        until, answer = time.monotonic() + SEARCH_S, None
        try:
            self._send(ident, task, asked)
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
        return answer["value"]

    def _next(self, messages: queue.Queue[FromWorker], until: float) -> FromWorker | None:
        """The job's next message; None where there is none yet, ClusterFault where none will come."""
        try:
            return messages.get(timeout=LOOK_S)
        except queue.Empty:
            if not self.alive:
                raise ClusterFault("the connection to the cluster is lost") from None
            if self._writing_since and time.monotonic() - self._writing_since > DEAF_S:
                self.end()
                raise ClusterFault("the process that uses Ray reads nothing of what it is asked") from None
            if time.monotonic() > until or not self.processors:
                raise ClusterFault("the cluster has no processors left, or none for this job in time") from None
            return None

    @staticmethod
    def _tell(error: MirageError) -> None:
        """A fault of the cluster counts as one; a mistake of the user's is found here too, and told by the job."""
        said = " ".join(error.message.split())[:MAX_SAID]
        if isinstance(error, ClusterFault):
            raise ClusterFault(said)
        log.info("no node could do it: %s", said)

    def _send(self, ident: int, task: str, payload: Payload) -> None:
        if not self.alive:
            raise ClusterFault("the connection to the cluster is lost")
        self._asked.put(worker_messages.encode(worker_messages.call(ident, task, payload)))

    def _write(self) -> None:
        assert self._process.stdin is not None
        try:
            while data := self._asked.get():
                left = memoryview(data)
                while left:
                    self._writing_since = time.monotonic()
                    left = left[os.write(self._process.stdin.fileno(), left[:CHUNK]) :]
                self._writing_since = 0.0
        except OSError:  # it has ended, or is being ended
            self.alive = False

    def _read(self) -> None:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        frames, listener = worker_messages.Frames(WITH_RAY), Listener(WITH_RAY)
        try:
            while data := os.read(descriptor, 1 << 16):
                for message in frames.feed(data):
                    self._hand_on(message)
                listener.rest()
        except (OSError, ProtocolError, struct.error) as e:
            log.warning("the process that uses Ray is ended: %s", e)
        self._said.put(ClusterFault("the process that uses Ray ended before it reached the cluster"))
        self.end()

    def _hand_on(self, message: object) -> None:
        """The connection's own messages have the number 0: the nodes, the number of processors, or why there are none."""
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
        elif checked["type"] == "event" and "nodes" in checked["event"]:
            self.nodes = nodes_of(checked["event"]["nodes"])
        elif checked["type"] == "event":
            found = checked["event"].get("processors")
            self.processors = found if type(found) is int and 0 < found < 1 << 20 else 0
            self._said.put(None)

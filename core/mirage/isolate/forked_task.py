"""A task in a child of the worker: it inherits the imports and the sandbox, and what it does to its process ends with it.

The code of one task can then share a worker, which imports PyTorch once, with tasks that have to give evidence on that code. The child
has a wall of its own: it writes to no file but those of its folder, and reaches neither the worker nor what else that has begun.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from mirage.errors import MirageError, ProtocolError, WorkerDied
from mirage.isolate import landlock, linux_calls, worker, worker_messages
from mirage.isolate.listening import MAX_MESSAGE
from mirage.isolate.runner import Worker
from mirage.isolate.system import channel
from mirage.isolate.task_table import Payload, Value
from mirage.results.progress import CancelToken

_READ = 1 << 16
_MOST = MAX_MESSAGE + worker_messages.HEADER


@dataclass(frozen=True)
class InChildren:
    """Calls of a `worker`, each of which a child of it answers."""

    worker: Worker

    def call(self, task: str, payload: Payload, *, timeout_s: float, cancel: CancelToken | None = None) -> Value:
        """As the worker's own, but that a task sends no events."""
        asked = {"task": task, "payload": dict(payload)}
        return self.worker.call("forked", asked, timeout_s=timeout_s, cancel=cancel)


@dataclass(frozen=True)
class _Child:
    """A task's process, the descriptor on which it answers, and its folder."""

    task: str
    pid: int
    answers: int
    folder: str


_begun: dict[int, _Child] = {}


def run_forked(payload: Value) -> Value:
    """{"task", "payload"} -> the task's value. Raises what the task raises (WorkerRaised for what is no MirageError), WorkerDied if
    the child ends without an answer, ProtocolError for an answer that is none."""
    return collect_forked(begin_forked(payload))


def begin_forked(payload: Value) -> Value:
    """{"task", "payload"} -> {"child"}: the task has begun in a child, beside what the worker is asked next."""
    mine, theirs = channel()
    folder = tempfile.mkdtemp(prefix="task-")
    _flush()  # else the child writes it too
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _answer(payload, parent, theirs, folder)
    os.close(theirs)
    _begun[child] = _Child(payload["task"], child, mine, folder)
    return {"child": child}


def collect_forked(payload: Value) -> Value:
    """{"child"} -> what `run_forked` gives, once it is there. ProtocolError for a child that has not begun, or was asked for before."""
    begun = _begun.pop(int(payload["child"]), None)
    if begun is None:
        raise ProtocolError(f"no task has begun in a child {payload['child']}")
    try:
        data = _read(begun.answers)
    finally:
        os.close(begun.answers)  # a child that still writes ends by it
        status = os.waitstatus_to_exitcode(os.waitpid(begun.pid, 0)[1])
        shutil.rmtree(begun.folder, ignore_errors=True)
    messages = worker_messages.Frames().feed(data)
    if not messages:
        raise WorkerDied(f"the task {begun.task!r} ended its process: status {status}")
    answer = messages[0]
    if len(messages) > 1 or answer["type"] != "answer":
        raise ProtocolError(f"the task {begun.task!r} gave more than an answer")
    if answer["value"] is not None:
        return answer["value"]
    raise MirageError.from_dict(answer["error"] or {})


def _answer(payload: Value, parent: int, answers: int, folder: str) -> NoReturn:
    """In the child: whatever happens, it ends here, and the loop of the worker goes on in the parent alone."""
    try:
        _leave(parent, answers)
        tempfile.tempdir = folder
        landlock.restrict([("/", landlock.READ), ("/dev", landlock.DEVICE), (folder, landlock.EVERYTHING)])
        message = worker_messages.call(0, payload["task"], payload["payload"])
        data = memoryview(worker.answer_to(message, answers))
        while data:
            data = data[os.write(answers, data) :]
        _flush()
    finally:
        os._exit(0)


def _leave(parent: int, answers: int) -> None:
    """It dies with the worker, and has none of its descriptors: not the one on which the worker answers."""
    if linux_calls.known():
        linux_calls.prctl(linux_calls.PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)
    for descriptor in [int(x) for x in os.listdir("/proc/self/fd" if linux_calls.known() else "/dev/fd")]:
        if descriptor > 2 and descriptor != answers:
            with suppress(OSError):  # the one with which the folder was listed is closed already
                os.close(descriptor)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # user code may have closed or replaced them
            stream.flush()


def _read(descriptor: int) -> bytes:
    """All until its end, or more than a message may have."""
    data = bytearray()
    while len(data) <= _MOST:
        part = os.read(descriptor, _READ)
        if not part:
            break
        data += part
    return bytes(data)

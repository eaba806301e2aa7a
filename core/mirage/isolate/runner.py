"""The caller's side of a worker process: a process group, two channels, limits, and an end that leaves nothing behind.

A `Worker` keeps its process between calls (importing torch takes seconds). Whatever happens in the worker, the caller gets
the task's value or one of these: the MirageError that the task raised, WorkerRaised (any other exception), WorkerDied,
WorkerTimeout, Cancelled, ProtocolError. After each of the last four no process is left, and the next call starts a fresh one.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import ClassVar

from mirage.errors import (
    Cancelled,
    MirageError,
    MissingPackage,
    NotConfined,
    ProtocolError,
    WorkerDied,
    WorkerRaised,
    WorkerTimeout,
)
from mirage.isolate import confinement, gpu_lock, gpu_trial, sandbox, worker_environment, worker_messages
from mirage.isolate.confinement import DEFAULT_MEMORY, WorkerOrder
from mirage.isolate.listening import WITH_EVERYTHING, Listener, Patience
from mirage.isolate.system import SYSTEM, OperatingSystem, channel, ended, make_folder
from mirage.isolate.task_table import Emit, Payload, Value
from mirage.isolate.worker_messages import AnswerMessage, CallMessage, FromWorker
from mirage.results.progress import CancelToken

TICK_S = 0.02  # how often cancellation, the deadline and the worker's life are looked at
OUTPUT_KEPT = 64 * 1024  # bytes of the end of a worker's standard output and error
READ = 1 << 16


class _Process:
    """One worker process with its launcher, its channels and its private folder."""

    def __init__(self, order: WorkerOrder, system: OperatingSystem, patience: Patience) -> None:
        self._system = system
        self.folder = make_folder(confinement.folder_of_workers())
        child_requests, self.requests = channel()
        self.answers, child_answers = channel()
        self.report, child_report = channel()
        ends = (child_requests, child_answers, child_report)
        try:
            locks = gpu_lock.folder() if order.unix else ""
            env = worker_environment.build(order.interpreter, self.folder, {sandbox.LOCKS: locks, **order.env})
            walls = gpu_trial.walls(system.walls) if order.unix and not confinement.inside() else system.walls
            command = confinement.command(order, self.folder, locks, ends, walls)
            self.popen: subprocess.Popen[bytes] = system.start(command, self.folder, env, ends)
        except OSError as e:
            for descriptor in (self.requests, self.answers, self.report):
                os.close(descriptor)
            shutil.rmtree(self.folder, ignore_errors=True)
            raise WorkerDied(f"the interpreter {sys.executable} cannot be started: {e.strerror}") from None
        finally:
            for descriptor in ends:
                os.close(descriptor)
        assert self.popen.stdout is not None and self.popen.stderr is not None
        self.outputs = {self.popen.stdout.fileno(): bytearray(), self.popen.stderr.fileno(): bytearray()}
        self.stdout, self.stderr = self.outputs.values()
        for descriptor in (self.requests, self.answers, self.report, *self.outputs):
            os.set_blocking(descriptor, False)
        self.frames, self.listener = worker_messages.Frames(patience), Listener(patience)
        self.ready = False

    def said(self) -> confinement.Said:
        """What the launcher said, up to now; it is asked once, at the end."""
        with suppress(BlockingIOError):
            return confinement.understood(os.read(self.report, READ))
        return confinement.Said()

    def end(self) -> int:
        """Kill everything, close everything, remove the folder. Gives the exit status (negative: the signal)."""
        self._system.kill_tree(self.popen.pid)
        status = self.popen.wait()
        for descriptor in (self.requests, self.answers, self.report):
            os.close(descriptor)
        for stream in (self.popen.stdout, self.popen.stderr):
            if stream is not None:
                stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return status


class Worker:
    """A process for a sequence of calls; a context manager. One call at a time; not shared between threads.

    `unix` leaves it sockets of this machine (a pool of processes has some), and the GPUs, to its own workers too; `unix_below`
    is for one that runs nothing of a user's itself and has such workers: in a private view they start a GPU's driver.
    `memory_bytes` is what each of its processes may take, `total_bytes` all of them together (by default the same).
    `stdout` and `stderr` are the ends (at most 64 KiB) of what the worker wrote during the last call. `patience` bounds what is heard of
    it; a subclass may have less.
    """

    patience: ClassVar[Patience] = WITH_EVERYTHING

    def __init__(
        self,
        interpreter: str | None = None,
        *,
        memory_bytes: int = DEFAULT_MEMORY,
        total_bytes: int = 0,
        env: Mapping[str, str] | None = None,
        cpu_seconds: int = 0,
        unix: bool = False,
        unix_below: bool = False,
        system: OperatingSystem = SYSTEM,
    ) -> None:
        self._interpreter = interpreter or sys.executable
        bounds = confinement.limits_of(memory_bytes, total_bytes or memory_bytes, cpu_seconds)
        self._order, self._system = WorkerOrder(self._interpreter, bounds, unix, unix_below, dict(env or {})), system
        self._process: _Process | None = None
        self._calls = 0
        self._warming = 0  # the number of a call whose answer nobody waits for
        self.stdout = self.stderr = b""

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process that the next call would use, None before the first call and after a death."""
        return None if self._process is None else self._process.popen.pid

    def close(self) -> None:
        """End the process and all that it started. A later call starts a fresh one."""
        process, self._process, self._warming = self._process, None, 0
        if process is not None:
            process.end()

    def warm(self, *modules: str, calls: Sequence[Payload] = ()) -> None:
        """Starts the process, which then imports the modules (PyTorch and Triton if none are named) and does the `calls` ({"task",
        "payload"}), whose answers nobody wants, while the caller does something else. The next call waits for it, and fails in its own
        words where that failed."""
        if self._process is None:
            process = self._started()
            self._calls += 1
            self._warming = self._calls
            with suppress(ConnectionError):
                asked = {"modules": list(modules), "calls": [dict(x) for x in calls]}
                request = worker_messages.call(self._calls, "warm", asked)
                os.write(process.requests, worker_messages.encode(request))

    def _started(self) -> _Process:
        if self._process is None:
            self._process = _Process(self._order, self._system, self.patience)
        return self._process

    def call(
        self,
        task: str,
        payload: Payload,
        *,
        timeout_s: float,
        cancel: CancelToken | None = None,
        on_event: Emit | None = None,
    ) -> Value:
        """The task's value. Events reach `on_event` in their order, in this thread, before the call returns."""
        deadline = self._system.monotonic() + timeout_s
        self._calls += 1
        request = worker_messages.encode(worker_messages.call(self._calls, task, payload))
        if self._process is not None and ended(self._process.popen) is not None:
            self.close()
        process = self._started()
        for kept in process.outputs.values():
            kept.clear()
        finished = False
        try:
            answer = self._converse(process, request, deadline, timeout_s, cancel, on_event)
            finished = True
        finally:
            self.stdout, self.stderr = bytes(process.stdout), bytes(process.stderr)
            if not finished:
                self.close()
        return _value(answer)

    def _converse(
        self,
        process: _Process,
        request: bytes,
        deadline: float,
        timeout_s: float,
        cancel: CancelToken | None,
        on_event: Emit | None,
    ) -> AnswerMessage:
        """Write the request, read until its answer; everything else that can happen raises."""
        with _watching(process, bool(request)) as selector, _output_kept(selector, process):
            unsent = memoryview(request)
            process.listener.begin()
            while True:
                dead = ended(process.popen) is not None  # asked first: what it wrote before its end is read below
                for key, _ in selector.select(0 if dead else TICK_S):
                    if key.fd == process.requests:
                        unsent = _send(selector, process.requests, unsent)
                    elif key.fd == process.answers:
                        for message in process.frames.feed(_receive(selector, key.fd)):
                            answer = self._accept(process, message, on_event)
                            if answer is not None:
                                return answer
                _keep_output(selector, process)
                process.listener.rest()
                if cancel is not None and cancel.cancelled:
                    raise Cancelled("the work was cancelled")
                if self._system.monotonic() > deadline:
                    raise WorkerTimeout(f"the worker took longer than {timeout_s:g} s")
                if dead and not selector.select(0):
                    raise _death(process, self._interpreter)

    def _accept(
        self, process: _Process, message: CallMessage | FromWorker, on_event: Emit | None
    ) -> AnswerMessage | None:
        """The message, if it is the answer that is waited for."""
        if message["type"] == "ready" and not process.ready:
            process.ready = True
            return None
        if message["type"] == "answer" and message["id"] == self._warming and process.ready:
            self._warming = 0
            return None
        if message["type"] == "ready" or message["type"] == "call" or message["id"] != self._calls or not process.ready:
            raise ProtocolError(f"the worker sent a {message['type']!r} that nothing asked for")
        if message["type"] == "answer":
            return message
        if on_event is not None:
            on_event(message["event"])
        return None


@contextmanager
def _watching(process: _Process, sending: bool) -> Iterator[selectors.BaseSelector]:
    with selectors.DefaultSelector() as selector:
        for descriptor in (process.answers, *process.outputs):
            selector.register(descriptor, selectors.EVENT_READ)
        if sending:
            selector.register(process.requests, selectors.EVENT_WRITE)
        yield selector


@contextmanager
def _output_kept(selector: selectors.BaseSelector, process: _Process) -> Iterator[None]:
    """However the conversation ends, what was written before its last message is kept."""
    try:
        yield
    finally:
        _keep_output(selector, process)


def _send(selector: selectors.BaseSelector, descriptor: int, data: memoryview) -> memoryview:
    """What is left of `data` after one write; stops watching when nothing is."""
    try:
        left = data[os.write(descriptor, data) :]
    except BlockingIOError:
        return data
    except ConnectionError:  # the worker is gone; its end is reported from its exit status
        left = data[:0]
    if not left:
        selector.unregister(descriptor)
    return left


def _keep_output(selector: selectors.BaseSelector, process: _Process) -> None:
    """Take in what is there of the standard output and error, at most one pipe's content of each."""
    for descriptor, kept in process.outputs.items():
        if descriptor in selector.get_map():
            kept += _receive(selector, descriptor)
            del kept[:-OUTPUT_KEPT]


def _receive(selector: selectors.BaseSelector, descriptor: int) -> bytes:
    try:
        data = os.read(descriptor, READ)
    except BlockingIOError:
        return b""
    if not data:
        selector.unregister(descriptor)
    return data


def _death(process: _Process, interpreter: str) -> MirageError:
    status = ended(process.popen) or 0
    said = process.said()
    if said.refused:
        return NotConfined(f"the sandbox has no {', no '.join(said.refused)} here")
    if said.failed:
        return WorkerDied(f"the interpreter {interpreter} cannot be started: {said.failed}")
    tail = bytes(process.stderr[-2000:]).decode("utf-8", "replace").strip()
    if not process.ready and re.search(r"No module named '?mirage\b", tail):
        return MissingPackage(
            f"the interpreter {interpreter} does not have mirage",
            next_step=f"install it there: {interpreter} -m pip install mirage-superoptimizer",
        )
    if status < 0:
        try:
            how = f"by {signal.Signals(-status).name}"
        except ValueError:
            how = f"by signal {-status}"
    else:
        how = f"with status {status}"
    if said.over:
        how += f" ({said.over})"
    return WorkerDied(f"the worker ended {how}" + (f"; it last wrote: {tail}" if tail else ""))


def _value(answer: AnswerMessage) -> Value:
    if answer["value"] is not None:
        return answer["value"]
    error = MirageError.from_dict(answer["error"] or {})
    if isinstance(error, WorkerRaised):
        error.traceback = answer["traceback"]
    raise error

"""The worker process, as the launcher starts it, in a sandbox already.

`python -m mirage.isolate.worker REQUESTS ANSWERS REQUIRED` (two descriptors; what has to hold for its own workers, with commas).

It says that it is ready, then does one call after the other until the requests end.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import traceback

from mirage.errors import MirageError, WorkerRaised
from mirage.isolate import confinement, worker_messages
from mirage.isolate.launch_order import IN_VIEW, TOKEN
from mirage.isolate.task_table import resolve
from mirage.link.version import package_version

MAX_SUMMARY = 300  # characters of an unexpected exception's own text in the error's message


def _read_exactly(descriptor: int, size: int) -> bytes | None:
    """`size` bytes, or None where the stream ends before."""
    parts: list[bytes] = []
    while size > 0:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def answer_to(message: worker_messages.CallMessage, answers: int) -> bytes:
    """The framed answer to one call. Whatever the task raises becomes an answer; only the process's death does not."""
    ident = message["id"]
    try:
        task = resolve(message["task"])
        value = task(
            message["payload"], lambda body: _write(answers, worker_messages.encode(worker_messages.event(ident, body)))
        )
        if not isinstance(value, dict):
            raise TypeError(f"task {message['task']!r} gave {type(value).__name__}, not a dict")
        return worker_messages.encode(worker_messages.answer(ident, value))
    except MirageError as e:
        return worker_messages.encode(worker_messages.answer(ident, None, e.to_dict()))
    except BaseException as e:  # SystemExit and KeyboardInterrupt too: user code does not end the worker by raising
        summary = "".join(traceback.format_exception_only(type(e), e)).strip()
        raised = WorkerRaised(f"the task {message['task']!r} raised {summary[:MAX_SUMMARY]}")
        return worker_messages.encode(worker_messages.answer(ident, None, raised.to_dict(), traceback.format_exc()))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # user code may have closed or replaced them
            stream.flush()


def main(arguments: list[str]) -> int:
    requests, answers = (int(a) for a in arguments[:2])
    confinement.inherit(tuple(filter(None, arguments[2].split(","))), os.environ.get(TOKEN) == IN_VIEW)
    for descriptor in (requests, answers):
        os.set_inheritable(descriptor, False)
    _write(answers, worker_messages.encode(worker_messages.ready(package_version(), os.getpid())))
    while True:
        header = _read_exactly(requests, worker_messages.HEADER)
        payload = None if header is None else _read_exactly(requests, struct.unpack(">I", header)[0])
        if payload is None:
            return 0
        message = worker_messages.decode(payload)
        if message["type"] != "call":
            return 0
        answer = answer_to(message, answers)
        _flush()
        _write(answers, answer)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What a job does: the task `optimize`, in a worker of the project's own interpreter."""

from __future__ import annotations

import os
import sys
from typing import Any

from mirage import isolate
from mirage.errors import FileUnreadable
from mirage.isolate.limits import DEFAULT_MEMORY
from mirage.result import CancelToken
from mirage_daemon.jobs import Progress

JOB_TIMEOUT_S = 3600.0


def check_interpreter(path: str) -> str:
    """The interpreter that a client named, or this one; FileUnreadable unless it is an executable file's full path."""
    if not path:
        return sys.executable
    if not os.path.isabs(path) or not os.path.isfile(path) or not os.access(path, os.X_OK):
        raise FileUnreadable(
            f"the interpreter {path} is not the full path of an executable file",
            next_step="choose the project's Python interpreter in your editor",
        )
    return path


def run_job(payload: dict[str, Any], progress: Progress, cancel: CancelToken) -> dict[str, Any]:
    """One job, start to end. `payload` is the task's own, with the interpreter under "interpreter"."""
    body = {name: value for name, value in payload.items() if name != "interpreter"}
    return isolate.run(
        "optimize",
        body,
        timeout_s=JOB_TIMEOUT_S,
        memory_bytes=DEFAULT_MEMORY,
        interpreter=payload["interpreter"],
        cancel=cancel,
        on_event=progress,
    )

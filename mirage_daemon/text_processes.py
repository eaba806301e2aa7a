"""Reading of long texts in processes of their own: Python's parser holds the interpreter's lock for as long as it reads, and all
clients of the daemon would wait for one text. Nothing of a text is run.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from typing import Any

from mirage.errors import MirageError, SourceSyntaxError
from mirage.link.pipe_messages import length, packed, receive, send, unpacked
from mirage_daemon.function_text import FunctionText, read_within_bounds

LONG_TEXT = 1 << 14  # characters, which the parser reads in about 10 ms
KEPT = 2  # processes that wait for the next text
PROCESSOR_S, MEMORY = 9.0, 2 << 30  # for one text; bytes of address space
NICENESS = 5  # clients that wait for known answers come first
# The search path is the daemon's own: neither the working folder nor a variable can put another module before ours.
_START = "import sys; sys.path[:] = {path!r}; from mirage_daemon.text_processes import main; main()"


class TextProcesses:
    """Calls come from any thread, and each has a process to itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[subprocess.Popen[bytes]] = []

    def read(self, text: str, path: str, function: str) -> FunctionText:
        """As `read_within_bounds`, which see. SourceSyntaxError also for a text that takes too much time or memory."""
        process = self._take()
        try:
            answer = _ask(process, [text, path, function])
        except (OSError, EOFError):
            self._end(process)
            raise SourceSyntaxError("the text cannot be read within bounds", path=path) from None
        except BaseException:
            self._end(process)
            raise
        self._give(process)
        if isinstance(answer, dict):
            raise MirageError.from_dict(answer)
        return FunctionText(*map(str, answer))

    def close(self) -> None:
        """End those that wait; one that reads ends after its text."""
        with self._lock:
            ended, self._idle = self._idle, []
        for process in ended:
            self._end(process)

    def _take(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        code = _START.format(path=[os.path.abspath(p) for p in sys.path if p])
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
            )
        except OSError as e:
            raise MirageError(f"no process can be started to read the text: {e.strerror}") from None

    def _give(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            if len(self._idle) < KEPT:
                self._idle.append(process)
                return
        self._end(process)

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:  # what it did not read is nobody's any more
                    continue
        process.wait()


def _ask(process: subprocess.Popen[bytes], asked: list[str]) -> Any:
    assert process.stdin is not None
    process.stdin.write(packed(asked))
    process.stdin.flush()
    return unpacked(_exactly(process, length(_exactly(process, 4))))


def _exactly(process: subprocess.Popen[bytes], size: int) -> bytes:
    assert process.stdout is not None
    found = process.stdout.read(size)
    if len(found) < size:
        raise EOFError
    return found


def main() -> None:
    """Answer [text, path, function] with the fields of a FunctionText or with an error as a map, until the pipe ends. A text that
    takes more than PROCESSOR_S of processor time ends the process, also within the parser."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(NICENESS)
    while (asked := receive(0)) is not None:
        text, path, function = asked
        signal.setitimer(signal.ITIMER_PROF, PROCESSOR_S)
        try:
            part = read_within_bounds(text, path, function)
            answer: object = [part.digest, part.own, part.inputs, part.least]
        except MirageError as e:
            answer = e.to_dict()
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        send(1, answer)

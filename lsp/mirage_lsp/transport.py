"""Bytes in, messages out: standard input and output, or one TCP connection.

Not pygls' loop: that one reads on a thread pool which busy handlers starve, takes any header line for good, and lets
`print` write into the stream. Here one thread reads and does nothing else, the stream is kept for messages alone, a
frame that cannot be trusted ends the process with status 1 so that the client starts it anew, and the process ends when
the client is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import BinaryIO

from mirage_lsp.pygls_protocol import Protocol

log = logging.getLogger(__name__)
MAX_BODY = 64 * 1024 * 1024
MAX_HEADER = 8 * 1024
_HEADER_LINES = 32  # of one message
_PATIENCE = 50  # hundredths of a second


class BadFraming(Exception):
    """The stream is not framed as LSP says; where the next message begins is unknown."""


def read_length(line: bytes) -> int | None:
    """The length that a header line announces, None for another header. Raises BadFraming."""
    name, colon, value = line.partition(b":")
    if not colon or len(line) > MAX_HEADER:
        raise BadFraming(f"not a header line: {line[:60]!r}")
    if name.strip().lower() != b"content-length":
        return None
    digits = value.strip()
    if not digits.isdigit() or len(digits) > 10 or int(digits) > MAX_BODY:
        raise BadFraming(f"not a length up to {MAX_BODY}: {digits[:40]!r}")
    return int(digits)


def read_message(stream: BinaryIO) -> bytes | None:
    """The next message's body; None at the end of the stream. Raises BadFraming."""
    length: int | None = None
    for count in range(_HEADER_LINES):
        line = stream.readline(MAX_HEADER + 2)
        if not line:
            if count:
                raise BadFraming("the stream ends within a header")
            return None
        if line in (b"\r\n", b"\n"):
            if length is None:
                raise BadFraming("a header without Content-Length")
            body = stream.read(length)
            if len(body) < length:
                raise BadFraming("the stream ends within a message")
            return body
        announced = read_length(line)
        length = announced if announced is not None else length
    raise BadFraming("a header without end")


class _Writer:
    """What pygls writes to."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        with contextlib.suppress(ValueError):  # closed: the client is gone
            self._stream.write(data)
            self._stream.flush()

    def close(self) -> None:
        self._stream.close()


def own_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for messages alone: whatever else in this process, or in one that it starts, writes to
    standard output goes to standard error, and reads nothing."""
    messages_in, messages_out = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(messages_in, "rb"), os.fdopen(messages_out, "wb")


async def converse(
    protocol: Protocol, stream_in: BinaryIO, stream_out: BinaryIO, end: Callable[[], Awaitable[None]]
) -> int:
    """Talk until `exit` or the end of the stream; the process's exit status. `end` stops the session's work."""
    loop, finished = asyncio.get_running_loop(), asyncio.Event()
    protocol.set_writer(_Writer(stream_out))

    def on_message(body: bytes) -> None:
        try:
            protocol.receive(body)
        except BrokenPipeError:
            finished.set()
        if protocol.left is not None:
            finished.set()

    def read() -> None:
        try:
            while (body := read_message(stream_in)) is not None:
                loop.call_soon_threadsafe(on_message, body)
        except (BadFraming, OSError, ValueError) as error:
            log.error("the stream from the client broke: %s", error)
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            loop.call_soon_threadsafe(finished.set)

    threading.Thread(target=read, name="read messages", daemon=True).start()
    await finished.wait()
    await end()
    for _ in range(_PATIENCE if protocol.left == 0 else 0):  # `exit` may have come before `shutdown` was answered
        if not protocol.busy:
            break
        await asyncio.sleep(0.01)
    return 1 if protocol.left is None else protocol.left  # 1: no `exit`, or a broken stream


def leave(status: int) -> None:
    """End the process now: a thread that waits for the client or for the daemon's start must not keep it."""
    logging.shutdown()
    sys.stderr.flush()
    os._exit(status)

"""Messages over a pipe between a program of ours and a process that it started: a 4-byte big-endian length, then msgpack.

For what both ends are our own code; a worker's answers, which may be anybody's, go through `mirage.isolate`.
"""

from __future__ import annotations

import os
import struct
from typing import Any

import msgpack

_LENGTH = struct.Struct(">I")


def packed(value: object) -> bytes:
    """The message that says `value`; halves of characters are let through."""
    payload: bytes = msgpack.packb(value, unicode_errors="surrogatepass")
    return _LENGTH.pack(len(payload)) + payload


def unpacked(payload: bytes) -> Any:
    """The value of a message without its length; sequences are tuples."""
    return msgpack.unpackb(payload, use_list=False, unicode_errors="surrogatepass")


def length(header: bytes) -> int:
    """Bytes of the payload that follows the message's first four."""
    return int(_LENGTH.unpack(header)[0])


def receive(descriptor: int) -> Any:
    """The next value; None at the end of the pipe."""
    header = _exactly(descriptor, _LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    size = length(header)
    payload = _exactly(descriptor, size)
    return unpacked(payload) if len(payload) == size else None


def send(descriptor: int, value: object) -> None:
    """OSError where nobody reads."""
    left = memoryview(packed(value))
    while left:
        left = left[os.write(descriptor, left) :]


def _exactly(descriptor: int, size: int) -> bytes:
    """So many bytes, or fewer at the end of the pipe."""
    found = bytearray()
    while len(found) < size and (part := os.read(descriptor, min(size - len(found), 1 << 20))):
        found += part
    return bytes(found)

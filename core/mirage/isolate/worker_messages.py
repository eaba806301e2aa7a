"""Messages between a worker and its parent: length-framed msgpack over two channels of their own.

Parent to worker: `call` (id, task, payload). Worker to parent: `ready` (package version, process id), then for each
call any number of `event` messages and one `answer`. Everything that a worker sends is checked against `FIELDS` before
it is used: a process that ran user code may send anything. Nothing is ever unpickled.
"""

from __future__ import annotations

import struct
from typing import Literal, TypedDict, cast

import msgpack

from mirage.errors import ProtocolError
from mirage.ir.json_value import JsonObject
from mirage.isolate.listening import MAX_MESSAGE, WITH_EVERYTHING, Patience
from mirage.isolate.task_table import Payload, Value
from mirage.link.payload_limits import check_payload

MAX_CALL = 256 * 1024 * 1024  # of one to it, which is our own: the inputs of a launch whose kernels hold whole weights
MAX_DEPTH = 128
MAX_TRACEBACK = 16 * 1024  # characters of a traceback's end that an answer carries
HEADER = 4

FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "call": {"id": int, "task": str, "payload": dict},
    "ready": {"package": str, "pid": int},
    "event": {"id": int, "event": dict},
    # exactly one of value and error (MirageError.to_dict()); `traceback` is set for an exception that nobody expected
    "answer": {"id": int, "value": (dict, type(None)), "error": (dict, type(None)), "traceback": str},
}


class CallMessage(TypedDict):
    type: Literal["call"]
    id: int
    task: str
    payload: Value


class Ready(TypedDict):
    type: Literal["ready"]
    package: str
    pid: int


class EventMessage(TypedDict):
    type: Literal["event"]
    id: int
    event: Value


class AnswerMessage(TypedDict):
    type: Literal["answer"]
    id: int
    value: Value | None
    error: JsonObject | None
    traceback: str


FromWorker = Ready | EventMessage | AnswerMessage


def call(ident: int, task: str, payload: Payload) -> CallMessage:
    return {"type": "call", "id": ident, "task": task, "payload": dict(payload)}


def ready(package: str, pid: int) -> Ready:
    return {"type": "ready", "package": package, "pid": pid}


def event(ident: int, body: Value) -> EventMessage:
    return {"type": "event", "id": ident, "event": body}


def answer(ident: int, value: Value | None, error: JsonObject | None = None, traceback: str = "") -> AnswerMessage:
    return {
        "type": "answer",
        "id": ident,
        "value": value,
        "error": error,
        "traceback": traceback[-MAX_TRACEBACK:],
    }


def encode(message: CallMessage | FromWorker) -> bytes:
    """The message as one frame; ProtocolError when it holds something that is not plain data, or is too large."""
    try:
        data: bytes = msgpack.packb(message, use_bin_type=True)
    except (TypeError, ValueError, OverflowError) as e:
        raise ProtocolError(f"a message between worker and parent is not plain data: {e}") from None
    most = MAX_CALL if message["type"] == "call" else MAX_MESSAGE
    if len(data) > most:
        raise ProtocolError(
            f"a message of {len(data)} bytes is over the limit of {most}", next_step="take smaller sizes"
        )
    return struct.pack(">I", len(data)) + data


def decode(payload: bytes, patience: Patience = WITH_EVERYTHING) -> CallMessage | FromWorker:
    """The checked message in a frame's payload (without its length)."""
    items = check_payload(payload, max_items=patience.items, max_depth=MAX_DEPTH)
    try:
        message = msgpack.unpackb(payload, raw=False, strict_map_key=False, max_ext_len=0)
    except Exception as e:  # msgpack's own family and ValueError: one meaning here
        raise ProtocolError(f"a worker's frame does not decode: {e}") from None
    checked = check(message)
    if checked["type"] == "event" and items > patience.event_items:
        raise ProtocolError(f"a worker's event has more than {patience.event_items} values")
    return checked


def check(message: object) -> CallMessage | FromWorker:
    """`message` itself if it has exactly the fields of its type, else ProtocolError."""
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError("a worker's message is a map with a text under 'type'")
    fields = FIELDS.get(message["type"])
    if fields is None:
        raise ProtocolError(f"unknown worker message {message['type'][:40]!r}")
    if set(message) != {"type", *fields}:
        raise ProtocolError(f"a worker's {message['type']!r} has the wrong fields")
    for name, kind in fields.items():
        value = message[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ProtocolError(f"a worker's {message['type']!r} has {type(value).__name__} under {name!r}")
    if message["type"] == "answer" and (message["value"] is None) == (message["error"] is None):
        raise ProtocolError("a worker's answer has either a value or an error")
    return cast("CallMessage | FromWorker", message)


class Frames:
    """Cuts a stream of bytes into messages. `feed` what arrived; it gives the messages that are complete."""

    def __init__(self, patience: Patience = WITH_EVERYTHING) -> None:
        self._buffer, self._patience = bytearray(), patience

    def feed(self, data: bytes) -> list[CallMessage | FromWorker]:
        self._buffer += data
        messages = []
        while len(self._buffer) >= HEADER:
            (size,) = struct.unpack_from(">I", self._buffer)
            if size > self._patience.size:
                raise ProtocolError(f"a worker announces {size} bytes, over the limit of {self._patience.size}")
            if len(self._buffer) < HEADER + size:
                break
            with memoryview(self._buffer) as view:
                payload = bytes(view[HEADER : HEADER + size])
            del self._buffer[: HEADER + size]
            messages.append(decode(payload, self._patience))
        return messages

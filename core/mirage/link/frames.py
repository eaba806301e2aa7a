"""One frame: a 4-byte big-endian length, and one msgpack map of bounded size, depth and number of values."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TypedDict

import msgpack

from mirage.errors import ProtocolError
from mirage.link.payload_limits import check_payload

MAX_FRAME = 16 * 1024 * 1024
MAX_ITEMS, MAX_DEPTH = 100_000, 64


class Typed(TypedDict):
    type: str


class Message(Typed, total=False):
    """A message as it came: everything but the type still has to be checked."""

    id: object
    deadline_s: object
    body: object


def encode(message: Mapping[str, object]) -> bytes:
    """One frame. Requests are {"type", "id", "deadline_s", "body"}, answers {"type": reply|error|event, "id", "body"}.

    A request without "deadline_s" has the server's own, `subscribe` none; an event's "id" is that of its `subscribe`.
    """
    try:
        data: bytes = msgpack.packb(message, use_bin_type=True)
    except (ValueError, OverflowError) as e:  # half of a character, a number of more than 64 bits
        raise ProtocolError(f"a message cannot be written: {e}") from None
    if len(data) > MAX_FRAME:
        raise ProtocolError(f"a message of {len(data)} bytes is over the limit of {MAX_FRAME}")
    return struct.pack(">I", len(data)) + data


def decode(payload: bytes) -> Message:
    """The message in a frame's payload (without its length)."""
    check_payload(payload, max_items=MAX_ITEMS, max_depth=MAX_DEPTH)
    try:
        # what `check_payload` does not see: keys are text, text is UTF-8, nothing is longer than a frame
        message: Message = msgpack.unpackb(
            payload, strict_map_key=True, raw=False, max_ext_len=0, max_str_len=MAX_FRAME
        )
    except Exception as e:  # msgpack raises a family of its own and ValueError; each means the same here
        raise ProtocolError(f"a frame does not decode: {e}") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError("a message is a map with a text under 'type'")
    return message

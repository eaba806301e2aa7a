"""Limits of a msgpack payload, checked before it is unpacked: number of items, depth, no extension types.

Unpacking builds up to 70 bytes of objects for one byte of payload (a frame of empty maps), so a frame cap alone does
not bound memory. Counting costs well under a microsecond an item and stops at the limit.
"""

from __future__ import annotations

from mirage.errors import ProtocolError

_SCALAR, _SIZED, _STRING, _COUNTED, _REFUSED = range(5)


def _table() -> list[tuple[int, int, int]]:
    """For each first byte: (kind, a, b); what a and b mean is written at the kinds in `check_payload`."""
    table = [(_SCALAR, 0, 0)] * 256  # small integers, nil, booleans
    for n in range(16):
        table[0x80 + n] = (_SIZED, 2 * n, 0)
        table[0x90 + n] = (_SIZED, n, 0)
    for n in range(32):
        table[0xA0 + n] = (_SCALAR, n, 0)
    for first, width in ((0xC4, 1), (0xC5, 2), (0xC6, 4), (0xD9, 1), (0xDA, 2), (0xDB, 4)):
        table[first] = (_STRING, width, 0)
    for first, width, times in ((0xDC, 2, 1), (0xDD, 4, 1), (0xDE, 2, 2), (0xDF, 4, 2)):
        table[first] = (_COUNTED, width, times)
    for first, skip in ((0xCA, 4), (0xCB, 8)):  # floats
        table[first] = (_SCALAR, skip, 0)
    for i in range(4):  # integers of 1, 2, 4, 8 bytes
        table[0xCC + i] = table[0xD0 + i] = (_SCALAR, 1 << i, 0)
    for first in (0xC1, 0xC7, 0xC8, 0xC9, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8):
        table[first] = (_REFUSED, 0, 0)
    return table


_TABLE = _table()


def check_payload(payload: bytes, *, max_items: int, max_depth: int) -> int:
    """How many values it has. Raise ProtocolError for more than `max_items` values, a nesting over `max_depth`, or an extension type.

    A payload that ends early passes: the decoder says so itself.
    """
    position, size, items, left = 0, len(payload), 0, 1
    stack: list[int] = []
    while True:
        while left == 0:
            if not stack:
                return items
            left = stack.pop()
        if position >= size:
            return items
        left -= 1
        items += 1
        if items > max_items:
            raise ProtocolError(f"a message has more than {max_items} values")
        kind, a, b = _TABLE[payload[position]]
        position += 1
        if kind == _SCALAR:  # a: bytes that follow
            position += a
            continue
        if kind == _STRING:  # a: width of the length
            position += a + int.from_bytes(payload[position : position + a], "big")
            continue
        if kind == _REFUSED:
            raise ProtocolError("a message has an extension type")
        children = a  # _SIZED: a children
        if kind == _COUNTED:  # a: width of the count, b: children for each
            children = b * int.from_bytes(payload[position : position + a], "big")
            position += a
        stack.append(left)
        left = children
        if len(stack) > max_depth:
            raise ProtocolError(f"a message is nested deeper than {max_depth}")

"""Reading of untrusted JSON: bounded in bytes, nesting and values, and refused where it is not plain JSON."""

from __future__ import annotations

import json
import math
import os
import stat
from typing import NoReturn

from mirage.errors import SavedFileUnreadable
from mirage.ir.json_value import Json, JsonObject

MAX_BYTES = 32 << 20
MAX_VALUES = 3_000_000  # brackets and commas: what is built of a text takes some 100 bytes for each
MAX_DEPTH = 64


def read_bytes(path: str) -> bytes:
    """The bytes of a regular file, at most MAX_BYTES. Raises SavedFileUnreadable."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe without a writer must not hang
    except (OSError, ValueError) as e:
        raise SavedFileUnreadable(f"the file cannot be read: {getattr(e, 'strerror', e)}", path=path) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise SavedFileUnreadable("it is not a regular file", path=path)
    with os.fdopen(fd, "rb") as file:
        try:
            data = file.read(MAX_BYTES + 1)
        except OSError as e:
            raise SavedFileUnreadable(f"the file cannot be read: {e.strerror}", path=path) from None
    if len(data) > MAX_BYTES:
        raise SavedFileUnreadable(
            f"the file has more than {MAX_BYTES >> 20} MiB", path=path, next_step="split its list of graphs"
        )
    return data


def parse(data: bytes, path: str) -> Json:
    """JSON data. Raises SavedFileUnreadable on anything else: broken text, deep nesting, numbers that are no numbers,
    an object that says a thing twice."""

    def fail(message: str) -> NoReturn:
        raise SavedFileUnreadable(message, path=path)

    def once(pairs: list[tuple[str, Json]]) -> JsonObject:
        out = dict(pairs)
        if len(out) != len(pairs):
            fail("an object in it has the same field twice")
        return out

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            fail(f"{text[:20]} in it is not a number that a graph can have")
        return value

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as e:
        fail(f"it is not UTF-8 text: {e.reason} at byte {e.start}")
    if not text.strip():
        fail("the file is empty")
    if sum(text.count(c) for c in "[{,") > MAX_VALUES:
        fail(f"it has more than {MAX_VALUES} values")
    if depth(text) > MAX_DEPTH:
        fail(f"it is nested more than {MAX_DEPTH} deep")
    try:
        value: Json = json.loads(text, object_pairs_hook=once, parse_float=number, parse_constant=number)
    except (ValueError, RecursionError) as e:
        fail(f"it is not JSON: {str(e)[:200]}")
    return value


def depth(text: str) -> int:
    """How deep brackets nest (what stands in strings is counted too), or one more than MAX_DEPTH."""
    deepest = now = 0
    for c in text.translate(_BRACKETS):
        now += 1 if c in "[{" else -1
        deepest = max(deepest, now)
        if deepest > MAX_DEPTH:
            break
    return deepest


class _Only(dict[int, int | None]):
    """For str.translate: what is not in the table goes."""

    def __missing__(self, key: int) -> None:
        self[key] = None


_BRACKETS = _Only({ord(c): ord(c) for c in "[]{}"})

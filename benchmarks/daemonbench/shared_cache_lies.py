"""What may lie under a key of a shared cache in place of its entry: other entries, changed ones with a right digest, and debris."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mirage_daemon.remote_entry import RemoteEntry


def key_of(entry: bytes) -> str:
    """The question's key that an entry's bytes name."""
    start = entry.index(b"question") + len(b"question") + 2
    return entry[start : start + 64].decode()


def rewritten(entry: bytes, **changed: str) -> bytes:
    """The entry with other texts, well signed: a digest is no secret."""
    honest = RemoteEntry.read(entry, key_of(entry))
    return RemoteEntry(**{**vars(honest), **changed}).to_bytes()


def lies(good: bytes, other: bytes) -> dict[str, bytes]:
    """By name; `good` is what belongs there, `other` an entry of another question."""
    graph = json.loads(RemoteEntry.read(good, key_of(good)).mugraph)
    changed = {**graph, "mugraph": {**graph["mugraph"], "name": "changed"}}
    return {
        "another entry's bytes": other,
        "another entry under this question": rewritten(good, mugraph=RemoteEntry.read(other, key_of(other)).mugraph),
        "a changed kernel": rewritten(good, mugraph=json.dumps(changed)),
        "a changed kernel, the digest as it was": good.replace(b'"name":', b'"nome":'),
        "no µGraph": rewritten(good, mugraph=""),
        "no JSON": rewritten(good, mugraph="{"),
        "deep JSON": rewritten(good, mugraph="[" * 100_000),
        "a module in place of a µGraph": rewritten(good, mugraph="import os; os.system('touch /tmp/x')"),
        "another number of the form": good.replace(b"mirage entry 1", b"mirage entry 0"),
        "an old version's": rewritten(good, question="0" * 64),
        "half of it": good[: len(good) // 2],
        "random bytes": bytes(range(256)) * 40,
    }


SWAPS = {
    "exp": "sqrt",
    "add": "mul",
    "mul": "add",
    "sub": "add",
    "div": "mul",
    "sum": "max",
    "max": "sum",
    "sqrt": "exp",
}


@dataclass(frozen=True)
class ChangedGraph:
    """A µGraph with one leaf changed. Another `operator` is another meaning; another number may be a tile that is right too."""

    operator: bool
    graph: dict[str, Any]


def changed_graphs(graph: dict[str, Any]) -> Iterator[ChangedGraph]:
    """One word that is an operator's, or one whole number, is another."""
    text = json.dumps(graph)
    for path, value in list(_leaves(graph)):
        if isinstance(value, bool) or path[0] == "version":
            continue
        new = SWAPS.get(value) if isinstance(value, str) else value + 1 if isinstance(value, int) else None
        if new is not None:
            found = json.loads(text)
            place = found
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = new
            yield ChangedGraph(isinstance(value, str), found)


def _leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(data, dict | list):
        for step, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _leaves(value, (*path, step))
    else:
        yield path, data

"""The checkpoint of a search: the parts that are finished, a line each. Plain data, versioned, strict when it is read.

A search is deterministic and its parts are pure, so that nothing else needs to be kept: a search of the same problem under the
same bounds takes the finished parts from here and ends where an uninterrupted one ends. A line is written at once when its part
is finished; what a kill leaves of a last line is not read.
"""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

from mirage.errors import MugraphSyntax
from mirage.ir.json_value import json_object, json_objects
from mirage.mugraph import json_form
from mirage.mugraph.grammar import MuGraph
from mirage.search.kernel_pieces import Piece
from mirage.search.subproblems import Key, Part

VERSION = 3
MOST_BYTES = 256 << 20  # of one part, unpacked
MOST_WORDS = 2000  # characters of a text for people


def encode(part: Part) -> str:
    """A part as one line. Block graphs that differ in nothing but their tiles are written once."""
    bodies: dict[str, int] = {}
    pieces = []
    for us, p in part.pieces:
        graph = json_form.to_json(MuGraph("part", p.axes, p.temps, p.kernels))
        for kernel in json_objects(json_object(graph["mugraph"])["kernels"]):
            for block in map(json_object, filter(None, (kernel.get("block"), kernel.get("tail")))):
                block["body"] = bodies.setdefault(json.dumps(block["body"]), len(bodies))
        pieces.append([us, p.label, p.structure, graph])
    counts = [part.values, part.systems, part.structures, part.mugraphs]
    data = {"counts": counts, "limits": part.limits, "bodies": list(bodies), "pieces": pieces}
    if part.stopped:
        data["stopped"] = part.stopped
    return base64.b64encode(zlib.compress(json.dumps(data).encode())).decode()


def decode(line: str) -> Part | None:
    """The part of a line, None if it is not one. It may come from another machine."""
    try:
        data = json.loads(_unpacked(base64.b64decode(line, validate=True)))
        bodies = [json_form.read_body(json.loads(b)) for b in data["bodies"]]
        pieces = []
        for us, label, structure, graph in data["pieces"]:
            for k in graph["mugraph"]["kernels"]:
                for block in (k.get("block"), k.get("tail")):
                    if block is not None:
                        block["body"] = bodies[block["body"]]
            g = json_form.from_json(graph)
            pieces.append((float(us), Piece(g.kernels, g.tensors, g.axes, _words(label), str(structure))))
        values, systems, structures, mugraphs = map(int, data["counts"])
        limits = tuple(map(_words, data["limits"]))
        return Part(tuple(pieces), values, systems, structures, mugraphs, limits, _words(data.get("stopped", "")))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, zlib.error, MugraphSyntax):
        return None


def _unpacked(data: bytes) -> bytes:
    """ValueError for what is longer unpacked than a part may be."""
    unpacking = zlib.decompressobj()
    found = unpacking.decompress(data, MOST_BYTES)
    if not unpacking.eof:
        raise ValueError("it is too long, or cut off")
    return found


def _words(said: object) -> str:
    """A text that people will read."""
    text = str(said)
    if len(text) > MOST_WORDS or not text.isprintable():
        raise ValueError("it is no line of text")
    return text


class Checkpoint:
    """The finished parts of one search, in a file if `path` is given. A file of another search, or of another version, is begun
    anew; OSError where it cannot be written."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.taken = 0  # parts that were not searched again
        self._lines: dict[str, str] = {}

    def open(self, problem: str) -> None:
        """Take up what the file has of this problem (the search's key), and nothing of one that was opened before."""
        self._lines = {}
        header = json.dumps({"version": VERSION, "problem": problem})
        lines = self.path.read_text("ascii", "replace").split("\n") if self.path and self.path.exists() else []
        if lines[:1] == [header]:
            for line in lines[1:-1]:  # the last one is empty, or was cut off
                key, _, rest = line.partition(" ")
                self._lines[key] = rest
        if self.path:
            whole = [header, *(f"{k} {v}" for k, v in self._lines.items())]
            self.path.write_text("\n".join(whole) + "\n", "ascii")

    def get(self, key: Key) -> Part | None:
        line = self._lines.get(str(key))
        part = decode(line) if line is not None else None
        self.taken += part is not None
        return part

    def put(self, key: Key, part: Part) -> None:
        """Keep a finished part."""
        line = self._lines[str(key)] = encode(part)
        if self.path:
            with self.path.open("a", encoding="ascii") as f:
                f.write(f"{key} {line}\n")

    def put_stopped(self, key: Key, part: Part) -> None:
        """A part that a bound cut short: a later run of the search has its own time for it."""

    def close(self, stopped: str) -> None:
        """The search has ended, at that bound or ("") by itself."""

    def __len__(self) -> int:
        return len(self._lines)

"""The resumable state of a search: which cut sets are done and what they gave. Plain data, JSON, versioned.

A search is deterministic, so its state is small: a search of the same problem under the same bounds that begins with a
state skips what is done and ends where an uninterrupted one ends.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from mirage.errors import MugraphSyntax
from mirage.mugraph import jsonform
from mirage.mugraph.grammar import MuGraph

VERSION = 1


@dataclass(frozen=True)
class Found:
    """A candidate as the state keeps it: the µGraph, its estimate (µs), label, structure, number of cuts."""

    mugraph: MuGraph
    us: float
    label: str
    structure: str
    cuts: int


@dataclass(frozen=True)
class SearchState:
    """`problem` identifies what is searched for (a program's key) and under which bounds; `done` cut sets, in order."""

    problem: str
    done: int = 0
    found: tuple[Found, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    limits: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        found = [{**asdict(f), "mugraph": jsonform.to_json(f.mugraph)} for f in self.found]
        return {
            "version": VERSION, "problem": self.problem, "done": self.done, "found": found,
            "counts": dict(self.counts), "limits": list(self.limits),
        }  # fmt: skip

    @staticmethod
    def from_json(data: Any, problem: str) -> SearchState | None:
        """The state, or None where it is of another version, another problem, or not a state at all."""
        if not isinstance(data, dict) or data.get("version") != VERSION or data.get("problem") != problem:
            return None
        try:
            found = tuple(
                Found(
                    jsonform.from_json(f["mugraph"]),
                    float(f["us"]),
                    str(f["label"]),
                    str(f["structure"]),
                    int(f["cuts"]),
                )
                for f in data["found"]
            )
            counts = tuple((str(k), int(v)) for k, v in data["counts"].items())
            return SearchState(problem, int(data["done"]), found, counts, tuple(map(str, data["limits"])))
        except (KeyError, TypeError, ValueError, AttributeError, MugraphSyntax):
            return None

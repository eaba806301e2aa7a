"""What another machine found for a question: a µGraph that has yet to be verified here, and its word on what it measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from mirage.results.codec import unstructure
from mirage.results.result import MeasuredElsewhere


@dataclass(frozen=True)
class Proposal:
    """A µGraph (JSON) that has yet to be verified, and what another machine says that it measured of it."""

    mugraph: str
    measured: MeasuredElsewhere | None = None


def with_word(answer: Mapping[str, object], found: Proposal) -> Mapping[str, object]:
    """An answer with what another machine measured of the very µGraph that was taken; this machine's own measurement goes before it."""
    result = answer.get("result")
    if not isinstance(result, dict) or found.measured is None or result.get("answer") != "kernel":
        return answer
    graphs, time = result.get("mugraphs"), result.get("estimate")
    taken = isinstance(graphs, list) and len(graphs) == 1 and _same(graphs[0], found.mugraph)
    if not taken or (isinstance(time, dict) and time.get("measured")):
        return answer
    return {**answer, "result": {**result, "elsewhere": unstructure(found.measured)}}


def _same(graph: object, mugraph: str) -> bool:
    return json.dumps(graph, sort_keys=True, separators=(",", ":")) == mugraph

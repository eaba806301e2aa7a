"""`to_json` and `from_json` of a kernel graph.

One that was built is written as the original writes it, a list of operators; one
that a search found as this project's µGraph (docs/mugraph.md), with the program that it was found for as a note."""

from __future__ import annotations

import json
from dataclasses import replace

from mirage.errors import MirageError, NotVerified, SavedFileUnreadable, SavedGraphInvalid
from mirage.ir.json_value import Json, JsonObject
from mirage.ir.narrowing import FREE
from mirage.mugraph import json_form
from mirage.mugraph.structure import structure_key
from mirage.pipeline.processes import Tools
from mirage.profile.roofline import estimate
from mirage.results.verdict import ACCEPTED
from mirage_original import export_2025, saved_files
from mirage_original.bounded_json import parse, read_bytes
from mirage_original.found_mugraph import FoundMugraph
from mirage_original.graph_builder import KNGraph, text
from mirage_original.judge_saved import GRAPH_S
from mirage_original.rebuild_saved import build
from mirage_original.searched_graph import NAME, Searched

NOTE, PART = "program: ", 8000  # how the notes begin, and how much of the program each has


def write(graph: KNGraph, path: str) -> None:
    """Writes the graph. Raises GraphMistake for what the original's files cannot say, CannotWrite."""
    if graph.found is None:
        data: Json = export_2025.form([export_2025.describe(graph)])[0]
    else:
        program = json.dumps(export_2025.form([export_2025.describe(plain(graph))])[0], separators=(",", ":"))
        parts = [NOTE + program[i : i + PART] for i in range(0, len(program), PART)]
        m = graph.found.mugraph
        data = json_form.to_json(replace(m, notes=(*(n for n in m.notes if not n.startswith(NOTE)), *parts)))
    text(path, json.dumps(data, indent=1))


def plain(graph: KNGraph) -> KNGraph:
    """The program that a found graph was found for."""
    out = KNGraph()
    out.nodes, out.tensors, out.marked, out.layouts = graph.nodes, graph.tensors, graph.marked, graph.layouts
    return out


def read(path: str, index: int = 0) -> KNGraph:
    """The graph of a file: of the original's (`index` of its list), or of one that `to_json` wrote of a found graph, whose
    µGraph is verified before it is taken. Raises SavedFileUnreadable, SavedGraphInvalid, NotVerified."""
    path = str(path)
    data = parse(read_bytes(path), path)
    if isinstance(data, dict) and set(data) == {"version", "mugraph"}:
        return _found(data, path)
    entries = saved_files.entries(data, path)
    if not -len(entries) <= index < len(entries):
        raise SavedFileUnreadable(f"it has {len(entries)} graphs, and no graph {index}", path=path)
    entry = entries[index]
    if entry.graph is None:
        assert entry.error is not None
        raise entry.error
    return build(entry.graph, f"graph {entry.index}", path, layouts=True)


def _found(data: JsonObject, path: str) -> KNGraph:
    try:
        mugraph = json_form.from_json(data)
    except MirageError as e:
        raise SavedFileUnreadable(e.message, path=path) from None
    notes = [n[len(NOTE) :] for n in mugraph.notes if n.startswith(NOTE)]
    if not notes:
        raise SavedFileUnreadable(
            "it is a µGraph without the program that it is for",
            path=path,
            next_step="`mirage verify PROGRAM FILE` judges it, `mirage show` draws it",
        )
    (entry,) = saved_files.entries([parse("".join(notes).encode(), path)], path)
    if entry.graph is None:
        raise SavedGraphInvalid(f"its program: {entry.error.message if entry.error else ''}", path=path)
    graph = build(entry.graph, "its program", path, layouts=True)
    with Tools() as tools:
        searched = Searched.of(graph, FREE, tools)
        wanted = {"program": searched.program.to_dict(), "text": searched.function.slice.text, "function": NAME}
        asked = {"mugraph": data, "wanted": wanted, "target": searched.device.target}
        verdict = tools.runner.call("saved", asked, timeout_s=GRAPH_S)["verdict"]
    if verdict["word"] not in ACCEPTED:
        raise NotVerified("its µGraph is not shown to compute its program", path=path)
    mugraph = replace(mugraph, notes=tuple(n for n in mugraph.notes if not n.startswith(NOTE)))
    us = estimate(mugraph, searched.device)
    graph.found = FoundMugraph(mugraph, us, f"from {path}", structure_key(mugraph), searched)
    return graph

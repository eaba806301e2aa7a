"""Each graph of a saved file, judged against one program: in workers, since a file is a stranger's.

A graph costs what it costs once: graphs that say the same are judged together, and so are those whose µGraphs differ in names
alone. The program is lowered once a worker. Two links are judged, algebra (proved, or tested in the field) and schedule (tested
in the field, with the memory's opinion); the text where it is asked for, of a module that is emitted for it.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any

from mirage.errors import MirageError, WorkerTimeout
from mirage.ir.json_value import Json, JsonObject
from mirage.ir.program import Program
from mirage.isolate.runner import Worker
from mirage.results.codec import structure, unstructure
from mirage.results.verdict import Verdict
from mirage_original import export_2025
from mirage_original.list_saved import ListedGraph
from mirage_original.rebuild_saved import NAMED
from mirage_original.saved_files import SavedEntry
from mirage_original.searched_graph import TARGET

GRAPH_S = 60.0  # limit of one graph on two links
TEXT_S = 180.0  # with its text
MEMORY = 4 << 30  # bytes that a worker may take
FILE_S = 3600.0  # limit of a file: graphs that are not judged by then say so
CORES = 2


@dataclass(frozen=True)
class Wanted:
    """What the graphs are compared with: a program, its text and its function's name."""

    program: Program
    text: str
    function: str


@dataclass
class JudgedGraph:
    """A graph's row and its verdict (None for a graph that is none). `same_as`: the graph of the file
    whose verdict it has. `seconds`: that its judging took."""

    row: ListedGraph
    verdict: Verdict | None = None
    same_as: int | None = None
    seconds: float = 0.0

    @property
    def word(self) -> str:
        """The verdict's word, or INVALID."""
        return "INVALID" if self.verdict is None else self.verdict.word

    @property
    def accepted(self) -> bool:
        return self.word in ("PROVED", "TESTED")

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.row.to_dict(),
            "word": self.word,
            "same_as": self.same_as,
            "seconds": round(self.seconds, 3),
            "verdict": None if self.verdict is None else unstructure(self.verdict),
        }


@dataclass
class JudgePool:
    """`cores` workers; what is asked of one while it is busy waits."""

    cores: int = CORES
    text: bool = False
    target: str = TARGET
    until: float = math.inf
    workers: SimpleQueue[Worker] = field(default_factory=SimpleQueue)

    def __post_init__(self) -> None:
        for _ in range(max(1, min(self.cores, os.cpu_count() or 1))):
            self.workers.put(Worker(memory_bytes=MEMORY, env={"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}))

    def ask(self, entry: SavedEntry, form: Json, path: str, wanted: JsonObject | None) -> JudgedGraph:
        worker, began = self.workers.get(), time.monotonic()
        left = self.until - began
        payload = {
            "graph": form,
            "index": entry.index,
            "path": path,
            "wanted": wanted,
            "text": self.text,
            "target": self.target,
        }
        try:
            if left <= 0:
                raise WorkerTimeout(f"it was not judged: the {FILE_S:g} s for a file were over")
            value = worker.call("saved", payload, timeout_s=min(TEXT_S if self.text else GRAPH_S, left))
            row = ListedGraph.from_dict(value["row"])
            verdict = None if value["verdict"] is None else structure(value["verdict"], Verdict)
            out = JudgedGraph(replace(row, notes=entry.graph.notes if entry.graph else ()), verdict)
        except MirageError as e:  # the worker's end, or its time's: nothing was shown of this graph
            out = JudgedGraph(ListedGraph(entry.index, code=e.code, why=f"graph {entry.index}: {e.message}"))
        finally:
            self.workers.put(worker)
        out.seconds = time.monotonic() - began
        return out

    def close(self) -> None:
        while not self.workers.empty():
            self.workers.get().close()


def judged(
    entries: Sequence[SavedEntry], path: str, wanted: Sequence[Wanted], *, text: bool = False, cores: int = CORES,
    target: str = TARGET,
) -> Iterator[JudgedGraph]:  # fmt: skip
    """A row for each entry, in order, valid for the device `target`, with its verdict against the one of `wanted` (a program's
    rows of sizes) whose inputs it takes, or the last; the rows alone where nothing is wanted."""
    data: list[JsonObject] = [{"program": w.program.to_dict(), "text": w.text, "function": w.function} for w in wanted]
    forms = {e.index: export_2025.form([e.graph])[0] for e in entries if e.graph is not None}
    first: dict[str, int] = {}
    for i, form in forms.items():
        first.setdefault(json.dumps(form, sort_keys=True), i)
    same = {i: first[json.dumps(form, sort_keys=True)] for i, form in forms.items()}
    pool, threads = JudgePool(cores, text, target, time.monotonic() + FILE_S), ThreadPoolExecutor(max(1, cores))
    try:
        asked = {
            e.index: threads.submit(pool.ask, e, forms[e.index], path, data[place(e, wanted)] if data else None)
            for e in entries
            if e.index in forms and same[e.index] == e.index
        }
        for e in entries:
            if e.error is not None:
                yield JudgedGraph(ListedGraph(e.index, code=e.error.code, why=e.error.message))
                continue
            found = asked[same[e.index]].result()
            yield found if same[e.index] == e.index else _copy(found, e.index)
    finally:
        threads.shutdown(cancel_futures=True)
        pool.close()


def place(entry: SavedEntry, wanted: Sequence[Wanted]) -> int:
    """Which of the programs takes what the graph takes; the last one if none does."""
    if entry.graph is not None:
        have = [entry.graph.tensors[p] for p in entry.graph.inputs]
        own = [(t.shape, NAMED[t.dtype].short if t.dtype in NAMED else "") for t in have]
        for i, w in enumerate(wanted):
            if [(x.type.shape, x.type.dtype) for x in w.program.inputs] == own:
                return i
    return len(wanted) - 1


def _copy(found: JudgedGraph, index: int) -> JudgedGraph:
    why = found.row.why.replace(f"graph {found.row.index}", f"graph {index}", 1)
    return JudgedGraph(replace(found.row, index=index, why=why), found.verdict, found.row.index)

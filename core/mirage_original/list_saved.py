"""The list of a saved file's graphs: of each its kernels, its shapes, whether it is valid, or why not."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from mirage.errors import MirageError
from mirage.ir.json_value import JsonObject, json_int, json_text, json_texts
from mirage.mugraph.check import SM_90, Limits
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.structure import structure_key
from mirage_original.graph_builder import KNGraph
from mirage_original.rebuild_saved import build
from mirage_original.saved_data import SavedGraph, SavedOp
from mirage_original.saved_files import SavedEntry
from mirage_original.to_mugraph import mugraph_of


@dataclass(frozen=True)
class ListedGraph:
    """`kernels`: a text for each, in order. `structure`: of the valid µGraph, with sizes, tiles and names erased. `code` and
    `why`: of a graph that is not valid."""

    index: int
    kernels: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    structure: str = ""
    valid: bool = False
    code: str = ""
    why: str = ""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        return asdict(self)

    @staticmethod
    def from_dict(data: JsonObject) -> ListedGraph:
        """The row of the data that `to_dict` gives. Raises KeyError or TypeError for anything else."""
        kernels, inputs, outputs, notes = (json_texts(data[k]) for k in ("kernels", "inputs", "outputs", "notes"))
        structure, code, why = (json_text(data[k]) for k in ("structure", "code", "why"))
        return ListedGraph(
            json_int(data["index"]), kernels, inputs, outputs, structure, bool(data["valid"]), code, why, notes
        )


def row(entry: SavedEntry, path: str, limits: Limits = SM_90) -> tuple[ListedGraph, KNGraph | None, MuGraph | None]:
    """The row of an entry, and its kernel graph and µGraph if it is valid for a device's limits."""
    if entry.graph is None:
        assert entry.error is not None
        return ListedGraph(entry.index, code=entry.error.code, why=entry.error.message), None, None
    stated = _stated(entry.index, entry.graph)
    try:
        graph = build(entry.graph, f"graph {entry.index}", path)
        made = mugraph_of(graph, limits)
    except MirageError as e:
        return replace(stated, code=e.code, why=e.message), None, None
    return replace(stated, structure=structure_key(made)[:12], valid=True), graph, made


def _stated(index: int, g: SavedGraph) -> ListedGraph:
    """What the file itself says of a graph."""
    return ListedGraph(
        index,
        kernels=tuple(_kernel(g, o) for o in g.ops if o.op not in ("input", "output")),
        inputs=tuple(_tensor(g, p) for p in g.inputs),
        outputs=tuple(_tensor(g, p) for p in g.outputs),
        notes=g.notes,
    )


def _tensor(g: SavedGraph, place: int) -> str:
    t = g.tensors[place]
    return f"{t.dtype}[{', '.join(map(str, t.shape))}]"


def _kernel(g: SavedGraph, o: SavedOp) -> str:
    """`matmul 16x4096 4096x64`, or `blocks 2x16x4, loop 4: matmul exp accum matmul accum`."""
    if o.block is None:
        return " ".join([o.op, *("x".join(map(str, g.tensors[a].shape)) for a in o.args)])
    inside = [_short(x) for x in o.block.ops if x.op not in ("input", "output")]
    return f"blocks {'x'.join(map(str, o.block.grid))}, loop {o.block.forloop_range}: {' '.join(inside)}"


def _short(o: SavedOp) -> str:
    if not o.op.startswith("forloop_accum"):
        return o.op
    kind = o.op.removeprefix("forloop_accum").strip("_") or o.attrs.get("acc")
    return f"accum({kind})" if kind else "accum"

"""A description of a kernel graph (`saved_data.py`) as the original's file writes it, in the form of 2025.

`saved_files.py` reads the same description back. Numbers that its own files leave out (of clamp and mul_scalar) stand there too."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from mirage.errors import GraphMistake
from mirage.ir.json_value import Json, JsonObject
from mirage_original.block_data import Threadblock
from mirage_original.graph_builder import KNGraph
from mirage_original.operator_names import BLOCK, KERNEL, NEW, PREFIXES, Named
from mirage_original.saved_data import MAPS, NUMBERS, SavedAttrs, SavedBlock, SavedGraph, SavedOp, SavedTensor

CODES = {name: code for code, name in NEW.items()}
FIRST, FIRST_INSIDE = 10_000_000, 20_000_000  # guids
NOWHERE: JsonObject = {"x": -1, "y": -1, "z": -1}
DIMS = 4  # that each tensor's list of sizes has


def describe(graph: KNGraph) -> SavedGraph:
    """What a kernel graph is: the places of its tensors stay. GraphMistake for one that a search found."""
    if graph.found is not None:
        raise GraphMistake("the original's files cannot say what this project's searches find")
    kinds = [SavedTensor(t.shape, t.dtype.name, lying(t.shape, t.order)) for t in graph.tensors]
    ops: list[SavedOp] = []
    for i, n in enumerate(graph.nodes):
        if n.op != "customized":
            ops.append(SavedOp(n.op, n.args, (i,), _attrs((k, v) for k, v in n.attrs if k != "normalized_shape")))
        elif n.attr("output") == 0:
            outs = tuple(range(i, i + len(n.attr("block").outputs)))
            ops.append(SavedOp("customized", n.args, outs, block=_described(n.attr("block"), n.args, outs)))
    for p in graph.marked:
        order = graph.layouts.get(p, ())
        ops.append(SavedOp("output", (p,), attrs=_attrs([("strides", lying(kinds[p].shape, order))] if order else ())))
    return SavedGraph(tuple(kinds), tuple(ops))


ACC = {"none": None, "rescale": None, "rescale_sum": "sum"}


def _attrs(stated: Iterable[tuple[str, object]]) -> SavedAttrs:
    """The attributes that an operator of the builder shares with a file's, by the same names."""
    return cast(SavedAttrs, dict(stated))


def _described(b: Threadblock, args: tuple[int, ...], outs: tuple[int, ...]) -> SavedBlock:
    places: dict[int, int] = {}  # of steps -> of tensors
    shapes: list[SavedTensor] = []
    ops: list[SavedOp] = []
    savers = iter(outs)
    for i, s in enumerate(b.steps):
        taken = tuple(places[a] for a in s.args)
        attrs = _attrs(s.attrs)
        if s.op == "output":
            attrs = SavedAttrs(output_map=s.attr("map"), forloop_dim=s.attr("loop"), source=next(savers))
            ops.append(SavedOp("output", taken, (), attrs))
            continue
        shapes.append(SavedTensor(s.shape))
        places[i] = len(shapes) - 1
        if s.op == "max_change":  # the second result of the operator before it
            ops[-1] = replace(ops[-1], outs=(*ops[-1].outs, places[i]))
            continue
        op = s.op
        if op == "input":
            attrs = SavedAttrs(input_map=s.attr("map"), forloop_dim=s.attr("loop"), source=args[s.attr("input")])
        elif op == "accumulate":
            acc: str = s.attr("acc")
            op = "forloop_accum" + ("_rescale" if acc.startswith("rescale") else "_max" if acc == "max" else "")
            attrs = SavedAttrs() if acc == "max" else SavedAttrs(acc=ACC.get(acc, acc))
        ops.append(SavedOp(op, taken, (places[i],), attrs))
    return SavedBlock(b.grid, b.block, b.forloop_range, b.dimx, tuple(shapes), tuple(ops))


def form(graphs: Sequence[SavedGraph]) -> list[Json]:
    """The file's data: a list of graphs."""
    return [_Writer(g).graph() for g in graphs]


def name_of(op: SavedOp, table: dict[str, Named]) -> str:
    """The operator's name in a file. GraphMistake where the original has none."""
    for name, named in table.items():
        same = named.op == op.op and all(op.attrs.get(k) == v for k, v in named.attrs)
        if same and not name.startswith(f"{PREFIXES[0]}_"):
            return name
    raise GraphMistake(f"the original's files have no name for {op.op} {op.attrs}")


def xyz(three: Sequence[int]) -> JsonObject:
    return dict(zip("xyz", three, strict=True))


def strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def lying(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...] | None:
    """The strides of a tensor whose dims lie in that order, major first; None for row-major."""
    if not order:
        return None
    inner = {d: math.prod(shape[x] for x in order[i + 1 :]) for i, d in enumerate(order)}
    return tuple(inner[d] for d in range(len(shape)))


class _Writer:
    def __init__(self, graph: SavedGraph) -> None:
        self.g = graph
        self.made = FIRST_INSIDE

    def tensor(self, place: int) -> JsonObject:
        t = self.g.tensors[place]
        return self.plain(t, FIRST + place, "DmemRowMajor", CODES[t.dtype])

    def plain(self, t: SavedTensor, guid: int, layout: str, code: int) -> JsonObject:
        dim: list[Json] = [*t.shape, *[0] * (DIMS - len(t.shape))]
        return {"data_type": code, "dim": dim, "guid": guid, "layout": layout, "num_dims": len(t.shape)}

    def graph(self) -> list[Json]:
        marked = {o.args for o in self.g.ops if o.op == "output"}
        last = [SavedOp("output", (p,)) for p in self.g.outputs if (p,) not in marked]
        return [self.operator(o) for o in (*self.g.ops, *last)]

    def operator(self, o: SavedOp) -> JsonObject:
        name = name_of(o, KERNEL)
        row: JsonObject = {
            "op_type": name,
            "input_tensors": [self.tensor(a) for a in o.args],
            "output_tensors": [self.tensor(a) for a in o.outs],
        }
        if o.op == "input":
            t = self.g.tensors[o.outs[0]]
            row |= {"input_map": NOWHERE, "input_strides": list(t.strides or strides(t.shape))}
        if o.op == "output":
            shape = self.g.tensors[o.args[0]].shape
            row |= {"output_map": NOWHERE, "output_strides": list(o.attrs.get("strides") or strides(shape))}
        if o.block is not None:
            row["bgraph"] = self.block(o.block, CODES[self.g.tensors[o.outs[0]].dtype])
        return row | self.numbers(o, KERNEL[name])

    def numbers(self, o: SavedOp, named: Named) -> JsonObject:
        """The attributes that the file names as they are named here."""
        stated: JsonObject = {k: o.attrs[k] for k in NUMBERS if k in named.fields and k in o.attrs}
        loop = o.attrs.get("forloop_dim")
        return stated if loop is None or "forloop_dim" not in named.fields else {"forloop_dim": loop, **stated}

    def block(self, b: SavedBlock, code: int) -> JsonObject:
        first, self.made = self.made, self.made + len(b.tensors)
        after: set[int] = set()
        offsets, offset = [], 0
        for t in b.tensors:
            offsets.append(offset)
            offset += -(-2 * math.prod(t.shape) // 16) * 16
        rows: list[Json] = []
        for o in b.ops:
            if o.op.startswith("forloop_accum") or any(a in after for a in o.args):
                after.update(o.outs)
            name = name_of(o, BLOCK)
            row: JsonObject = {"op_type": name}
            for which, places in (("input_tensors", o.args), ("output_tensors", o.outs)):
                row[which] = [
                    self.plain(b.tensors[p], first + p, "SmemRowMajor", code)
                    | {"after_accum": p in after, "smem_offset": offsets[p]}
                    for p in places
                ]
            for key in MAPS:
                if key in o.attrs:
                    row[key] = xyz(o.attrs[key])
            row |= self.numbers(o, BLOCK[name])
            if "source" in o.attrs:
                row["dtensor"] = self.tensor(o.attrs["source"])
            rows.append(row)
        return {
            "graph_level": "thread_block_graph", "grid_dim": xyz(b.grid), "block_dim": xyz(b.block),
            "forloop_range": b.forloop_range, "reduction_dimx": b.reduction_dimx, "operators": rows, "smem_offset": offset,
        }  # fmt: skip

"""A saved graph built again by the builder, operator by operator, so that nothing of the file is believed but its operators.

Every shape that it states is compared with the one that follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from mirage.errors import MirageError, SavedGraphInvalid
from mirage_original.block_builder import STensor, TBGraph, new_threadblock_graph
from mirage_original.graph_builder import KNGraph
from mirage_original.saved_data import SavedBlock, SavedGraph, SavedOp, SavedTensor
from mirage_original.tensors import GRAPH_DTYPES, DTensor, dtype

T = TypeVar("T")
NAMED = {d.name: d for d in GRAPH_DTYPES.values()}


def build(saved: SavedGraph, place: str = "the graph", path: str | None = None, *, layouts: bool = False) -> KNGraph:
    """The kernel graph, its inputs and outputs row-major, or (`layouts`) as they lie in the file. Raises SavedGraphInvalid with
    the place of the operator that does not fit."""
    g = KNGraph()
    made: dict[int, DTensor] = {}
    for i, op in enumerate(saved.ops):
        where = f"{place}, operator {i}"
        args = [made[a] for a in op.args]
        if op.block is None:
            places, found = list(op.outs), _try(where, path, _kernel, g, saved, op, args, layouts)
        else:
            threadblock, places = _block(op.block, made, where, path)
            found = _try(where, path, g.customized, list({t.place: t for t in args}.values()), threadblock)
        made |= dict(zip(places, found, strict=True))
        for p in op.outs:
            _same(made[p].shape, saved.tensors[p], where, path)
    return g


def _kernel(g: KNGraph, saved: SavedGraph, op: SavedOp, args: list[DTensor], layouts: bool) -> list[DTensor]:
    """What an operator of the kernel graph gives."""
    if op.op == "input":
        t = saved.tensors[op.outs[0]]
        return [g.new_input(t.shape, t.strides if layouts else None, dtype=_dtype(t))]
    if op.op == "output":
        g.mark_output(args[0], op.attrs.get("strides") if layouts else None)
        return []
    if op.op == "rms_norm":
        return [g.rms_norm(args[0], args[0].shape[-1:])]  # no file says over which dims; the verdict does
    return [getattr(g, op.op)(*args, **op.attrs)]


def _dtype(t: SavedTensor) -> dtype:
    if t.dtype not in NAMED:
        raise SavedGraphInvalid(f"no kernel here takes {t.dtype}")
    return NAMED[t.dtype]


def _block(b: SavedBlock, outer: dict[int, DTensor], place: str, path: str | None) -> tuple[TBGraph, list[int]]:
    """The block graph, and the places of the kernel graph's tensors that its savers write, in order."""
    tb = _try(place, path, new_threadblock_graph, b.grid, b.block, b.forloop_range, b.reduction_dimx)
    made: dict[int, STensor] = {}
    places = []
    for i, op in enumerate(b.ops):
        where = f"{place}, block operator {i}"
        args = [made[a] for a in op.args]
        if op.op == "output":
            _try(where, path, tb.new_output, args[0], op.attrs["output_map"], op.attrs.get("forloop_dim", -1))
            places.append(op.attrs["source"])
            continue
        made |= dict(zip(op.outs, _try(where, path, _inside, tb, op, args, outer), strict=True))
        for p in op.outs:
            _same(made[p].shape, b.tensors[p], where, path)
    return tb, places


def _inside(tb: TBGraph, op: SavedOp, args: list[STensor], outer: dict[int, DTensor]) -> Sequence[STensor]:
    """What an operator of a block graph gives."""
    if op.op == "input":
        return [tb.new_input(outer[op.attrs["source"]], op.attrs["input_map"], op.attrs["forloop_dim"])]
    if op.op == "concat_then_matmul":  # [A B] by [C; D]
        a, b, c, d = args
        return [tb.add(tb.matmul(a, c), tb.matmul(b, d))]
    if op.op == "reduction_max":
        return tb.reduction_max(args[0], op.attrs["dim"])
    return [getattr(tb, op.op)(*args, **op.attrs)]


def _same(have: tuple[int, ...], stated: SavedTensor, place: str, path: str | None) -> None:
    if have != stated.shape:
        raise SavedGraphInvalid(f"{place}: it gives {have}, and the file says {stated.shape}", path=path)


def _try(place: str, path: str | None, call: Callable[..., T], *args: object) -> T:
    """The call's value; its mistake with the place in the file instead of the script's."""
    try:
        return call(*args)
    except MirageError as e:
        raise SavedGraphInvalid(f"{place}: {e.message}", path=path) from None

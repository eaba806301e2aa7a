"""Operators between kernels as block graphs: one block for each row of what they give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mirage.ir.narrowing import MAX_GRID
from mirage.ir.program import Attr
from mirage_original.block_data import BlockStep, Threadblock, Three

if TYPE_CHECKING:
    from mirage_original.graph_builder import KNGraph

WIDE = 1024  # elements of a row that one block has where a row can be cut


def block_of(graph: KNGraph, place: int) -> Threadblock:
    """The block graph of a pointwise operator, a reduction or an rms_norm."""
    node = graph.nodes[place]
    shapes = [graph.tensors[a].shape for a in node.args]
    out = graph.tensors[place].shape
    widest = tuple(map(max, *shapes)) if len(shapes) > 1 else shapes[0]
    whole = {node.attr("dim")} if node.op == "reduction" else set[int]()
    if node.op == "rms_norm":
        whole = set(range(len(out) - len(node.attr("normalized_shape")), len(out)))
    cut: list[tuple[int, int]] = []  # (dim, blocks along it)
    for d in range(len(widest) - 1):
        if d not in whole and widest[d] > 1 and len(cut) < 3 and widest[d] <= MAX_GRID[len(cut)]:
            cut.append((d, widest[d]))
    last, n = len(widest) - 1, widest[-1]
    if last not in whole and n % WIDE == 0 and n > WIDE and len(cut) < 3:
        cut.append((last, n // WIDE))
    cut += [(-1, 1)] * (3 - len(cut))
    grid: Three = (cut[0][1], cut[1][1], cut[2][1])
    tb = Threadblock(grid, (128, 1, 1), 1, 1)

    def mapped(shape: tuple[int, ...]) -> Three:
        x, y, z = (d if d >= 0 and shape[d] > 1 else -1 for d, _ in cut)
        return x, y, z

    def tile(shape: tuple[int, ...]) -> tuple[int, ...]:
        parts = dict(cut)
        return tuple(m // parts.get(d, 1) if m > 1 else m for d, m in enumerate(shape))

    def add(op: str, args: tuple[int, ...], shape: tuple[int, ...], *attrs: tuple[str, Attr]) -> None:
        tb.steps.append(BlockStep(op, args, tile(shape), False, attrs, node.place))

    reads = list(dict.fromkeys(node.args))
    for i, a in enumerate(reads):
        shape = graph.tensors[a].shape
        add("input", (), shape, ("input", i), ("map", mapped(shape)), ("loop", -1))
    attrs: list[tuple[str, Attr]] = [(k, v) for k, v in node.attrs if not isinstance(v, Threadblock)]
    if node.op == "rms_norm":
        attrs = [("dims", len(whole))]
    add(node.op, tuple(map(reads.index, node.args)), out, *attrs)
    add("output", (len(tb.steps) - 1,), out, ("map", mapped(out)), ("loop", -1), ("full", out))
    return tb

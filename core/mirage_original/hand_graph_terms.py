"""A hand-written graph against a program: the program's terms, with its axes cut as the graph's kernels cut them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mirage.errors import SignatureMismatch
from mirage.ir.tensor_spec import TensorType
from mirage.meaning.axis_split import split_axis
from mirage.meaning.nodes import Input
from mirage.meaning.terms import Terms
from mirage.mugraph.check import SM_90, Limits
from mirage.mugraph.grammar import DTensor
from mirage.verify.output_terms import Output, OutputTerm
from mirage_original.to_mugraph import LoweredGraph, Sides, lowered_of

if TYPE_CHECKING:
    from mirage_original.graph_builder import KNGraph


def sides(t: Terms, inputs: Sequence[DTensor], outputs: Sequence[OutputTerm]) -> Sides:
    """What a program says of its tensors. Raises SignatureMismatch for an input of which it reads a part alone."""
    for x in inputs:
        if any(n is not None for n in x.rigid):
            raise SignatureMismatch(f"the program reads {x.name} in parts", next_step="give the parts as inputs")
    named = [d for x in inputs for d in x.dims] + [d for o in outputs for d in o.dims]
    sizes = {a: t.sizes[a] for d in named for a in d}
    return Sides(
        tuple((x.name, x.dims) for x in inputs),
        tuple((o.tensor, o.dims) for o in outputs),
        sizes,
        frozenset(t.sizes),
    )


def same_signature(graph: KNGraph, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> None:
    """Raises SignatureMismatch unless the graph takes and gives tensors of these shapes and dtypes."""
    stored = [tuple(x.shape[d] for d in graph.layouts.get(x.place) or range(x.num_dims)) for x in graph.outputs]
    own_inputs, own_outputs = [x.stored for x in graph.inputs], stored
    for what, shapes, have, want in (
        ("inputs", own_inputs, graph.inputs, inputs),
        ("outputs", own_outputs, graph.outputs, outputs),
    ):
        own = [(shape, x.dtype.short) for shape, x in zip(shapes, have, strict=True)]
        theirs = [(x.shape, x.dtype) for x in want]
        if own != theirs:
            raise SignatureMismatch(f"the graph has the {what} {own}, the program {theirs}")


def cut(t: Terms, targets: Sequence[OutputTerm], inputs: Sequence[DTensor], found: LoweredGraph) -> list[Output]:
    """The targets over the µGraph's axes."""
    sizes = dict(found.mugraph.axes)
    for a in set(sizes) - set(t.sizes):
        t.sizes[a] = sizes[a]
    axes = {a: parts for a, parts in found.axes.items() if parts != (a,)}
    axes |= copies(t, targets, inputs, axes)
    out = []
    for o in targets:
        term = o.term
        for a, parts in axes.items():
            term = split(t, term, a, parts)
        dims = tuple(tuple(p for a in d for p in axes.get(a, (a,))) for d in o.dims)
        out.append(Output(o.tensor, term, dims))
    return out


def split(t: Terms, term: int, axis: str, parts: tuple[str, ...]) -> int:
    """`term` with `axis` as several, major first."""
    for i, part in enumerate(parts[:-1]):
        rest = parts[-1]
        if i < len(parts) - 2:
            rest = f"{axis}.{i}"
            t.sizes[rest] = t.sizes[axis] // t.sizes[part]
        term = split_axis(t, term, axis, part, rest)
        axis = rest
    return term


def copies(
    t: Terms, targets: Sequence[OutputTerm], inputs: Sequence[DTensor], axes: dict[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Axes that a term has beside the tensors' own, for a tensor that it reads at two indices: cut alike, with other names."""
    own = {x.name: x.dims for x in inputs}
    found: dict[str, tuple[str, ...]] = {}
    for o in targets:
        for y in t.walk(o.term):
            n = t.node(y)
            if not isinstance(n, Input) or n.name not in own:
                continue
            for entry, dims in zip(n.index, own[n.name], strict=True):
                for a, b in zip(entry.axes, dims, strict=False):
                    if a not in axes and a != b and b in axes and a not in found:
                        found[a] = tuple(f"{a}.{p}" for p in axes[b])
                        t.sizes.update({f"{a}.{p}": t.sizes[p] for p in axes[b]})
    return found


def against(
    graph: KNGraph, t: Terms, inputs: Sequence[DTensor], targets: Sequence[OutputTerm], name: str = "program",
    limits: Limits = SM_90,
) -> tuple[LoweredGraph, list[Output]]:  # fmt: skip
    """The graph's µGraph with the program's names, valid for a device's limits, and the targets over its axes."""
    found = lowered_of(graph, sides(t, inputs, targets), name, limits)
    return found, cut(t, targets, inputs, found)

"""A graph that was written by hand, in the form of a search's result: its µGraph, planned, for a program or for its own meaning.

Its verdict, its text and its run are then those of any other (`found_mugraph.py`)."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from mirage.ir.narrowing import FREE
from mirage.mugraph.check import Limits
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.mugraph.structure import structure_key
from mirage.pipeline.processes import Tools
from mirage.plan import plan
from mirage.profile.roofline import estimate
from mirage.results.details import RangeDetails
from mirage.search.problem import fork
from mirage.verify.ranges.opinion import range_opinion
from mirage_original.found_mugraph import FoundMugraph
from mirage_original.hand_graph_terms import against, same_signature
from mirage_original.searched_graph import NAME, Searched

if TYPE_CHECKING:
    from mirage_original.graph_builder import KNGraph


def written(graph: KNGraph, program: KNGraph | None = None, tools: Tools | None = None) -> FoundMugraph:
    """`graph` for `program` (None: for what it computes itself). Raises GraphMistake and InvalidMugraph with the script's
    line, SignatureMismatch where the two do not take and give the same tensors. `tools` serve several."""
    with nullcontext(tools) if tools is not None else Tools() as own:
        searched = Searched.of(graph if program is None else program, FREE, own)
    return fitted(graph, searched, "written by hand")


def fitted(graph: KNGraph, searched: Searched, label: str) -> FoundMugraph:
    """`graph` for a program that was read and traced. Raises as `written`."""
    p, traced = searched.problem, searched.program
    same_signature(graph, [i.type for i in traced.inputs], [traced.type_of(o) for o in traced.outputs])
    t = fork(p.t)  # other graphs cut the same axes in other ways
    found, targets = against(graph, t, p.inputs, p.outputs, NAME, Limits.of(searched.device))
    outputs = tuple(replace(o, term=x.term, dims=x.dims) for o, x in zip(p.outputs, targets, strict=True))
    mugraph = plan(found.mugraph, searched.device)
    told = range_opinion(t, outputs, mugraph).details
    if isinstance(told, RangeDetails) and told.narrower:
        mugraph = plan(wide(found.mugraph), searched.device)
    own = replace(searched, problem=replace(p, t=t, outputs=outputs))
    return FoundMugraph(mugraph, estimate(mugraph, searched.device), label, structure_key(mugraph), own)


def wide(m: MuGraph) -> MuGraph:
    """With computed operands, and what goes from kernel to kernel, in float32's range."""
    libraries = [k for k in m.kernels if not isinstance(k, CustomKernel)]
    fixed = {k.out for k in libraries} | {a for k in libraries for a in k.args}
    tensors = tuple(
        replace(t, dtype="fp32") if t.kind == "temp" and t.dtype == "fp16" and t.name not in fixed else t
        for t in m.tensors
    )
    kernels = tuple(replace(k, operands="wide") if isinstance(k, CustomKernel) else k for k in m.kernels)
    return replace(m, tensors=tensors, kernels=kernels)

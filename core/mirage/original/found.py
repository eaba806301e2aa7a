"""A µGraph that a search found for a kernel graph: its verdict, its Triton text, and how it runs."""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mirage.errors import GraphMistake
from mirage.mugraph.grammar import MuGraph
from mirage.original.tensors import inverse

if TYPE_CHECKING:
    from mirage.original.graph import KNGraph
    from mirage.original.search import Searched


@dataclass
class Found:
    """`mugraph`, planned; the model's `us`; `searched`: what it was found for. Algebra and schedule were accepted when it was
    found; the text is judged by `verify`."""

    mugraph: MuGraph
    us: float
    label: str
    structure: str
    searched: Searched = field(repr=False)

    @cached_property
    def text(self) -> str:
        """The Triton module."""
        return self.searched.emit(self)

    def verify(self, *, text: bool = True) -> dict[str, Any]:
        """The verdict of all three links, in a worker, as data (`mirage verify --json` has the same). Without `text` that of
        the µGraph, on two links, with the size of inputs up to which nothing overflows ("range")."""
        verdict = self.searched.judge(self, text=text)
        return verdict if text else verdict | {"range": self.searched.in_range(self)}

    def json(self) -> dict[str, Any]:
        from mirage.mugraph import jsonform

        return jsonform.to_json(self.mugraph)

    @cached_property
    def module(self) -> types.ModuleType:
        """The Triton module, imported."""
        return imported(self.text)


def imported(text: str) -> types.ModuleType:
    """A module's text, imported from a file of its own: Triton reads the source of its kernels."""
    from mirage.codegen.interpreter import interpreting, load_module

    return load_module(text, interpret=interpreting())


def run(graph: KNGraph, inputs: Sequence[Any]) -> list[Any]:
    """The graph's outputs for tensors of its inputs' shapes and dtypes."""
    wanted = graph.searched_inputs()
    if len(inputs) != len(wanted):
        raise GraphMistake(f"{len(inputs)} inputs for a graph with {len(wanted)}")
    for i, (t, (shape, name)) in enumerate(zip(inputs, wanted, strict=True)):
        if tuple(t.shape) != shape or str(t.dtype) != f"torch.{name}":
            raise GraphMistake(f"input {i} has {tuple(t.shape)} and {t.dtype}, the graph {shape} and torch.{name}")
    stored = [t.permute(x.order).contiguous() if x.order else t for t, x in zip(inputs, graph.inputs, strict=True)]
    found = graph.kernels()
    if found is not None:
        made = found.module.program(*stored)
    else:
        import torch

        names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
        exec(graph.plain(), names)
        made = names["program"](*stored)
    results = list(made) if isinstance(made, tuple) else [made]
    orders = [graph.layouts.get(t.place, ()) for t in graph.outputs]
    return [r.contiguous().permute(inverse(o)) if o else r for r, o in zip(results, orders, strict=True)]

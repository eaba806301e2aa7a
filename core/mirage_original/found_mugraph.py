"""A µGraph that a search found for a kernel graph: its verdict, its Triton text, and how it runs."""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from mirage.codegen.interpreter import interpreting, load_module
from mirage.ir.json_value import JsonObject
from mirage.mugraph import json_form
from mirage.mugraph.grammar import MuGraph
from mirage_original.arguments import shown
from mirage_original.mistakes import mistake
from mirage_original.tensors import inverse

if TYPE_CHECKING:
    import torch

    from mirage_original.graph_builder import KNGraph
    from mirage_original.searched_graph import Searched


@dataclass
class FoundMugraph:
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

    def verify(self, *, text: bool = True) -> JsonObject:
        """The verdict of all three links, in a worker, as data (`mirage verify --json` has the same). Without `text` that of
        the µGraph, on two links, with the size of inputs up to which nothing overflows ("range")."""
        verdict = self.searched.judge(self, text=text)
        return verdict if text else verdict | {"range": self.searched.in_range(self)}

    def json(self) -> JsonObject:
        return json_form.to_json(self.mugraph)

    @cached_property
    def module(self) -> types.ModuleType:
        """The Triton module, imported."""
        return imported(self.text)


def imported(text: str) -> types.ModuleType:
    """A module's text, imported from a file of its own: Triton reads the source of its kernels."""
    return load_module(text, interpret=interpreting())


def run(
    graph: KNGraph, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor] | None = None
) -> list[torch.Tensor]:
    """The graph's outputs for tensors of its inputs' shapes and dtypes; in `outputs` if they are given. Raises GraphMistake."""
    wanted = graph.searched_inputs()
    tensors("inputs", inputs, [shape for shape, _ in wanted])
    for i, (t, (_, name)) in enumerate(zip(inputs, wanted, strict=True)):
        if str(t.dtype) != f"torch.{name}":
            raise mistake(f"inputs[{i}] has {t.dtype}, the graph torch.{name}")
    given = None if outputs is None or (isinstance(outputs, (list, tuple)) and not outputs) else outputs
    if given is not None:
        tensors("outputs", given, [t.shape for t in graph.outputs])
    results = computed(graph, inputs)
    if given is None:
        return results
    for own, made in zip(given, results, strict=True):
        own.copy_(made)
    return list(given)


def tensors(what: str, given: object, shapes: Sequence[tuple[int, ...]]) -> None:
    """GraphMistake unless these are tensors of those shapes."""
    import torch

    if not isinstance(given, (list, tuple)) or len(given) != len(shapes):
        count = f"{len(given)} tensors" if isinstance(given, (list, tuple)) else shown(given)
        raise mistake(f"{what} is a list of {len(shapes)} tensors, not {count}")
    for i, (t, shape) in enumerate(zip(given, shapes, strict=True)):
        if not isinstance(t, torch.Tensor):
            raise mistake(f"{what}[{i}] is {shown(t)}, no tensor of PyTorch")
        if tuple(t.shape) != shape:
            raise mistake(f"{what}[{i}] has {tuple(t.shape)}, the graph {shape}")


def computed(graph: KNGraph, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """What the graph gives for tensors that fit."""
    stored = [t.permute(x.order).contiguous() if x.order else t for t, x in zip(inputs, graph.inputs, strict=True)]
    found = graph.kernels()
    if found is not None:
        made = found.module.program(*stored)
    else:
        import torch

        names: dict[str, object] = {"torch": torch, "F": torch.nn.functional}
        exec(graph.plain(), names)
        program = names["program"]
        assert callable(program)
        made = program(*stored)
    results = list(made) if isinstance(made, tuple) else [made]
    orders = [graph.layouts.get(t.place, ()) for t in graph.outputs]
    return [r.contiguous().permute(inverse(o)) if o else r for r, o in zip(results, orders, strict=True)]

"""`mirage.explain(model, *inputs)`: region by region what runs by a kernel, how much that gave, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mirage.dynamo.backend import GRADIENT, why_whole
from mirage.dynamo.functional_graph import GradientInside, Role
from mirage.dynamo.functional_part import FunctionalPart
from mirage.dynamo.graph_regions import is_view, unknown
from mirage.dynamo.rest_compiler import copied, named_rest
from mirage.dynamo.swapped_graph import DRAWN_AGAIN, SwappedGraph

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class RegionReport:
    """A region: its name, which equal regions share, its operators that compute, whether a kernel runs it, else why not, and
    what the daemon gives as its baseline's time over the kernel's, measured where it
    had a GPU and estimated elsewhere (0.0: not known here)."""

    name: str
    operators: int
    taken: bool
    reason: str
    gain: float


@dataclass(frozen=True)
class GraphReport:
    """A graph of Dynamo's, or the forward or the backward of one (`part`): its regions, why it has none where it is compiled
    whole, and the operators that no region can hold, by name."""

    regions: tuple[RegionReport, ...]
    reason: str
    unknown: tuple[tuple[str, int], ...]
    part: Role | None = None


@dataclass(frozen=True)
class ModelExplanation:
    """The graphs of one call, in the order in which they ran; behind a forward stands its backward."""

    graphs: tuple[GraphReport, ...]

    def __str__(self) -> str:
        lines = []
        for i, graph in enumerate(self.graphs):
            part = "" if graph.part in (None, Role.INFERENCE) else f", {graph.part.value}"
            lines.append(f"graph {i}{part}: {graph.reason or f'{len(graph.regions)} regions'}")
            for r in graph.regions:
                gain = f", {r.gain:.2f} times the speed of its baseline" if r.gain else ""
                lines.append(f"  {r.name} ({r.operators} operators): {'kernel' + gain if r.taken else r.reason}")
            lines += [f"  outside: {name} ({count})" for name, count in graph.unknown]
        return "\n".join(lines)


def explain(model: Callable[..., object], *inputs: object, **keywords: object) -> ModelExplanation:
    """What `torch.compile(model, backend="mirage")` does with such a call, as of now.

    Under `torch.no_grad` the graphs are those of inference, else forward and backward where a gradient is needed. Calls the model
    once, its operators one by one, and no backward; regions that no daemon was asked about are submitted. Called again it compiles
    nothing again: Dynamo keeps but a few codes of a function."""
    import torch

    found: list[GraphReport] = []
    before = _called.set(found)
    try:
        torch.compile(getattr(model, "_orig_mod", model), backend=_look, dynamic=False)(*inputs, **keywords)
    finally:
        _called.reset(before)
    return ModelExplanation(tuple(found))


_called: ContextVar[list[GraphReport] | None] = ContextVar("_called", default=None)


def _look(module: torch.fx.GraphModule, example_inputs: Sequence[object]) -> Callable[..., Any]:
    """A backend whose graphs say what they consist of whenever they run within `explain`."""
    seen = _inspected(copied(module), example_inputs)

    def run(*args: object) -> object:
        found = _called.get()
        if found is not None:
            found += (
                [GraphReport((), seen, ())] if isinstance(seen, str) else [_report(seen, part) for part in seen.parts]
            )
        return module.forward(*args)

    return run


def _inspected(module: torch.fx.GraphModule, example_inputs: Sequence[object]) -> SwappedGraph | str:
    """The graph with its regions, or why it has none."""
    reason = why_whole(example_inputs)
    if reason:
        return reason
    try:
        graph = SwappedGraph(module, example_inputs, named_rest("eager", None, {}))
    except GradientInside:
        return GRADIENT
    except Exception as error:  # as in the backend: PyTorch cannot make it functional
        return f"{type(error).__name__}: {error}"
    return DRAWN_AGAIN if graph.why_whole() == DRAWN_AGAIN else graph


def _report(graph: SwappedGraph, part: FunctionalPart) -> GraphReport:
    ready = part.ready()
    rows = []
    for i, (region, kernel) in enumerate(part.regions):
        size = sum(not is_view(node) for node in region.nodes)
        why = graph.why_not(kernel.written.name) if i in ready else kernel.reason
        rows.append(RegionReport(kernel.written.name, size, i in ready and not why, why, kernel.gain))
    return GraphReport(tuple(rows), "", tuple(sorted(unknown(part.module.graph).items())), part.role)

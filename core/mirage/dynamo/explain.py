"""`mirage.explain(model, *inputs)`: region by region what runs by a kernel, how much that gave, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mirage.dynamo.backend import GRADIENT, why_whole
from mirage.dynamo.functional_graph import GradientInside
from mirage.dynamo.graph_regions import is_view, unknown
from mirage.dynamo.rest_compiler import copied, named_rest
from mirage.dynamo.swapped_graph import SwappedGraph

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
    """A graph of Dynamo's: its regions, why it has none where it is compiled whole, the operators outside of them by name."""

    regions: tuple[RegionReport, ...]
    reason: str
    unknown: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ModelExplanation:
    """The graphs of one call, in the order in which they ran."""

    graphs: tuple[GraphReport, ...]

    def __str__(self) -> str:
        lines = []
        for i, graph in enumerate(self.graphs):
            lines.append(f"graph {i}: {graph.reason or f'{len(graph.regions)} regions'}")
            for r in graph.regions:
                gain = f", {r.gain:.2f} times the speed of its baseline" if r.gain else ""
                lines.append(f"  {r.name} ({r.operators} operators): {'kernel' + gain if r.taken else r.reason}")
            lines += [f"  outside: {name} ({count})" for name, count in graph.unknown]
        return "\n".join(lines)


def explain(model: Callable[..., object], *inputs: object, **keywords: object) -> ModelExplanation:
    """What `torch.compile(model, backend="mirage")` does with such a call, as of now. Calls the model once, without a gradient, its
    operators one by one; regions that no daemon was asked about are submitted."""
    import torch

    found: list[GraphReport] = []

    def look(module: torch.fx.GraphModule, example_inputs: Sequence[object]) -> Callable[..., Any]:
        found.append(_report(copied(module), example_inputs))
        return module.forward  # type: ignore[no-any-return]

    with torch.no_grad():
        torch.compile(getattr(model, "_orig_mod", model), backend=look, dynamic=False)(*inputs, **keywords)
    return ModelExplanation(tuple(found))


def _report(module: torch.fx.GraphModule, example_inputs: Sequence[object]) -> GraphReport:
    reason = why_whole(example_inputs)
    if reason:
        return GraphReport((), reason, ())
    try:
        graph = SwappedGraph(module, example_inputs, named_rest("eager", None, {}))
    except GradientInside:
        return GraphReport((), GRADIENT, ())
    except Exception as error:  # as in the backend: PyTorch cannot make it functional
        return GraphReport((), f"{type(error).__name__}: {error}", ())
    rows = []
    for region, kernel in graph.regions:
        kernel.poll()
        size = sum(not is_view(node) for node in region.nodes)
        rows.append(RegionReport(kernel.written.name, size, kernel.kernel is not None, kernel.reason, kernel.gain))
    assert graph.module is not None
    return GraphReport(tuple(rows), "", tuple(sorted(unknown(graph.module.graph).items())))

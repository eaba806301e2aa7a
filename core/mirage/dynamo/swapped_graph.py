"""One graph of Dynamo's at run time: its rest's code at first, then the same with verified kernels in the places of regions."""

from __future__ import annotations

import logging
import operator
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mirage.dynamo.functional_graph import Flat, functional
from mirage.dynamo.graph_regions import GraphRegion, cut
from mirage.dynamo.region_kernels import RegionKernel, kernel_of
from mirage.dynamo.region_text import write
from mirage.dynamo.rest_compiler import Rest

if TYPE_CHECKING:
    import torch

log = logging.getLogger("mirage.dynamo")
LOOK_S = 1.0  # between two looks at the kernels


class SwappedGraph:
    """Called with the graph's inputs. `regions` are its regions in order, each with the kernel entry that equal regions share."""

    def __init__(self, module: torch.fx.GraphModule, example_inputs: Sequence[object], rest: Rest) -> None:
        self._rest = rest
        self._inner: Callable[..., Any] | None = None
        self._taken: frozenset[int] = frozenset()
        self._look_at = 0.0
        self.regions: list[tuple[GraphRegion, RegionKernel]] = []
        self.module: torch.fx.GraphModule | None = None
        self._functional = functional(module, example_inputs, self._flat)

    def begin(self, whole: Callable[..., Any]) -> None:
        """`whole` runs the graph until a kernel is there, as it does where kernels turn out not to be usable."""
        self._whole = self._current = whole
        self._look()

    def __call__(self, *args: Any) -> Any:
        if time.monotonic() >= self._look_at:
            self._look()
        return self._current(*args)

    def _flat(self, module: torch.fx.GraphModule) -> Flat:
        """Called once with the functional graph; gives what runs it."""
        self.module = module
        for region in cut(module.graph):
            self.regions.append((region, kernel_of(write(region.nodes, region.inputs, region.outputs))))
        return self._run

    def _look(self) -> None:
        self._look_at = time.monotonic() + LOOK_S
        for _, kernel in self.regions:
            kernel.poll()
        ready = frozenset(i for i, (_, kernel) in enumerate(self.regions) if kernel.kernel is not None)
        if ready != self._taken:
            self._take(ready)

    def _take(self, ready: frozenset[int]) -> None:
        """Compile the functional graph with these kernels: here, since AOTAutograd's own calls run with its dispatch keys off."""
        self._taken = ready
        module = self._with_operators()
        given = [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
        self._inner, self._current = self._rest(module, given), self._functional

    def _run(self, args: Sequence[torch.Tensor]) -> Any:
        assert self._inner is not None
        return self._inner(*args)

    def _with_operators(self) -> torch.fx.GraphModule:
        import torch
        from torch.fx.passes.tools_common import legalize_graph

        assert self.module is not None
        graph = torch.fx.Graph()
        places: dict[torch.fx.Node, torch.fx.Node] = {}
        graph.output(graph.graph_copy(self.module.graph, places))
        for i in sorted(self._taken):
            region, kernel = self.regions[i]
            _replace(graph, region, kernel, places)
        return legalize_graph(torch.fx.GraphModule(self.module, graph))


def _replace(
    graph: torch.fx.Graph, region: GraphRegion, kernel: RegionKernel, places: dict[torch.fx.Node, torch.fx.Node]
) -> None:
    """Put one call in the place of a region's nodes; the graph's order is mended afterwards. `places` leads from the nodes that
    regions name to the graph's own."""
    replaced = [places[node] for node in region.nodes]
    inputs = tuple(places[x] for x in region.inputs)
    with graph.inserting_before(replaced[0]):
        call = graph.call_function(kernel.operator(), inputs)
        made = [call]
        if len(region.outputs) > 1:
            made = [graph.call_function(operator.getitem, (call, i)) for i in range(len(region.outputs))]
    for old, new in zip(region.outputs, made, strict=True):
        new.meta["val"] = old.meta["val"]
        places[old].replace_all_uses_with(new)
        places[old] = new
    for node in reversed(replaced):
        graph.erase_node(node)

"""One functional graph at run time, a forward or a backward one or the only one: its regions, and its code with some of their kernels."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from mirage.dynamo.functional_graph import Role
from mirage.dynamo.graph_regions import GraphRegion, cut
from mirage.dynamo.region_kernels import RegionKernel, kernel_of
from mirage.dynamo.region_text import write
from mirage.dynamo.rest_compiler import Rest

if TYPE_CHECKING:
    import torch


class FunctionalPart:
    """`regions` are its regions in order, each with the kernel entry that equal regions share. `use` comes before `run`.
    The inputs at the places `static` stay at one address."""

    def __init__(self, module: torch.fx.GraphModule, role: Role, static: Sequence[int] = ()) -> None:
        self.module, self.role, self.static = module, role, static
        self.regions: list[tuple[GraphRegion, RegionKernel]] = []
        for region in cut(module.graph):
            self.regions.append((region, kernel_of(write(region.nodes, region.inputs, region.outputs))))
        self._compiled: Callable[..., Any] | None = None

    def draws(self) -> bool:
        """Whether the graph draws random numbers, or may: what has no schema that says so is an operator on functions."""
        import torch

        for node in self.module.graph.nodes:
            if isinstance(node.target, torch._ops.OpOverload):
                if torch.Tag.nondeterministic_seeded in node.target.tags:
                    return True
            elif isinstance(node.target, torch._ops.HigherOrderOperator):
                return True
        return False

    def ready(self) -> frozenset[int]:
        """The regions that have a kernel now, by their places."""
        for _, kernel in self.regions:
            kernel.poll()
        return frozenset(i for i, (_, kernel) in enumerate(self.regions) if kernel.kernel is not None)

    def is_decided(self) -> bool:
        """Whether every region has its answer."""
        return all(kernel.done for _, kernel in self.regions)

    def use(self, code: Callable[..., Any]) -> None:
        """From the next `run` on, that code runs."""
        self._compiled = code

    def compiled(self, rest: Rest, taken: frozenset[int]) -> Callable[..., Any]:
        """Code in which the kernels of the regions `taken` run, and `rest` everything else.

        The graph has its casts and its gradients written out, so that neither is to be added by the compiler, in whose caller's
        modes this may run."""
        import torch

        module = self._with_operators(taken)
        given = [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
        with torch.no_grad(), torch._C._DisableAutocast():
            return rest(module, given, self.static)

    def run(self, args: Sequence[torch.Tensor]) -> Any:
        """The graph's outputs for its inputs."""
        assert self._compiled is not None
        return self._compiled(*args)

    def _with_operators(self, taken: frozenset[int]) -> torch.fx.GraphModule:
        import torch

        graph = torch.fx.Graph()
        places: dict[torch.fx.Node, torch.fx.Node] = {}
        graph.output(graph.graph_copy(self.module.graph, places))
        for i in sorted(taken):
            region, kernel = self.regions[i]
            _replace(graph, region, kernel, places)
        return torch.fx.GraphModule(self.module, _ordered(graph))


def _ordered(graph: torch.fx.Graph) -> torch.fx.Graph:
    """The graph with each node behind what it reads, and else in the order that it has: what writes to the inputs stays behind all
    that reads them, though no operand says so, the output stays last, and random numbers are drawn as they were. (PyTorch's own
    `legalize_graph` keeps no order.)"""
    made = type(graph)()
    place = {node: i for i, node in enumerate(graph.nodes)}
    missing = {node: len(node.all_input_nodes) for node in graph.nodes}
    ready = [(i, node) for node, i in place.items() if not missing[node]]
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    while ready:
        _, node = heappop(ready)
        copies[node] = made.node_copy(node, lambda x: copies[x])
        for user in node.users:
            missing[user] -= 1
            if not missing[user]:
                heappush(ready, (place[user], user))
    if len(copies) < len(place):
        raise ValueError("the graph has a circle")
    return made


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

"""The backend's entry: what Dynamo calls with each graph, and what it calls in the graph's place from then on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mirage.dynamo.functional_graph import GradientInside
from mirage.dynamo.rest_compiler import Rest, by_cuda_graphs, copied, named_rest
from mirage.dynamo.swapped_graph import SwappedGraph

if TYPE_CHECKING:
    import torch

log = logging.getLogger("mirage.dynamo")
GRADIENT = "a gradient is taken inside: forward and backward are Inductor's"
GRAPHS = "a gradient is needed under CUDA graphs: forward and backward are Inductor's"
SYMBOLIC = "a size is symbolic: the graph is Inductor's for every size"
REST = "rest"


def backend(
    module: torch.fx.GraphModule,
    example_inputs: Sequence[object],
    *,
    mode: str | None = None,
    options: Mapping[str, object] | None = None,
) -> Callable[..., Any]:
    """What runs a graph of Dynamo's: Inductor's code at first, and with the kernels of its regions as they are verified.

    `mode` and `options` are Inductor's, and of `options` `{"rest": "eager"}` runs without Inductor what no kernel does. A graph that has a
    symbolic size, or needs a gradient and runs by CUDA graphs, is Inductor's."""
    given = dict(options or {})
    name = str(given.pop(REST, "inductor"))
    rest = named_rest(name, mode, given)
    if why_whole(example_inputs, name == "inductor" and by_cuda_graphs(mode, given)):
        return rest(module, example_inputs)
    return _swapped(module, example_inputs, rest)


def why_whole(example_inputs: Sequence[object], cuda_graphs: bool = False) -> str:
    """Why a graph with such inputs has no regions; "" where it may have some.

    CUDA graphs own the memory of what a forward saves, and PyTorch keeps it for a backward only where it compiled the two as one pair."""
    import torch

    tensors = [x for x in example_inputs if isinstance(x, torch.Tensor)]
    if cuda_graphs and torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        return GRAPHS
    symbolic = len(tensors) < len(example_inputs) or any(type(n) is not int for x in tensors for n in x.shape)
    return SYMBOLIC if symbolic else ""


def _swapped(module: torch.fx.GraphModule, example_inputs: Sequence[object], rest: Rest) -> Callable[..., Any]:
    own = copied(module)  # each of the two compilers may change what it gets
    try:
        graph = SwappedGraph(own, example_inputs, rest)
    except GradientInside:
        return rest(module, example_inputs)
    except Exception as error:  # whatever PyTorch cannot make functional, the rest's compiler judges by itself
        log.warning("a graph has no regions (%s: %s)", type(error).__name__, error)
        return rest(module, example_inputs)
    if graph.why_whole():
        return rest(module, example_inputs)
    graph.begin(rest(module, example_inputs))
    return graph

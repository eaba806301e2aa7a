"""Keeps calls of PyTorch's attention whole while a graph is made functional: AOTAutograd would put one of its kernels in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mirage.runtime.opaque_operator import NAMESPACE

if TYPE_CHECKING:
    import torch

NAME = "scaled_dot_product_attention"


def hide(module: torch.fx.GraphModule, example_inputs: Sequence[object]) -> None:
    """Put an operator that is not decomposed in the place of the attention calls of a graph of Dynamo's, where that changes nothing: no
    gradient goes through them, they draw nothing, and autocast casts nothing."""
    import torch

    tensors = [x for x in example_inputs if isinstance(x, torch.Tensor)]
    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        return
    calls = [node for node in module.graph.nodes if node.op == "call_function"]
    modes = (torch._C._set_grad_enabled, torch.amp.autocast_mode._enter_autocast)
    if any(node.target in modes for node in calls) or any(torch.is_autocast_enabled(x.device.type) for x in tensors):
        return
    for node in calls:
        if node.target is torch._C._nn.scaled_dot_product_attention and _draws_nothing(node):
            node.target = _operator()
    module.recompile()


def show(graph: torch.fx.Graph) -> None:
    """Put PyTorch's own call back in the place of each that `hide` replaced: compilers decompose it as ever."""
    import torch

    for node in graph.find_nodes(op="call_function", target=_operator()):
        node.target = torch.ops.aten.scaled_dot_product_attention.default


def _draws_nothing(node: torch.fx.Node) -> bool:
    chance = node.args[4] if len(node.args) > 4 else node.kwargs.get("dropout_p", 0.0)
    return type(chance) in (int, float) and chance == 0.0


@lru_cache(maxsize=1)
def _library() -> torch.library.Library:
    import torch

    library = torch.library.Library(NAMESPACE, "FRAGMENT")
    call: Callable[..., Any] = torch.ops.aten.scaled_dot_product_attention.default
    library.define(
        f"{NAME}(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, "
        "float? scale=None, bool enable_gqa=False) -> Tensor"
    )
    library.impl(NAME, call, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{NAMESPACE}::{NAME}", call, lib=library)
    return library


def _operator() -> torch._ops.OpOverload:
    import torch

    _library()
    found: torch._ops.OpOverload = getattr(getattr(torch.ops, NAMESPACE), NAME).default
    return found

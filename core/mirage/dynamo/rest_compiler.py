"""What runs the parts of a graph that no kernel does: Inductor, or PyTorch's operators one by one where it cannot compile."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch

log = logging.getLogger("mirage.dynamo")
CUDA_GRAPHS = "triton.cudagraphs"  # the option's name


class Rest(Protocol):
    """Compiles a graph. `static`: places of inputs that stay at one address, where the graph itself does not say so as Dynamo's do."""

    def __call__(
        self, module: torch.fx.GraphModule, inputs: Sequence[object], static: Sequence[int] | None = None
    ) -> Callable[..., Any]: ...


def named_rest(name: str, mode: str | None, options: Mapping[str, object]) -> Rest:
    """`inductor` with its own mode and options, or `eager`. Raises ValueError of another name."""
    if name == "eager":
        return as_written
    if name != "inductor":
        raise ValueError(f'options["rest"] is "inductor" or "eager", not {name!r}')
    return lambda module, inputs, static=None: by_inductor(module, inputs, mode, options, static)


def as_written(
    module: torch.fx.GraphModule, inputs: Sequence[object], static: Sequence[int] | None = None
) -> Callable[..., Any]:
    """The graph, an operator at a time. A checkpoint inside of it goes by AOTAutograd, which has its random numbers again in the
    backward; called as it stands in a graph of Dynamo's it draws others, and its gradients are wrong."""
    from torch._dynamo.backends.debugging import aot_eager
    from torch._higher_order_ops.wrap import tag_activation_checkpoint

    again = any(node.target is tag_activation_checkpoint for node in module.graph.nodes)
    made: Callable[..., Any] = aot_eager(module, list(inputs)) if again else module.forward
    return made


def by_cuda_graphs(mode: str | None, options: Mapping[str, object]) -> bool:
    """Whether Inductor with this mode and these options runs graphs by CUDA graphs."""
    from torch._inductor import config, list_mode_options

    asked = {**(list_mode_options(mode) if mode else {}), **options}
    return bool(asked.get(CUDA_GRAPHS, config.triton.cudagraphs))


def by_inductor(
    module: torch.fx.GraphModule,
    inputs: Sequence[object],
    mode: str | None,
    options: Mapping[str, object],
    static: Sequence[int] | None = None,
) -> Callable[..., Any]:
    """Inductor's code for a graph; the graph itself, with a warning, where Inductor fails.

    Its CUDA graphs copy every input that is not `static` at each call, and write to none. AOTAutograd's own cache knows nothing of
    `static`, Inductor's does."""
    from torch._functorch import config
    from torch._inductor import list_mode_options
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    def inner(graph: torch.fx.GraphModule, given: Sequence[Any], **more: Any) -> Any:
        return compile_fx_inner(graph, given, **(more if static is None else {**more, "static_input_idxs": static}))

    patches = {**(list_mode_options(mode) if mode else {}), **options}
    kept = copied(module)  # Inductor changes what it gets
    try:
        with config.patch({} if static is None else {"enable_autograd_cache": False}):
            made: Callable[..., Any] = compile_fx(
                module, list(inputs), inner_compile=inner, config_patches=patches or None
            )
    except Exception as error:  # no C++ compiler, no Triton for the device: the model still runs
        log.warning("Inductor cannot compile a graph, which runs as written (%s: %s)", type(error).__name__, error)
        made = as_written(kept, inputs)
    return made


def copied(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The module with a graph of its own, and the same tensors."""
    import torch

    made = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    # What Dynamo says beside the graph, by which AOTAutograd finds the inputs that stay at one address
    made.meta.update(module.meta)
    _take_over(module, made, "_param_name_to_source")
    for old, new in zip(*(m.graph.find_nodes(op="placeholder") for m in (module, made)), strict=True):
        _take_over(old, new, "_dynamo_source")
    return made


def _take_over(old: object, new: object, name: str) -> None:
    if hasattr(old, name):
        setattr(new, name, getattr(old, name))

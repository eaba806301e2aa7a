"""A graph of Dynamo's as functions of flat tensors without views that are written to: what AOTAutograd makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from mirage.dynamo.whole_attention import hide, show
from mirage.operators.table import ATEN

if TYPE_CHECKING:
    import torch


class Role(Enum):
    """What a functional graph is of the graph that it was made of."""

    INFERENCE = "inference"
    FORWARD = "forward"
    BACKWARD = "backward"


Flat = Callable[[Sequence["torch.Tensor"]], Any]
Take = Callable[["torch.fx.GraphModule", Role, Sequence[int]], Flat]


class GradientInside(Exception):
    """A graph whose inputs need no gradient switches gradients on, and takes one or gives what needs one."""


def functional(module: torch.fx.GraphModule, example_inputs: Sequence[object], take: Take) -> Callable[..., Any]:
    """A callable in the module's place: `take` gets each functional graph once, with the places of those inputs that stay at one address
    (parameters, buffers, what was marked so), and gives what runs it.

    There is one for a module that needs no gradient, else a forward and a backward one, in this order. What goes from the one to the other
    is decided here, by AOTAutograd's partitioner, and stays the same whatever runs them. What the module writes to its inputs ends the
    graph of one that needs no gradient, in `copy_`, so that a compiler may write in place; around a forward and a backward AOTAutograd does
    it, and everywhere which outputs are views of inputs. Changes the module. Raises GradientInside."""
    import torch
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch import config
    from torch._functorch.aot_autograd import make_boxed_func
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    tensors = [x for x in example_inputs if isinstance(x, torch.Tensor)]
    wanted = torch.is_grad_enabled() and any(x.requires_grad for x in tensors)

    def compiler(role: Role, graph: torch.fx.GraphModule, inputs: Sequence[object]) -> Any:
        if role is not Role.INFERENCE and not wanted:
            raise GradientInside
        if (
            role is Role.BACKWARD
        ):  # what may be written to is no longer there for a second backward; no code of ours does
            torch._guards.TracingContext.get().fw_metadata.bw_donated_idxs = []
        show(graph.graph)
        metadata = torch._guards.TracingContext.get().fw_metadata
        run = take(graph, role, () if role is Role.BACKWARD else tuple(metadata.static_input_indices))
        return make_boxed_func(lambda *args: run(args))

    made = aot_autograd(
        fw_compiler=partial(compiler, Role.FORWARD),
        bw_compiler=partial(compiler, Role.BACKWARD),
        inference_compiler=partial(compiler, Role.INFERENCE),
        partition_fn=min_cut_rematerialization_partition,
        decompositions=_decompositions(),
        keep_inference_input_mutations=True,
    )
    hide(module, example_inputs)
    with config.patch(
        force_non_lazy_backward_lowering=True
    ):  # else it comes with the first backward, and its kernels later still
        run: Callable[..., Any] = made(module, list(example_inputs))
    return run


@lru_cache(maxsize=1)
def _decompositions() -> dict[Any, Callable[..., Any]]:
    """PyTorch's own, of operators that are not in the table, but for the CPU's attention: that one is of exports, and gives its weights in
    the place of the logarithms that the operator's backward reads. Inductor leaves it out as well."""
    import torch
    from torch._decomp import core_aten_decompositions, get_decompositions

    aten = torch.ops.aten
    more = (
        aten.native_layer_norm,
        aten.native_group_norm,
        aten._native_batch_norm_legit_no_training,
        aten._native_batch_norm_legit,
        aten._native_batch_norm_legit_functional,
        aten._safe_softmax,
    )
    table = {**dict(core_aten_decompositions()), **get_decompositions(more)}
    wrong = aten._scaled_dot_product_flash_attention_for_cpu.default
    return {op: how for op, how in table.items() if str(op) not in ATEN and op is not wrong}

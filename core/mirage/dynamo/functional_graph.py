"""A graph of Dynamo's as functions of flat tensors without views that are written to: what AOTAutograd makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from mirage.operators.table import ATEN

if TYPE_CHECKING:
    import torch


class Role(Enum):
    """What a functional graph is of the graph that it was made of."""

    INFERENCE = "inference"
    FORWARD = "forward"
    BACKWARD = "backward"


Flat = Callable[[Sequence["torch.Tensor"]], Any]
Take = Callable[["torch.fx.GraphModule", Role], Flat]


def functional(module: torch.fx.GraphModule, example_inputs: Sequence[object], take: Take) -> Callable[..., Any]:
    """A callable in the module's place: `take` gets each functional graph once and gives what runs it.

    There is one for a module that needs no gradient, else a forward and a backward one, in this order. What goes from the one to the other
    is decided here, by AOTAutograd's partitioner, and stays the same whatever runs them. What the module writes to its inputs, and
    which outputs are views of them, AOTAutograd does around them."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch import config
    from torch._functorch.aot_autograd import make_boxed_func
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    def compiler(role: Role, graph: torch.fx.GraphModule, inputs: Sequence[object]) -> Any:
        run = take(graph, role)
        return make_boxed_func(lambda *args: run(args))

    made = aot_autograd(
        fw_compiler=partial(compiler, Role.FORWARD),
        bw_compiler=partial(compiler, Role.BACKWARD),
        inference_compiler=partial(compiler, Role.INFERENCE),
        partition_fn=min_cut_rematerialization_partition,
        decompositions=_decompositions(),
    )
    # A lazy backward would come with its first call, and its kernels later still; one that may write to what was saved forbids
    # `retain_graph=True`, and no code of ours does.
    with config.patch(force_non_lazy_backward_lowering=True, donated_buffer=False):
        run: Callable[..., Any] = made(module, list(example_inputs))
    return run


@lru_cache(maxsize=1)
def _decompositions() -> dict[Any, Callable[..., Any]]:
    """PyTorch's own, of operators that are not in the table."""
    import torch
    from torch._decomp import core_aten_decompositions, get_decompositions

    aten = torch.ops.aten
    more = (
        aten.native_layer_norm,
        aten.native_group_norm,
        aten._native_batch_norm_legit_no_training,
        aten._safe_softmax,
    )
    table = {**dict(core_aten_decompositions()), **get_decompositions(more)}
    return {op: how for op, how in table.items() if str(op) not in ATEN}

"""A graph of Dynamo's as a function of flat tensors without views that are written to: what AOTAutograd makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mirage.operators.table import ATEN

if TYPE_CHECKING:
    import torch

Flat = Callable[[Sequence["torch.Tensor"]], Any]


class GradientInside(Exception):
    """A graph whose inputs need no gradient switches gradients on, and takes one or gives what needs one."""


def functional(
    module: torch.fx.GraphModule,
    example_inputs: Sequence[object],
    take: Callable[[torch.fx.GraphModule], Flat],
) -> Callable[..., Any]:
    """A callable in the module's place: `take` gets the functional graph once and gives what runs it; what the module writes
    to its inputs, and which outputs are views of them, AOTAutograd does around it. Raises GradientInside where it would compile
    a forward and a backward."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    def compiler(graph: torch.fx.GraphModule, inputs: Sequence[object]) -> Any:
        run = take(graph)
        return make_boxed_func(lambda *args: run(args))

    def refused(graph: torch.fx.GraphModule, inputs: Sequence[object]) -> Any:
        raise GradientInside

    made: Callable[..., Any] = aot_autograd(
        fw_compiler=refused, inference_compiler=compiler, decompositions=_decompositions()
    )(module, list(example_inputs))
    return made


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

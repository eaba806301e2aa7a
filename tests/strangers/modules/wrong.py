"""Ways that are wrong on purpose, one for each thing that a comparison has to see, and the module on which it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from strangers.modules.record import leaves
from strangers.modules.session import Runner

Call = Callable[..., Any]


def mapped(change: Callable[[torch.Tensor], torch.Tensor]) -> Runner:
    """Every floating tensor of the output is changed."""

    def runner(model: nn.Module) -> Call:
        return lambda *args, **more: tree_map_only(
            torch.Tensor, lambda x: change(x) if x.is_floating_point() else x, model(*args, **more)
        )

    return runner


def stale_buffer(model: nn.Module) -> Call:
    """What `forward` does to a buffer is undone."""

    def run(*args: Any, **more: Any) -> Any:
        before = {n: b.clone() for n, b in model.named_buffers()}
        out = model(*args, **more)
        with torch.no_grad():
            for n, b in model.named_buffers():
                b.copy_(before[n])
        return out

    return run


def swapped_output(model: nn.Module) -> Call:
    """The first two of several outputs change places."""

    def run(*args: Any) -> Any:
        first, second, *rest = model(*args)
        return (second, first, *rest)

    return run


def lost_write(model: nn.Module) -> Call:
    """What `forward` writes into its inputs nobody sees."""
    return lambda *args: model(*(x.clone() for x in args))


def another_exception(model: nn.Module) -> Call:
    """What is raised comes as something else."""

    def run(*args: Any) -> Any:
        try:
            return model(*args)
        except ValueError as e:
            raise RuntimeError(str(e)) from e

    return run


def kept_memory(model: nn.Module) -> Call:
    """Every call's first output lies in one memory, as a replayed graph would have it."""
    kept: list[torch.Tensor] = []

    def run(*args: Any) -> Any:
        out = model(*args)
        x = next(t for _, t in leaves(out, "out") if isinstance(t, torch.Tensor))
        if not kept or kept[0].shape != x.shape:
            kept[:] = [x]
        return tree_map_only(torch.Tensor, lambda t: kept[0].copy_(t) if t is x else t, out)

    return run


# name: the way, the nasty module, and what the differences say
WRONG: dict[str, tuple[Runner, str, str]] = {
    "a stale buffer": (stale_buffer, "nasty_state/RunningMean", "value"),
    "a swapped output": (swapped_output, "nasty_views/ZeroAndOne", "value"),
    "a lost write": (lost_write, "nasty_views/WritesItsInput", "value"),
    "a wrong gradient": (mapped(lambda x: x + 0.01 * (x - x.detach())), "nasty_flow/UsesOwnFunction", "value"),
    "a too coarse result": (mapped(lambda x: x.bfloat16().to(x.dtype)), "nasty_flow/MovesItself", "value"),
    "a result a thousand units off": (mapped(lambda x: x * (1 + 2**-13)), "nasty_flow/MovesItself", "value"),
    "a lost alias": (mapped(torch.clone), "nasty_views/ReturnsOneTensorTwice", "shares"),
    "an input that is copied": (mapped(torch.clone), "nasty_views/ReturnsItsInput", "same"),
    "another exception": (another_exception, "nasty_flow/Raises", "error"),
    "another layout": (mapped(lambda x: x.mT.contiguous().mT if x.ndim > 1 else x), "nasty_flow/MovesItself", "form"),
    "another dtype": (mapped(torch.Tensor.double), "nasty_flow/MovesItself", "form"),
    "memory used again": (kept_memory, "nasty_flow/DtypesChange", "shares"),
    "a detached output": (mapped(torch.Tensor.detach), "nasty_flow/UsesOwnFunction", "form"),
}

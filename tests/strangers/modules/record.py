"""What is to be seen after a step of a session: values, layouts, who shares memory with whom, the exception."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
from torch import nn

PLAIN = (int, float, str, bool, type(None))


@dataclass(frozen=True)
class Record:
    """One step. `error`: the exception's type, empty without one. `values`: copies by name; a name starts with its kind (`out`, `in`,
    `grad`, `state`) and a dot. `forms`: shape, dtype and layout of each. `plain`: what is no tensor, as text. `shares`, `same`: pairs of
    names over one storage, and of one object."""

    step: str
    error: str
    values: dict[str, torch.Tensor]
    forms: dict[str, str]
    plain: dict[str, str]
    shares: frozenset[tuple[str, str]]
    same: frozenset[tuple[str, str]]
    message: str = ""


def leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The tensors and plain values inside a value, with the names of their places; each container gives its type too."""
    if isinstance(value, (torch.Tensor, *PLAIN)):
        yield name, value
        return
    yield f"{name}.type", type(value).__name__
    if isinstance(value, dict):
        inside = [(str(k), v) for k, v in value.items()]
    elif isinstance(value, (list, tuple)):
        inside = [(str(i), v) for i, v in enumerate(value)]
    elif dataclasses.is_dataclass(value):
        inside = [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)]
    else:
        inside = []
    for key, v in inside:
        yield from leaves(v, f"{name}.{key}")


def state(model: nn.Module) -> Iterator[tuple[str, Any]]:
    """Parameters, buffers, and the public attributes of every module that are tensors, plain values or containers of them."""
    yield from ((f"state.{n}", p) for n, p in model.named_parameters(remove_duplicate=False))
    yield from ((f"state.{n}", b) for n, b in model.named_buffers(remove_duplicate=False))
    for path, module in model.named_modules():
        for key, value in vars(module).items():
            if not key.startswith("_") and key != "forward" and isinstance(value, (torch.Tensor, list, dict, *PLAIN)):
                yield from leaves(value, f"state.{path}.{key}")


def gradients(named: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The gradient of each leaf that has one."""
    for name, x in named:
        if isinstance(x, torch.Tensor) and x.is_leaf and x.grad is not None:
            yield f"grad.{name}", x.grad


def taken(step: str, named: list[tuple[str, Any]], error: BaseException | None = None) -> Record:
    """A record of what the names stand for now."""
    tensors = {n: x for n, x in named if isinstance(x, torch.Tensor)}
    held = {n: x for n, x in tensors.items() if x.untyped_storage().nbytes()}
    at = {n: x.untyped_storage().data_ptr() for n, x in held.items()}
    return Record(
        step=step,
        error=type(error).__name__ if error else "",
        values={n: x.detach().clone() for n, x in tensors.items()},
        forms={n: form(x) for n, x in tensors.items()},
        plain={n: repr(x) for n, x in named if not isinstance(x, torch.Tensor)},
        shares=frozenset((a, b) for a, b in combinations(sorted(held), 2) if at[a] == at[b]),
        same=frozenset((a, b) for a, b in combinations(sorted(tensors), 2) if tensors[a] is tensors[b]),
        message=str(error)[:400] if error else "",
    )


def form(x: torch.Tensor) -> str:
    """Shape, dtype, the strides that matter, whether a gradient is needed, and the class."""
    strides = [s for n, s in zip(x.shape, x.stride(), strict=True) if n > 1] if x.numel() else []
    flags = f"{' grad' if x.requires_grad else ''}{' inference' if x.is_inference() else ''}"
    return f"{x.dtype} {tuple(x.shape)} strides {strides}{flags} {type(x).__name__}"

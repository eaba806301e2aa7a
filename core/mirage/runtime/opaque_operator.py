"""Registers a function and the kernel that stands in for it as one operator of PyTorch, which compilers do not look into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mirage.runtime.call_types import Function

if TYPE_CHECKING:
    import torch

NAMESPACE = "mirage"
_libraries: dict[str, object] = {}  # a registration ends with its object


@dataclass(frozen=True)
class OutputLayout:
    """How an output lies in memory, whatever the kernel makes."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    strides: tuple[int, ...]


def register(
    name: str, parameters: Sequence[str], outputs: Sequence[OutputLayout], call: Function
) -> torch._ops.OpOverload:
    """The operator `mirage::name` of tensors `parameters`, which `call` computes: one tensor, or a tuple of several.

    `outputs` are what compilers are told of them, and what each call gives: another layout is copied into this one, and
    memory that is an input's or another output's is copied, since an operator promises not to share it. Another shape or dtype
    raises RuntimeError. Registering a name again gives the first operator."""
    import torch

    packet = getattr(torch.ops, NAMESPACE)
    if name not in _libraries:
        library = torch.library.Library(NAMESPACE, "FRAGMENT")
        given = ", ".join(f"Tensor {p}" for p in parameters)
        made = "Tensor" if len(outputs) == 1 else f"({', '.join('Tensor' for _ in outputs)})"
        library.define(f"{name}({given}) -> {made}", tags=(torch.Tag.needs_fixed_stride_order,))

        def run(*inputs: torch.Tensor) -> object:
            return _conformed(call(*inputs), inputs, outputs)

        def fake(*inputs: torch.Tensor) -> object:
            empty = [torch.empty_strided(o.shape, o.strides, dtype=o.dtype, device=inputs[0].device) for o in outputs]
            return empty[0] if len(empty) == 1 else tuple(empty)

        library.impl(name, run, "CompositeExplicitAutograd")
        torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=library)
        _libraries[name] = library
    return getattr(packet, name).default


def _conformed(made: object, inputs: Sequence[torch.Tensor], outputs: Sequence[OutputLayout]) -> object:
    import torch

    values = list(made) if isinstance(made, tuple | list) else [made]
    if len(values) != len(outputs):
        raise RuntimeError(f"{len(outputs)} tensors are expected, {len(values)} were made")
    taken = {_memory(x) for x in inputs}
    for i, (value, want) in enumerate(zip(values, outputs, strict=True)):
        if not isinstance(value, torch.Tensor) or tuple(value.shape) != want.shape or value.dtype != want.dtype:
            raise RuntimeError(f"output {i} is not a tensor of {want.shape}, {want.dtype}")
        if value.stride() != want.strides or _memory(value) in taken:
            own = torch.empty_strided(want.shape, want.strides, dtype=want.dtype, device=value.device)
            values[i] = own.copy_(value)
        taken.add(_memory(values[i]))
    return values[0] if len(values) == 1 else tuple(values)


def _memory(x: torch.Tensor) -> int:
    return int(x.untyped_storage()._cdata)

"""Tensors of a module's public function, on the CPU as if they were on a GPU.

New memory is full of what was never written. In wide precision a tensor of any floating dtype keeps float64 values, so that a
tensor of float16 between two kernels rounds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from mirage.verify.real_sizes.tile_values import Precision, Unknown, Wrong

GARBAGE = 113  # of integers
DEVICE = torch.device("cuda", 0)
aten = torch.ops.aten
EMPTY = {aten.empty.memory_format, aten.empty_strided.default, aten.new_empty.default, aten.new_empty_strided.default,
         aten.empty_like.default}  # fmt: skip
CPU = torch.device("cpu")


class WideTensor(torch.Tensor):  # type: ignore[misc]
    """A tensor that says it is of a dtype and keeps float64 values (`inner`)."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor, dtype: torch.dtype) -> WideTensor:
        made: WideTensor = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=dtype, device=CPU
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: object, args: tuple[object, ...] = (), kwargs: Mapping[str, object] | None = None
    ) -> object:
        return wide_call(func, args, kwargs or {}, float("nan"))


def storage_of(t: torch.Tensor) -> int:
    """The address of a tensor's storage."""
    return int((t.inner if isinstance(t, WideTensor) else t).untyped_storage().data_ptr())


def _inner(x: object) -> object:
    if isinstance(x, WideTensor):
        return x.inner
    if isinstance(x, torch.Tensor) and x.is_floating_point():
        return x.double()
    return torch.float64 if isinstance(x, torch.dtype) and x.is_floating_point else x


def _meta(x: object) -> object:
    if isinstance(x, torch.device):
        return torch.device("meta")
    if isinstance(x, torch.Tensor):
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")
    return x


def _changes(func: Any) -> bool:
    return any(a.alias_info is not None and a.alias_info.is_write for a in func._schema.arguments)


def wide_call(func: Any, args: tuple[object, ...], kwargs: Mapping[str, object], garbage: float) -> object:
    """An operator of PyTorch on wide tensors: values by float64, dtypes as they would be."""
    with torch._C._DisableTorchDispatch():
        out = func(*tree_map(_inner, args), **tree_map(_inner, dict(kwargs)))
        if _changes(func):
            if not func._schema.name.endswith("_"):
                raise Unknown(f"the function calls {func}, which writes to an argument")
            return args[0]
        meta = func(*tree_map(_meta, args), **{**tree_map(_meta, dict(kwargs)), **_on_meta(func, kwargs)})

        def wrapped(value: object, like: object) -> object:
            if isinstance(value, torch.Tensor) and isinstance(like, torch.Tensor) and like.is_floating_point():
                return WideTensor(value.double(), like.dtype)
            return value

        if func in EMPTY and isinstance(out, torch.Tensor):
            out.fill_(garbage if out.is_floating_point() else GARBAGE % 2 if out.dtype == torch.bool else GARBAGE)
        if isinstance(out, (tuple, list)):
            return type(out)(wrapped(v, m) for v, m in zip(out, meta))
        return wrapped(out, meta)


def _on_meta(func: Any, kwargs: Mapping[str, object]) -> dict[str, object]:
    """A factory without a tensor makes its tensor where it is told."""
    names = {a.name for a in func._schema.arguments}
    return {"device": torch.device("meta")} if "device" in names else {}


class Allocations(TorchDispatchMode):  # type: ignore[misc]
    """What is allocated is full of garbage, and wide where that is asked."""

    def __init__(self, precision: Precision) -> None:
        super().__init__()
        self.precision = precision
        self.paused = False  # while a kernel is evaluated
        self.made: dict[int, torch.Tensor] = {}  # storages that hold what kernels wrote, or what was made from that
        self.inputs: set[int] = set()  # storages of the call's arguments
        self.read: set[int] = set()  # those that an operator read

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[object, ...] = (), kwargs: Mapping[str, object] | None = None
    ) -> object:
        kwargs = dict(kwargs or {})
        if self.paused:
            return func(*args, **kwargs)
        if func in (aten._local_scalar_dense.default, aten.equal.default, aten.is_nonzero.default):
            raise Unknown("the function reads the values of a tensor")
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise Unknown(f"{func} draws random numbers")
        if _changes(func) and isinstance(args[0], torch.Tensor) and storage_of(args[0]) in self.inputs:
            raise Wrong("an input is changed")
        out = self._called(func, args, kwargs)
        given = {storage_of(x) for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)}
        made = [x for x in tree_leaves(out) if isinstance(x, torch.Tensor)]
        self.read |= {x for x in given if any(storage_of(m) != x for m in made)}
        if given & self.made.keys():
            self.made.update({storage_of(m): m for m in made})
            self._summed(func, args)
        return out

    def _summed(self, func: Any, args: tuple[object, ...]) -> None:
        """Note a sum of partial results in a short dtype."""
        dtype = args[0].dtype if isinstance(args[0], torch.Tensor) else None
        if dtype in (torch.float16, torch.bfloat16) and str(func).startswith(("aten.sum", "aten.mean")):
            self.precision.narrow[0] = f"partial results in {dtype} are summed up"

    def _called(self, func: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        if self.precision.wide:
            return wide_call(func, args, kwargs, self.precision.garbage)
        out = func(*args, **kwargs)
        if func in EMPTY and isinstance(out, torch.Tensor):
            out.fill_(self.precision.garbage if out.is_floating_point() else GARBAGE)
        return out


class OnDevice(TorchFunctionMode):  # type: ignore[misc]
    """Tensors answer as if they were on a GPU, and what is to be made there is made here."""

    def __torch_function__(
        self, func: Any, types: object, args: tuple[object, ...] = (), kwargs: Mapping[str, object] | None = None
    ) -> object:
        kwargs = dict(kwargs or {})
        if func in ANSWERS and args and isinstance(args[0], torch.Tensor):
            return ANSWERS[func]
        if func in (torch.Tensor.cuda, torch.Tensor.cpu):
            return args[0]
        if "device" in kwargs:
            kwargs["device"] = CPU
        if func is torch.Tensor.to:
            args = tuple(a for i, a in enumerate(args) if i == 0 or not _names_device(a))
            kwargs.pop("device", None)
            if len(args) == 1 and not kwargs:
                return args[0]
        return func(*args, **kwargs)


def _names_device(x: object) -> bool:
    return isinstance(x, torch.device) or (isinstance(x, str) and x.partition(":")[0] in ("cuda", "cpu"))


ANSWERS: dict[Callable[..., object], object] = {
    torch.Tensor.is_cuda.__get__: True,
    torch.Tensor.is_cpu.__get__: False,
    torch.Tensor.device.__get__: DEVICE,
    torch.Tensor.get_device: 0,
}

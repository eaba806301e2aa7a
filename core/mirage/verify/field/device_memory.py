"""Device memory in the field: every real tensor of floats has a packed array beside it, which loads and stores go to.

Kernels compute real addresses of real tensors; each tensor lies between guards, so that an address outside it belongs to
none. Unwritten elements are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from mirage.errors import UnknownOperator
from mirage.ir.opaque_calls import RESULT, call_arguments
from mirage.ir.program import Attr
from mirage.verify.field.arithmetic import NAN, Field
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.library_calls import LIBRARY

if TYPE_CHECKING:
    import torch

GUARD = 4096  # elements on each side
FAULTS = 20
MODES = ("is_grad_enabled", "is_autocast_enabled")  # what a guard asks PyTorch, no value of a tensor


Shape = int | Sequence[int]  # one length, or all of them


def flat_shape(given: tuple[Shape, ...]) -> tuple[int, ...]:
    """The lengths that `torch.empty` is given, one by one or as one sequence."""
    lengths: list[int] = []
    for part in given:
        lengths += [part] if isinstance(part, int) else list(part)
    return tuple(lengths)


class TextFault(Exception):
    """The emitted text does what verification does not accept: an access out of bounds, or an operation that has no
    value in the fields."""


@dataclass
class FieldTensor:
    """One tensor: `values` (elements, draws) packed, `writes` a count for each element."""

    base: int
    size: int  # bytes
    item: int  # bytes an element
    values: Array
    writes: Array
    tensor: torch.Tensor


class Memory:
    """All tensors of a run."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.regions: list[FieldTensor] = []
        self.flags: list[FieldTensor] = []
        self.faults: list[str] = []

    def fault(self, text: str) -> None:
        if len(self.faults) < FAULTS and text not in self.faults:
            self.faults.append(text)

    # ---- tensors
    def place(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A real tensor between guards, without a shadow."""
        import torch

        n = 1
        for s in shape:
            n *= int(s)
        if dtype.is_floating_point:
            block = torch.zeros(n + 2 * GUARD, dtype=dtype)
        else:
            block = torch.full((n + 2 * GUARD,), 113 if dtype != torch.bool else True, dtype=dtype)
        return block[GUARD : GUARD + n].view(shape)

    def add(self, shape: tuple[int, ...], dtype: torch.dtype, values: Array | None = None) -> torch.Tensor:
        """A tensor with a shadow; `values` (draws or 1, *shape), NaN if None."""
        tensor = self.place(tuple(shape), dtype)
        n = tensor.numel()
        flat = np.full((n, self.field.draws), NAN)
        if values is not None:
            flat[:] = np.broadcast_to(values, (self.field.draws, *shape)).reshape(self.field.draws, n).T
        item = tensor.element_size()
        self.regions.append(FieldTensor(tensor.data_ptr(), n * item, item, flat, np.zeros(n, np.int64), tensor))
        return tensor

    def given(self, values: Array, dtype: torch.dtype) -> torch.Tensor:
        """A tensor that holds `values` (draws or 1, *shape). Integers are the same in all draws, since addresses are made of them;
        flags have a shadow where each draw has its own, and the tensor holds the first draw's."""
        import torch

        if dtype.is_floating_point:
            return self.add(values.shape[1:], dtype, values)
        tensor = self.place(values.shape[1:], dtype)
        if dtype == torch.bool and len(values) > 1:
            flat, n = values.reshape(len(values), -1).T.copy(), tensor.numel()
            self.flags.append(FieldTensor(tensor.data_ptr(), n, 1, flat, np.zeros(n, np.int64), tensor))
        return tensor.copy_(torch.from_numpy(values[0].astype(np.int64)))

    def known(self, tensor: torch.Tensor) -> Array:
        """The contents of a tensor, (draws or 1, *shape)."""
        if tensor.is_floating_point() or self.of(tensor) is not None:
            return self.read(tensor)
        shadow = next((r for r in self.flags if r.base == tensor.data_ptr()), None)
        if shadow is not None and tensor.is_contiguous() and tensor.numel() == shadow.size:
            return np.ascontiguousarray(shadow.values.T).reshape(-1, *tensor.shape)
        values = tensor.cpu().numpy()
        return np.asarray(values if values.dtype == bool else values.astype(np.int64))[None]

    def of(self, tensor: torch.Tensor) -> FieldTensor | None:
        return next((r for r in self.regions if r.base == tensor.data_ptr()), None)

    def read(self, tensor: torch.Tensor) -> Array:
        """A tensor's packed values, (draws, *shape)."""
        region = self.of(tensor)
        if region is None:
            raise TextFault("a result of the launcher is no tensor that its kernels could write")
        if not tensor.is_contiguous() or tensor.numel() * region.item != region.size:
            raise TextFault("a tensor is read through a view that is not the whole of it in its order")
        return np.ascontiguousarray(region.values.T).reshape(self.field.draws, *tensor.shape)

    def flags_at(self, pointers: Array) -> Array | None:
        """The flags (elements, draws) at addresses that all lie in one tensor of flags with a shadow."""
        for r in self.flags if pointers.size else ():
            if r.base <= int(pointers.min()) and int(pointers.max()) < r.base + r.size:
                return np.asarray(r.values[pointers.astype(np.int64) - r.base])
        return None

    def holds(self, pointers: Array) -> bool:
        """Whether the first of the addresses lies in a tensor with a shadow."""
        return any(r.base <= int(pointers.flat[0]) < r.base + r.size for r in self.regions if pointers.size)

    def locate(self, pointers: Array, verb: str) -> tuple[FieldTensor, Array]:
        """The tensor in which all the addresses lie, and their elements."""
        low, high = int(pointers.min()), int(pointers.max())
        for r in self.regions:
            if r.base <= low and high + r.item <= r.base + r.size:
                return r, (pointers.astype(np.int64) - r.base) // r.item
        raise TextFault(f"an element is {verb} outside every tensor")


@dataclass(frozen=True)
class Kept:
    """A call that stays PyTorch's own, and what it gives in this run."""

    op: str
    attrs: Sequence[tuple[str, Attr]]
    arguments: int
    type: torch.dtype
    value: Array


class Ops:
    """`torch.ops` as an emitted module sees it: the calls that are expected, in their order, and what each was given."""

    def __init__(self, memory: Memory, calls: Sequence[Kept]) -> None:
        self._memory, self._calls, self._name = memory, list(calls), ""
        self.taken: list[list[Array]] = []

    def __getattr__(self, part: str) -> Ops:
        if part.startswith("__"):
            raise AttributeError(part)
        deeper = copy(self)
        deeper._name = f"{self._name}.{part}" if self._name else part
        return deeper

    def __call__(self, /, **given: object) -> object:
        n = len(self.taken)
        if n >= len(self._calls) or self._calls[n].op != self._name:
            raise TextFault(f"it calls {self._name}, which its µGraph does not at that place")
        call = self._calls[n]
        arguments = call_arguments(call.attrs, given, call.arguments)
        if arguments is None:
            raise TextFault(f"it calls {self._name} with other arguments than its µGraph")
        self.taken.append([self._memory.known(x) for x in arguments])
        result = self._memory.given(call.value, call.type)
        which = dict(call.attrs).get(RESULT)
        return result if which is None else {which: result}


class TorchProxy:
    """`torch` as an emitted module sees it: allocations and library calls have shadows."""

    def __init__(self, memory: Memory, calls: Sequence[Kept] = ()) -> None:
        import torch

        self._memory, self._torch, self.ops = memory, torch, Ops(memory, calls)
        self._computed = (torch.bool, torch.int8)  # of what kernels make of floats; wider integers count
        names = ("linear", "scaled_dot_product_attention")
        functional = SimpleNamespace(**{n: self._library(n) for n in names})
        self.nn = SimpleNamespace(functional=functional, Parameter=torch.nn.Parameter)
        self.matmul, self.bmm, self.mm = (self._library(n) for n in ("matmul", "bmm", "mm"))

    def einsum(self, equation: str, *args: torch.Tensor) -> torch.Tensor:
        return self._library("einsum")(*args, equation=equation)

    @contextmanager
    def operators(self) -> Iterator[None]:
        """Within it, `@` of tensors has a shadow too."""
        plain, product = self._torch.Tensor.__matmul__, self._library("matmul")
        self._torch.Tensor.__matmul__ = lambda x, y: product(x, y)
        try:
            yield
        finally:
            self._torch.Tensor.__matmul__ = plain

    def empty(self, *shape: Shape, dtype: torch.dtype, device: object = None) -> torch.Tensor:
        lengths = flat_shape(shape)
        if not dtype.is_floating_point and dtype not in self._computed:
            return self._memory.place(lengths, dtype)
        return self._memory.add(lengths, dtype)

    def zeros(self, *shape: Shape, dtype: torch.dtype, device: object = None) -> torch.Tensor:
        lengths = flat_shape(shape)
        if not dtype.is_floating_point:
            tensor = self._memory.place(lengths, dtype)
            tensor.zero_()
            return tensor
        return self._memory.add(lengths, dtype, np.zeros((1, *lengths), np.uint64))

    def _library(self, name: str) -> Callable[..., torch.Tensor]:
        def call(*args: torch.Tensor, **attrs: object) -> torch.Tensor:
            values = [self._memory.read(a) for a in args]
            out = LIBRARY[name](self._memory.field, values, attrs)
            return self._memory.add(out.shape[1:], args[0].dtype, out)

        return call

    def __getattr__(self, name: str) -> object:
        value: object = getattr(self._torch, name)
        if callable(value) and not isinstance(value, type) and name not in MODES:

            def refuse(*args: object, **kwargs: object) -> object:
                raise UnknownOperator(f"torch.{name} has no value in the fields")

            return refuse
        return value

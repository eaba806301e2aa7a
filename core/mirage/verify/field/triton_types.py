"""What verification uses of Triton's interpreter: its types, handles, tensors and reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from mirage.verify.semantics.arrays import Array

Method = Callable[..., object]  # of the interpreter's builder: operands, types and options in Triton's own order


class Type(Protocol):
    """A Triton type; `scalar` is the type of a block's elements, `shape` a block's."""

    @property
    def scalar(self) -> Type: ...
    @property
    def shape(self) -> Sequence[int]: ...
    def is_floating(self) -> bool: ...


class Handle(Protocol):
    """The interpreter's value: an array and its type. `per_draw`, where set, marks flags that have the draws' axis."""

    data: Array
    dtype: Type
    per_draw: bool

    def get_element_ty(self) -> Type: ...


class TritonTensor(Protocol):
    """A tensor as a kernel's text sees it."""

    handle: Handle
    dtype: Type
    type: Type

    def __bool__(self) -> bool: ...


class Reduction(Protocol):
    """A reduction of the interpreter: what combines two elements, the axis (None: all), whether the axis stays."""

    combine_fn: object
    axis: int | None
    keep_dims: bool


class InterpreterScope(Protocol):
    """Attributes that the interpreter sets for the time of a launch."""

    def set_attr(self, owner: object, name: str, value: object) -> None: ...

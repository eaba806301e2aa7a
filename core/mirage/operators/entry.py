"""What an operator's entry states. One dataclass for the operators of tensor programs, one for those of block graphs.

An operator of tensor programs means one of three things: a *value* (pointwise: a term of the arguments' terms), an
*expansion* (other operators of the table), or a *rule* (how axes meet and what the term is, for the few primitives
that move or sum elements). Everything else reads these entries; nothing has a list of operators of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from mirage.ir.program import Node, TensorType

if TYPE_CHECKING:
    from mirage.meaning.terms import Terms
    from mirage.program.lower import Lowering

Attrs = Mapping[str, Any]
Family = Literal["contraction", "reduction", "pointwise", "shape", "composite"]
Infer = Callable[[Sequence[TensorType], Attrs], TensorType]
Value = Callable[["Terms", Sequence[int], Attrs], int]


class Maker(Protocol):
    """What expansions and torch forms build with: nodes are ids, their types are inferred."""

    def op(self, op: str, *args: int, **attrs: Any) -> int:
        """One more node; the table's shape rule gives its type."""

    def const(self, value: float | int | bool) -> int:
        """A number as a tensor without dims."""

    def type(self, x: int) -> TensorType:
        """The type of a node."""


Expand = Callable[[Maker, Sequence[int], Attrs], int]
Dims = list[tuple[int, ...]]  # for each dim its leaf axis classes, major first


class AxesRule(Protocol):
    """How the axes of a primitive's result come from its arguments'."""

    def __call__(self, low: Lowering, node: Node, /) -> Dims: ...


class TermRule(Protocol):
    """A primitive's term at an index (one DimIndex a dim)."""

    def __call__(self, low: Lowering, node: Node, index: Any, /) -> int: ...


@dataclass(frozen=True)
class Form:
    """How calls of one ATen overload become the operator. `args` names the schema's arguments that are tensors or
    numbers, in the operator's order (absent optional ones at the end are left out); `attrs` says which schema argument
    gives each attribute; `only` the values that other arguments must have. `build` does anything else."""

    args: tuple[str, ...] = ()
    attrs: Mapping[str, str] = field(default_factory=dict)
    only: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    build: Callable[[Maker, Mapping[str, Any]], Any] | None = None


@dataclass(frozen=True)
class Operator:
    """An operator of tensor programs. `least`..`most` arguments; `infer` gives the result's type and raises ShapeError
    or DtypeError for operands that do not fit; `call` is how PyTorch writes it ({0} {1} and attributes by name)."""

    name: str
    family: Family
    summary: str
    least: int
    most: int
    infer: Infer
    value: Value | None = None
    expand: Expand | None = None
    axes: AxesRule | None = None
    term: TermRule | None = None
    torch: Mapping[str, Form] = field(default_factory=dict)
    call: str = ""
    hazards: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        meanings = [self.value is not None, self.expand is not None, self.axes is not None and self.term is not None]
        if sum(meanings) != 1:
            raise TypeError(f"operator {self.name!r} must have a value, an expansion, or a rule: exactly one of them")


@dataclass(frozen=True)
class BlockOperator:
    """An operator of block graphs. `float64`: its value by numpy, NaNs as in PyTorch. `field`: the name of the method
    of the field arithmetic, or "oracle" (uninterpreted: a random function of its arguments). `triton`: its text
    ({0} {1} ..., attributes by name); an n-ary operator states `joiner`, a sum or max its reduction's name. `flops` and
    `special` (special-function instructions) are for each element."""

    name: str
    least: int
    most: int
    float64: Callable[..., Any] | None
    field: str
    triton: str
    joiner: str = ""
    attrs: tuple[str, ...] = ()
    flag: bool = False
    reduces: bool = False
    flops: float = 1.0
    special: float = 0.0
    hazards: tuple[str, ...] = ()


class ShapeError(ValueError):
    """Operands whose shapes do not fit together."""


class DtypeError(TypeError):
    """Operands of different dtypes where PyTorch wants one."""


class OperandsError(ValueError):
    """A form of an operator that the table does not cover."""

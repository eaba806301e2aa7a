"""The entry of an operator: one dataclass for the operators of tensor programs, one for those of block graphs.

An operator of tensor programs means one of three things: a *value* (pointwise: a term of the arguments' terms), an
*expansion* (other operators of the table), or a *rule* (how axes meet and what the term is, for the few that move or sum
elements). An operator of block graphs that names ATen overloads is an operator of tensor programs too. Everything else
reads these entries; nothing has a list of operators of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as stated
from typing import Any, Literal, Protocol

from mirage.ir.program import Operation
from mirage.ir.tensor_spec import TensorType
from mirage.operators import error_rules, intervals, padding, signs
from mirage.operators.error_rules import ErrorRule
from mirage.operators.intervals import IntervalRule
from mirage.operators.padding import PaddingRule
from mirage.operators.protocols import (
    Arguments,
    Array,
    Dims,
    FieldArithmetic,
    Index,
    Lowering,
    Maker,
    TermBuilder,
)
from mirage.operators.signs import SignRule, Signs

Attrs = Mapping[str, Any]
Family = Literal["contraction", "reduction", "pointwise", "shape", "composite", "call"]
Infer = Callable[[Sequence[TensorType], Attrs], TensorType]
Value = Callable[[TermBuilder, Sequence[int], Attrs], int]
Expand = Callable[[Maker, Sequence[int], Attrs], int]


@dataclass(frozen=True)
class Indices:
    """An argument that holds places: PyTorch raises an error where one is not from 0 to below `below`, nor what the attribute `besides`
    says (None: there is no such number)."""

    argument: int
    below: int
    besides: str = ""


class AxesRule(Protocol):
    """How the axes of a primitive's result come from its arguments'."""

    def __call__(self, low: Lowering, node: Operation, /) -> Dims: ...


class TermRule(Protocol):
    """A primitive's term at an index (one DimIndex a dim)."""

    def __call__(self, low: Lowering, node: Operation, index: Index, /) -> int: ...


@dataclass(frozen=True)
class Form:
    """How calls of one ATen overload become the operator. `args` names the schema's arguments that are tensors or
    numbers, in the operator's order (absent optional ones at the end are left out); `attrs` says which schema argument
    gives each attribute; `only` the values that other arguments must have. `build` does anything else. Calls for which
    `when` does not hold stay PyTorch's own."""

    args: tuple[str, ...] = ()
    attrs: Mapping[str, str] = stated(default_factory=dict)
    only: Mapping[str, tuple[object, ...]] = stated(default_factory=dict)
    build: Callable[[Maker, Arguments], int | list[int]] | None = None
    when: Callable[[Maker, Arguments], bool] | None = None


@dataclass(frozen=True)
class Operator:
    """An operator of tensor programs. `least`..`most` arguments; `infer` gives the result's type and raises ShapeError
    or DtypeError for operands that do not fit; `call` is how PyTorch writes it ({0} {1} and attributes by name). An
    attribute is a number, a truth value, None, a dtype or a tuple of them; `texts` has those that are words, each with
    the regular expression that they match as a whole. `indices`: which argument holds places, and how many there are."""

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
    torch: Mapping[str, Form] = stated(default_factory=dict)
    call: str = ""
    hazards: tuple[str, ...] = ()
    texts: Mapping[str, str] = stated(default_factory=dict)
    indices: Callable[[Sequence[TensorType], Attrs], Indices] | None = None

    def __post_init__(self) -> None:
        meanings = [self.value is not None, self.expand is not None, self.axes is not None and self.term is not None]
        if sum(meanings) != 1:
            raise TypeError(f"operator {self.name!r} must have a value, an expansion, or a rule: exactly one of them")


ORACLE = "oracle"
BlockForm = Literal["pointwise", "leaf", "reduce", "dot"]
Partial = Literal["all", "one", "first"]
Scaling = Literal["homogeneous", "invariant", ""]
Domain = Callable[..., tuple[tuple[Signs, int], ...]]


@dataclass(frozen=True, eq=False)
class BlockOperator:
    """An operator of block graphs. What is left out is what is safe to know nothing of.

    Its form: `least`..`most` arguments, the names of the attributes it must carry, whether it gives 0/1 (`flag`), takes
    its two arguments in either order (`commutes`), keeps integers integers (`integral`), or rounds to a dtype (`rounds`).

    Its values, by roads that check each other: `float64` by numpy, NaNs as in PyTorch; `torch` the call by which PyTorch
    computes it; `field` the name of the field arithmetic's method, a composition of such methods, or "oracle" (an
    uninterpreted function: equal for equal arguments alone), with `at_infinity` what IEEE arithmetic gives where an
    argument is infinite (NaN if not stated); `triton` its text ({0} {1} ..., attributes by name; an n-ary operator states
    `joiner`), and `exp2` its text of an argument that is kept times log2(e). `term` is what it reads as where the algebra
    looks into it, `derivative` the terms of its partial derivatives.

    What follows from them: `signs` and `interval` of the result from those of the arguments; `domain` which terms must
    have which signs for it to be defined (None: not known); `padding` its state where its arguments lie in the padding;
    `partial` how many partial sums or maxima of a loop it may take ("all" arguments, "one" of them, the "first");
    `scaling` whether f(cx, cy) = c f(x, y) or f(cx, cy) = f(x, y) for positive c.

    Its cost for each element: `flops` and `special` (special-function instructions). `error` bounds how far its text in
    float32 is off, from how far its arguments are (`error_rules.py`); `hazards` say what else can go wrong in floats.

    `aten` names the overloads that make it an operator of tensor programs, `summary` what it is there."""

    name: str
    least: int
    most: int
    float64: Callable[..., Array] | None = None
    triton: str = ""
    field: str | Callable[..., Array] = ORACLE
    torch: str = ""
    form: BlockForm = "pointwise"
    attrs: tuple[str, ...] = ()
    joiner: str = ""
    exp2: str = ""
    flag: bool = False
    commutes: bool = False
    integral: bool = False
    rounds: str = ""
    at_infinity: Callable[..., Array] | None = None
    term: Callable[..., int] | None = None
    derivative: Callable[..., tuple[int, ...]] | None = None
    signs: SignRule = signs.unknown
    interval: IntervalRule = intervals.unknown
    padding: PaddingRule = padding.unknown
    domain: Domain | None = None
    partial: Mapping[str, Partial] = stated(default_factory=dict)
    scaling: Scaling = ""
    flops: float = 1.0
    special: float = 0.0
    error: ErrorRule = error_rules.unknown
    hazards: tuple[str, ...] = ()
    aten: tuple[str, ...] = ()
    summary: str = ""

    def __post_init__(self) -> None:
        if self.aten and (self.form != "pointwise" or not self.torch or not self.summary):
            raise TypeError(f"block operator {self.name!r} names ATen overloads: it needs PyTorch's call and a summary")

    @property
    def reduces(self) -> bool:
        return self.form in ("reduce", "dot")

    def as_term(self, t: TermBuilder, *xs: int) -> int:
        """The operator as a term: what it is made of where the algebra looks into it, else an application of its name."""
        return t.fn(self.name, *xs) if self.term is None else self.term(t, *xs)

    def in_field(self, f: FieldArithmetic, *xs: Array) -> Array | None:
        """The value in a field arithmetic; None of an oracle."""
        if self.field == ORACLE:
            return None
        return getattr(f, self.field)(*xs) if isinstance(self.field, str) else self.field(f, *xs)


class ShapeError(ValueError):
    """Operands whose shapes do not fit together."""


class DtypeError(TypeError):
    """Operands of different dtypes where PyTorch wants one."""


class OperandsError(ValueError):
    """A form of an operator that the table does not cover."""

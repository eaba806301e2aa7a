"""The node classes of terms: what one entry of a `Terms` arena says, its parts given by their ids in that arena.

Nodes compare by identity: within one arena equal nodes are one object, because the arena makes each once. `kind` is the
node's word in JSON and in tables; `kids` are its direct subterms, in order.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from mirage.ir.index import DimIndex

Op: TypeAlias = Literal["sum", "max"]
Action: TypeAlias = Literal["+", "*"]
ACTIONS: tuple[Action, Action] = ("+", "*")
Kind: TypeAlias = Literal[
    "in", "const", "lit", "ninf", "size", "index", "add", "mul", "inv", "exp", "sqrt", "fn", "red", "delta"
]


class _Base:
    """The base of node classes: without parts, unless a class says otherwise."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[Kind]

    @property
    def kids(self) -> tuple[int, ...]:
        return ()

    @property
    def key(self) -> tuple[Hashable, ...]:
        """The identity of a node: its kind and its fields."""
        return (self.kind, *(getattr(self, name) for name in self.__match_args__))


class Update(NamedTuple):
    """One term of a carried accumulator's update: `coefficient`, in the changes, times an accumulator's old value."""

    coefficient: int
    sibling: int | None  # another accumulator; None: the reduction's own


@dataclass(frozen=True, slots=True, eq=False)
class Input(_Base):
    """An element of an input tensor: one index for each of its dimensions."""

    kind: ClassVar[Literal["in"]] = "in"
    name: str
    index: tuple[DimIndex, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Const(_Base):
    """An exact number."""

    kind: ClassVar[Literal["const"]] = "const"
    value: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class FloatLiteral(_Base):
    """A float of the program, by its text, that no small fraction fits: equal to itself alone."""

    kind: ClassVar[Literal["lit"]] = "lit"
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class NegInf(_Base):
    """Minus infinity: the score of what a mask leaves out."""

    kind: ClassVar[Literal["ninf"]] = "ninf"


@dataclass(frozen=True, slots=True, eq=False)
class Size(_Base):
    """The number of elements along an axis."""

    kind: ClassVar[Literal["size"]] = "size"
    axis: str


@dataclass(frozen=True, slots=True, eq=False)
class Index(_Base):
    """The global index along axes flattened row-major: an integer."""

    kind: ClassVar[Literal["index"]] = "index"
    axes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Add(_Base):
    """A sum of terms; a constant stands last."""

    kind: ClassVar[Literal["add"]] = "add"
    parts: tuple[int, ...]

    @property
    def kids(self) -> tuple[int, ...]:
        return self.parts


@dataclass(frozen=True, slots=True, eq=False)
class Mul(_Base):
    """A product of terms; a constant stands last."""

    kind: ClassVar[Literal["mul"]] = "mul"
    parts: tuple[int, ...]

    @property
    def kids(self) -> tuple[int, ...]:
        return self.parts


@dataclass(frozen=True, slots=True, eq=False)
class Inv(_Base):
    """1 / arg."""

    kind: ClassVar[Literal["inv"]] = "inv"
    arg: int

    @property
    def kids(self) -> tuple[int, ...]:
        return (self.arg,)


@dataclass(frozen=True, slots=True, eq=False)
class Exp(_Base):
    """e to the power arg."""

    kind: ClassVar[Literal["exp"]] = "exp"
    arg: int

    @property
    def kids(self) -> tuple[int, ...]:
        return (self.arg,)


@dataclass(frozen=True, slots=True, eq=False)
class Sqrt(_Base):
    """The principal square root."""

    kind: ClassVar[Literal["sqrt"]] = "sqrt"
    arg: int

    @property
    def kids(self) -> tuple[int, ...]:
        return (self.arg,)


@dataclass(frozen=True, slots=True, eq=False)
class Apply(_Base):
    """A pointwise function that the algebra does not look into, by its name in the operator table."""

    kind: ClassVar[Literal["fn"]] = "fn"
    name: str
    args: tuple[int, ...]

    @property
    def kids(self) -> tuple[int, ...]:
        return self.args


@dataclass(frozen=True, slots=True, eq=False)
class Reduce(_Base):
    """A sum or maximum of `body` over `axis`, which it binds.

    A carried reduction accumulates while values that its body reads still run: `changes` are the `Change` terms of those
    values, and each step replaces the accumulator by the sum of its `updates`. Both are empty otherwise.
    """

    kind: ClassVar[Literal["red"]] = "red"
    op: Op
    axis: str
    body: int
    changes: frozenset[int] = frozenset()
    updates: tuple[Update, ...] = ()

    @property
    def kids(self) -> tuple[int, ...]:
        return (self.body,)


@dataclass(frozen=True, slots=True, eq=False)
class Change(_Base):
    """The change of the running value `atom` in one step of a loop: new - old (`+`) or new / old (`*`)."""

    kind: ClassVar[Literal["delta"]] = "delta"
    atom: int
    action: Action


Node: TypeAlias = (
    Input | Const | FloatLiteral | NegInf | Size | Index | Add | Mul | Inv | Exp | Sqrt | Apply | Reduce | Change
)

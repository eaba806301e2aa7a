"""What a launch and its kernel's index arithmetic handle: tensors, pointers into them, descriptors of them, indices one a lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mirage.verify.memory.linear_forms import Cond, LinearForm


@dataclass(frozen=True)
class LaunchTensor:
    """A tensor of the launch: `content` is what it holds before the first kernel ("kept": the zeros that the launch before
    has left there)."""

    name: str
    shape: tuple[int, ...]
    content: Literal["input", "nothing", "zeros", "kept"]

    @property
    def elements(self) -> int:
        n = 1
        for d in self.shape:
            n *= d
        return n


@dataclass(frozen=True)
class IndexTile:
    """Integers or conditions, one a lane. `wraps`: a 32-bit value in it may be too large."""

    value: LinearForm | Cond
    shape: tuple[int, ...] = ()
    wide: bool = False
    wraps: bool = False


@dataclass(frozen=True)
class TensorPointer:
    tensor: LaunchTensor
    offset: IndexTile


@dataclass(frozen=True)
class Least:
    """min of several numbers, as the end of a range."""

    parts: tuple[IndexTile, ...]


@dataclass(frozen=True)
class Arrived:
    """The counter of a group before this block added one."""

    group: IndexTile


@dataclass(frozen=True)
class Described:
    """A tensor's descriptor: its shape and strides in elements, and the shape of a tile."""

    tensor: LaunchTensor
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block: tuple[int, ...]


class Data:
    """Anything that is not an index."""


DATA = Data()
Value: TypeAlias = int | IndexTile | TensorPointer | Described | Least | Arrived | Data  # a bool is a condition


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call, by position and by name."""

    given: Sequence[Value]
    named: Mapping[str, Value]

    def at(self, place: int, name: str) -> Value | None:
        return self.given[place] if len(self.given) > place else self.named.get(name)

    @property
    def numbers(self) -> list[int] | None:
        """The positional ones, if all are numbers."""
        found = [x for x in self.given if isinstance(x, int)]
        return found if len(found) == len(self.given) else None

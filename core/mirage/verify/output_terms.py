"""The outputs of a program as terms, each over the axes of its dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class OutputTerm(Protocol):
    """The meaning of an output tensor: a term, and the axes of each of its dimensions."""

    @property
    def tensor(self) -> str: ...
    @property
    def term(self) -> int: ...
    @property
    def dims(self) -> tuple[tuple[str, ...], ...]: ...


@dataclass(frozen=True)
class Output:
    """A target: `tensor`'s element at the axes' indices is the value of `term`."""

    tensor: str
    term: int
    dims: tuple[tuple[str, ...], ...]

"""Names that no program's own axes and tensors have: the axis within a part of a split, and the free tensors of obligations."""

from __future__ import annotations

from typing import Literal

Tag = Literal["new", "old"]
SHIFT = "#shift"  # the tensor that stands for any shift of an exponential's argument


def rest_of(axis: str) -> str:
    """The axis within one part, where `axis` is split into parts."""
    return f"{axis}.rest"


def running(accumulator: str, tag: Tag) -> str:
    """The free tensor for an accumulator's value after (`new`) or before (`old`) one step of its loop."""
    return f"{accumulator}#{tag}"


def is_running(name: str) -> bool:
    return name.endswith((running("", "new"), running("", "old")))

"""The index into one dimension of a tensor, by named axes: what terms, µGraphs and lowering share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DimIndex:
    """The index into one dimension of a device tensor: its axes flattened row-major (major first), plus an offset.
    `()` with offset 0 is index 0 of a dimension of size one, or a broadcast."""

    axes: tuple[str, ...] = ()
    offset: int = 0

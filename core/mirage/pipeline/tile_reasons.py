"""Why a kernel has these tiles: what half and twice each of them would come to."""

from __future__ import annotations

from collections.abc import Iterator

from mirage.devices.table import Device
from mirage.errors import MirageError
from mirage.mugraph.check import Limits, broken_rule
from mirage.mugraph.grammar import CustomKernel, MuGraph, TileDim
from mirage.mugraph.resized import next_power, shrink
from mirage.mugraph.walk import size_of
from mirage.profile.roofline import estimate


def why(mugraph: MuGraph, dev: Device) -> Iterator[str]:
    """For each tile dim what half and twice the tile would come to, by the estimate or the rule that it breaks."""
    now = estimate(mugraph, dev)
    for k in mugraph.kernels:
        if not isinstance(k, CustomKernel):
            continue
        for d in k.block.dims:
            others = [
                other(mugraph, k, d, tile, dev) for tile in (d.tile // 2, d.tile * 2) if tileable(mugraph, d, tile)
            ]
            if others:
                yield f"{k.name}: {'*'.join(d.axes)} by {d.tile} ({now:.1f} µs estimated); {', '.join(others)}"


def tileable(mugraph: MuGraph, dim: TileDim, tile: int) -> bool:
    """Can the dim be cut so, as far as its own size goes?"""
    return dim.role in ("grid", "loop") and 1 <= tile <= next_power(size_of(mugraph, dim))


def other(mugraph: MuGraph, kernel: CustomKernel, dim: TileDim, tile: int, dev: Device) -> str:
    """Another tile of a dim, and its time or why it is none."""
    try:
        changed = shrink(mugraph, dict(mugraph.axes), {kernel.name: {dim.name: tile}})
    except MirageError as e:
        return f"by {tile} {e.message}"
    breach = broken_rule(changed, Limits.of(dev))
    if breach is not None:
        return f"by {tile} breaks the rule {breach[0]}"
    return f"by {tile} {estimate(changed, dev):.1f} µs"

"""The capacity rule: a block fits on a multiprocessor."""

from __future__ import annotations

from mirage.mugraph.capacity import usage
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.rules.breach import Breach, Limits
from mirage.mugraph.walk import parts


def capacity(m: MuGraph, limits: Limits) -> None:
    """Shared memory, registers for accumulators, all live tiles together, and the largest tile are within limits."""
    for part in parts(m):
        u = usage(m, part, limits.warp_groups)
        registers = limits.registers(part.kernel.warps)
        if u.largest_tile > limits.tile_elements:
            raise Breach(part.where, f"a tile of {u.largest_tile} elements; at most {limits.tile_elements}")
        if u.shared > limits.shared:
            raise Breach(part.where, f"about {u.shared} bytes of shared memory; at most {limits.shared}")
        if u.accumulators > registers:
            raise Breach(part.where, f"{u.accumulators} bytes of accumulators; its registers have {registers}")
        if u.live > registers + limits.shared:
            raise Breach(part.where, f"{u.live} bytes of live tiles (at {u.at}); at most {registers + limits.shared}")

"""The last steps of a derivation, which change no value: how each axis is cut into tiles, and what is kept in memory.

Each is an instance of a law of sums: an axis is a grid, a loop or a row of tiles, the last tile padded by the neutral
element of what is reduced; or a value is named and read again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from mirage.errors import DerivationBroken
from mirage.mugraph.grammar import BlockGraph, CustomKernel, MuGraph, TileDim
from mirage.mugraph.walk import size_of

GRID, LOOP, ROW, SHARE, KEEP = "tiles on a grid", "tiles in a loop", "one tile", "shared by blocks", "kept in memory"
BY_ROLE = {"grid": GRID, "loop": LOOP, "resident": ROW, "split": SHARE}
STATEMENTS = {
    GRID: "for all i < n: every i is in one of ceil(n / tile) blocks",
    LOOP: "sum_k F = the sum over ceil(n / tile) tiles; padded by the neutral element",
    ROW: "the whole axis is one tile; padded by the neutral element",
    SHARE: "sum_k F = the sum over the parts, each the share of one block",
    KEEP: "let v = A in F(v) = F(A)",
}


@dataclass(frozen=True)
class Tiling:
    """`law` at `name` (a tile dim of `kernel`'s block or tail, or a tensor): `count` tiles of `tile` cover `size` elements,
    `padded` more are the neutral element."""

    law: str
    kernel: str
    part: str
    name: str
    size: int = 0
    tile: int = 0
    count: int = 0
    padded: int = 0

    @property
    def text(self) -> str:
        if self.law == KEEP:
            return f"{self.name} is kept in device memory"
        pad = f", {self.padded} padded" if self.padded else ""
        where = f"{self.kernel}'s {self.part}" if self.part == "tail" else self.kernel
        return f"{where}: {self.name} ({self.size}), {self.law}: {self.count} of {self.tile}{pad}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"text": self.text}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Tiling:
        try:
            law, kernel, part, name = (str(data[k]) for k in ("law", "kernel", "part", "name"))
            size, tile, count, padded = (int(data[k]) for k in ("size", "tile", "count", "padded"))
            return Tiling(law, kernel, part, name, size, tile, count, padded)
        except (KeyError, TypeError, ValueError) as e:
            raise DerivationBroken(f"a schedule step does not parse: {e}") from None


def blocks(mugraph: MuGraph) -> dict[tuple[str, str], BlockGraph]:
    found = {}
    for k in mugraph.kernels:
        if isinstance(k, CustomKernel):
            found[k.name, "block"] = k.block
            if k.tail is not None:
                found[k.name, "tail"] = k.tail
    return found


def tilings(mugraph: MuGraph) -> tuple[Tiling, ...]:
    """The schedule steps of a µGraph."""
    kept = [Tiling(KEEP, "", "", x.name) for x in mugraph.tensors if x.kind == "temp"]
    cut = [
        tiling(mugraph, kernel, part, block, d) for (kernel, part), block in blocks(mugraph).items() for d in block.dims
    ]
    return (*kept, *cut)


def tiling(mugraph: MuGraph, kernel: str, part: str, block: BlockGraph, d: TileDim) -> Tiling:
    if d.role == "split":
        shared = block.dim(d.splits)
        tiles = -(-size_of(mugraph, shared) // shared.tile)
        return Tiling(SHARE, kernel, part, d.name, tiles, -(-tiles // d.parts), d.parts, 0)
    size = size_of(mugraph, d)
    count = -(-size // d.tile)
    return Tiling(BY_ROLE[d.role], kernel, part, d.name, size, d.tile, count, count * d.tile - size)


def check_tilings(mugraph: MuGraph, steps: tuple[Tiling, ...]) -> None:
    """Raises DerivationBroken, naming the step, unless each holds of the µGraph and none is missing."""
    have = blocks(mugraph)
    todo = {(k, part, d.name) for (k, part), b in have.items() for d in b.dims}
    todo |= {("", "", x.name) for x in mugraph.tensors if x.kind == "temp"}
    for i, s in enumerate(steps, 1):
        name = f"schedule step {i} ({s.law} {s.name})"
        key = (s.kernel, s.part, s.name)
        if key not in todo:
            raise DerivationBroken(f"{name}: the µGraph has no such choice")
        todo.remove(key)
        if (s.law == KEEP) != (not s.kernel):
            raise DerivationBroken(f"{name}: the law does not fit")
        if s.law != KEEP:
            check_tiling(mugraph, have[s.kernel, s.part], s, name)
    if todo:
        raise DerivationBroken(f"no schedule step for {', '.join(sorted(n for *_, n in todo))}")


def check_tiling(mugraph: MuGraph, block: BlockGraph, s: Tiling, name: str) -> None:
    d = block.dim(s.name)
    if s.law != BY_ROLE[d.role]:
        raise DerivationBroken(f"{name}: the µGraph has {BY_ROLE[d.role]}")
    if s.law == SHARE:
        shared = block.dim(d.splits)
        holds = s.count == d.parts and shared.tile * (s.size - 1) < size_of(mugraph, shared) <= shared.tile * s.size
        holds = holds and s.tile * s.count >= s.size and s.padded == 0
    else:
        holds = s.size == size_of(mugraph, d) and s.tile == d.tile and s.padded == s.count * s.tile - s.size
        holds = holds and 0 <= s.padded < s.tile and (s.law != ROW or s.count == 1)
    if not holds:
        raise DerivationBroken(f"{name}: the tiles do not cover the axis as it says")

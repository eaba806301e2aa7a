"""The parameters of one emitted kernel: tensors, axis sizes and tiles, each named when the text first needs it."""

from __future__ import annotations

import builtins

from mirage.codegen.identifiers import Identifiers
from mirage.mugraph.grammar import BlockGraph, CustomKernel, DTensor, MuGraph, TileDim

WIDE = 2**31 - 1  # elements beyond which a 32-bit offset overflows


class Symbols:
    """One kernel's parameters and names. `tiles` maps (part, dim) to the constexpr of its tile or number of parts;
    part is "" for the block and "tail" for what its last block runs. A tail's dim that equals a dim of the block
    shares its constexpr."""

    def __init__(self, mugraph: MuGraph, kernel: CustomKernel, *taken: str) -> None:
        self.mugraph, self.kernel = mugraph, kernel
        self.names = Identifiers(*taken, *dir(builtins))  # a kernel calls none of them by a tile's name
        self.tensors: dict[str, str] = {}
        self.sizes: dict[str, str] = {}
        self.tiles: dict[tuple[str, str], str] = {}
        self.descriptors: dict[tuple[str, tuple[TileDim, ...]], str] = {}
        self.counters = ""

    def pointer(self, tensor: str) -> str:
        if tensor not in self.tensors:
            self.tensors[tensor] = self.names.fresh(f"{tensor}_ptr")
        return self.tensors[tensor]

    def descriptor(self, tensor: str, dims: tuple[TileDim, ...]) -> str:
        """The parameter that is a descriptor of a tensor, for tiles of the dims."""
        key = (tensor, dims)
        if key not in self.descriptors:
            self.descriptors[key] = self.names.fresh(f"{tensor}_desc")
        return self.descriptors[key]

    def size(self, axis: str) -> str:
        """The constexpr of an axis's size."""
        if axis not in self.sizes:
            self.mugraph.size(axis)
            self.sizes[axis] = self.names.fresh(axis.upper())
        return self.sizes[axis]

    def tile(self, part: str, dim: TileDim) -> str:
        """The constexpr of a dim's tile; of a split dim, its number of parts."""
        shared = self.shared(dim) if part else None
        key = ("" if shared else part, dim.name)
        if key not in self.tiles:
            hint = ("PARTS_" if dim.role == "split" else "BLOCK_") + dim.name.upper()
            self.tiles[key] = self.names.fresh(("TAIL_" if key[0] else "") + hint)
        return self.tiles[key]

    def group(self, dim: TileDim) -> str:
        """The constexpr of how many blocks of a grid dim start one after the other."""
        key = ("", dim.group_key)
        if key not in self.tiles:
            self.tiles[key] = self.names.fresh(f"GROUP_{dim.name.upper()}")
        return self.tiles[key]

    def shared(self, dim: TileDim) -> bool:
        return dim in self.kernel.block.dims

    def graph(self, part: str) -> BlockGraph:
        if not part:
            return self.kernel.block
        assert self.kernel.tail is not None
        return self.kernel.tail

    def tensor(self, name: str) -> DTensor:
        return self.mugraph.tensor(name)

    def wide_offsets(self, tensor: DTensor) -> bool:
        """Whether offsets into the tensor need 64 bits."""
        n = 1
        for s in self.mugraph.shape(tensor):
            n *= s
        return n > WIDE

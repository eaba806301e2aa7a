"""Triton's tensor descriptors, of the host or of a kernel: blocks of a tensor; beyond its shape they read zero and store nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from mirage.ir.dtypes import DTYPES
from mirage.verify.real_sizes.memory_operators import check_blocks, places, whole
from mirage.verify.real_sizes.operator_table import Context, as_tuple, operator
from mirage.verify.real_sizes.tile_values import INTEGERS, BlockPointer, Pointer, Tile, Unknown

ALIGNED = 16  # bytes: of the base, of every stride but the last, of a block's last dim at least
MOST_DIMS = 5
SCRATCH = (64, 4096, 1 << 20)  # bytes that an allocator is asked for


@dataclass
class HostDescriptor:
    """`triton.tools.tensor_descriptor.TensorDescriptor` as the module sees it. Raises what Triton's own raises."""

    base: torch.Tensor
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str = "zero"

    def __post_init__(self) -> None:
        item = self.base.dtype.itemsize
        assert 0 < len(self.shape) <= MOST_DIMS, "the rank of a descriptor is 1 to 5"
        assert len(self.shape) == len(self.strides) == len(self.block_shape), "a descriptor's parts have unlike lengths"
        assert self.base.storage_offset() * item % ALIGNED == 0, "base must be 16-byte aligned"
        assert all(s * item % ALIGNED == 0 for s in self.strides[:-1]), "strides must be 16-byte aligned"
        assert min(self.shape) > 0, "shape must be positive"
        assert self.strides[-1] == 1, "Last dimension must be contiguous"
        assert self.block_shape[-1] * item >= ALIGNED, "a block's last dim has at least 16 bytes"

    @staticmethod
    def from_tensor(tensor: torch.Tensor, block_shape: Sequence[int], padding: str = "zero") -> HostDescriptor:
        return HostDescriptor(tensor, tensor.shape, tensor.stride(), block_shape, padding)


@dataclass(frozen=True, eq=False)
class Descriptor:
    """A tensor in a kernel: where it begins, its shape and strides (a scalar tile a dim), the block of an access."""

    base: Pointer
    shape: tuple[Tile, ...]
    strides: tuple[Tile, ...]
    block: tuple[int, ...]
    padding: float


def given(context: Context, made: HostDescriptor, base: Pointer) -> Descriptor:
    """What a kernel gets for a descriptor of its launch."""
    parts = [tuple(Tile(np.asarray([n], np.int64), "int64") for n in p) for p in (made.shape, made.strides)]
    return Descriptor(
        base, parts[0], parts[1], context.block_shape(tuple(made.block_shape)), padding(context, made.padding)
    )


def padding(k: Context, name: object) -> float:
    if name not in ("zero", "nan", ""):
        raise k.wrong(f"the padding {name!r}, which Triton refuses")
    return float("nan") if name == "nan" else 0.0


def allocator(function: Callable[[int, int, object], object]) -> None:
    """`triton.set_allocator`: what is set must give a kernel's descriptors the memory that they ask for. Raises Unknown."""
    for size in SCRATCH:
        found = function(size, ALIGNED, None)
        if not isinstance(found, torch.Tensor) or found.numel() * found.dtype.itemsize < size:
            raise Unknown("an allocator that does not give the memory that it is asked for")


def item_bytes(dtype: str) -> int:
    return DTYPES[dtype].bytes if dtype in DTYPES else np.dtype(INTEGERS[dtype]).itemsize


@operator()
def make_tensor_descriptor(
    k: Context, base: object, shape: object, strides: object, block_shape: object, padding_option: object = "zero"
) -> Descriptor:
    if not isinstance(base, Pointer) or base.block:
        raise k.wrong("a tensor descriptor's base is no scalar pointer")
    block, item = k.block_shape(block_shape), item_bytes(base.region.dtype)
    dims, steps = (tuple(whole(k, x) for x in as_tuple(v)) for v in (shape, strides))
    if not len(dims) == len(steps) == len(block) <= MOST_DIMS:
        raise k.wrong("a tensor descriptor's shape, strides and block have unlike lengths")
    if block[-1] * item < ALIGNED or (steps[-1].data != 1).any():
        raise k.wrong("a tensor descriptor whose last dim has gaps or less than 16 bytes, which Triton refuses")
    if any((x.data * item % ALIGNED).any() for x in steps[:-1]) or (base.data * item % ALIGNED).any():
        raise k.wrong("a tensor descriptor whose base or strides are no multiples of 16 bytes, which no device reads")
    return Descriptor(base, dims, steps, block, padding(k, padding_option))


def elements(k: Context, desc: object, offsets: object) -> tuple[Pointer, Tile, Descriptor]:
    """The elements of a block, and which of them lie within the tensor."""
    if not isinstance(desc, Descriptor):
        raise k.wrong("an access by what is no tensor descriptor")
    at = tuple(whole(k, x) for x in as_tuple(offsets))
    if len(at) != len(desc.block):
        raise k.wrong(f"a block of {len(desc.block)} dims at {len(at)} offsets")
    pointer, mask = places(k, BlockPointer(desc.base, desc.shape, desc.strides, at, desc.block), tuple(range(len(at))))
    assert mask is not None
    return pointer, mask, desc


@operator("load_tensor_descriptor")
def load(k: Context, desc: object, offsets: object) -> Tile:
    pointer, mask, found = elements(k, desc, offsets)
    return k.accesses.load(pointer, mask.data, k.tile(found.padding), k.line, k.active)


@operator("store_tensor_descriptor")
def store(k: Context, desc: object, offsets: object, value: object) -> None:
    pointer, mask, found = elements(k, desc, offsets)
    data = k.tile(value)
    if data.block != found.block:
        raise k.wrong(f"a block of {list(found.block)} is given {list(data.block)}, which Triton refuses")
    check_blocks(k, pointer, mask.data, data.data)
    k.accesses.store(pointer, data, mask.data, k.line, k.active)


def base_tensor(value: object) -> object:
    """The tensor of a descriptor; any other value as it is."""
    return value.base if isinstance(value, HostDescriptor) else value

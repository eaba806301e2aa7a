"""Triton's matrix products, block pointers, loads, stores and atomic operations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mirage.verify.real_sizes import accumulators
from mirage.verify.real_sizes.operator_table import OPERATORS, Context, Operator, as_tuple, named_dtype, operator, truth
from mirage.verify.real_sizes.tile_values import Array, BlockPointer, Pointer, Tile


# ---- products
@operator()
def dot(
    k: Context, input: object, other: object, acc: object = None, input_precision: object = None, allow_tf32: object = None,
    max_num_imprecise_acc: object = None, out_dtype: object = None,
) -> object:  # fmt: skip
    a, b = k.tile(input), k.tile(other)
    if a.dtype != b.dtype:
        raise k.wrong(f"tl.dot of {a.dtype} and {b.dtype}, which Triton refuses")
    ranks = (len(a.block), len(b.block))
    if ranks not in ((2, 2), (3, 3)) or a.block[-1] != b.block[-2] or a.block[:-2] != b.block[:-2]:
        raise k.wrong(f"tl.dot of blocks {list(a.block)} and {list(b.block)}")
    if a.block[-1] < 16:
        raise k.wrong(f"tl.dot over {a.block[-1]} elements, of which matrix units take at least 16")
    ieee = input_precision in ("ieee", "tf32x3") or (input_precision is None and allow_tf32 is False)
    data = k.precision.product(a, b, ieee, k.line)
    dtype = (
        ("fp64" if a.dtype == "fp64" else named_dtype(k, out_dtype) if out_dtype else "fp32") if a.floating else "int32"
    )
    accumulators.of_product(k.precision, k.line, dtype)
    if acc is None:
        return k.precision.tile(data, dtype)
    c = k.tile(acc)
    if c.dtype != dtype or c.block != data.shape[1:]:
        raise k.wrong(f"tl.dot adds {dtype}{list(data.shape[1:])} to {c.dtype}{list(c.block)}, which Triton refuses")
    return replace(k.precision.tile(c.data + k.precision.rounded(data, dtype), dtype), rounded=c.rounded)


# ---- memory
@operator()
def make_block_ptr(
    k: Context, base: object, shape: object, strides: object, offsets: object, block_shape: object, order: object
) -> BlockPointer:
    if not isinstance(base, Pointer) or base.block:
        raise k.wrong("a block pointer's base is no scalar pointer")
    block = k.block_shape(block_shape)
    parts = [tuple(whole(k, x) for x in as_tuple(v)) for v in (shape, strides, offsets)]
    if any(len(p) != len(block) for p in parts):
        raise k.wrong("a block pointer's shape, strides, offsets and block have unlike lengths")
    return BlockPointer(base, parts[0], parts[1], parts[2], block)


def whole(k: Context, x: object) -> Tile:
    t = k.tile(x)
    if t.floating or t.block:
        raise k.wrong("a scalar of integers is needed")
    return Tile(t.data.astype(np.int64), "int64")


@operator()
def advance(k: Context, base: object, offsets: object) -> BlockPointer:
    if not isinstance(base, BlockPointer) or not isinstance(offsets, (tuple, list)) or len(offsets) != len(base.block):
        raise k.wrong("tl.advance takes a block pointer and an offset a dim")
    made = tuple(Tile(a.data + whole(k, b).data, "int64") for a, b in zip(base.offsets, offsets, strict=True))
    return replace(base, offsets=made)


def places(k: Context, p: BlockPointer, boundary_check: object) -> tuple[Pointer, Tile | None]:
    """The elements of a block pointer, and the mask of those within its shape along the dims that are checked."""
    rank, checked = len(p.block), {d % len(p.block) for d in k.numbers(boundary_check)}
    at, mask = p.base.data.reshape(-1, *(1,) * rank), None
    for d, n in enumerate(p.block):
        lanes = np.arange(n).reshape(1, *(n if i == d else 1 for i in range(rank)))
        index = p.offsets[d].data.reshape(-1, *(1,) * rank) + lanes
        at = at + index * p.strides[d].data.reshape(-1, *(1,) * rank)
        if d in checked:
            inside = (index >= 0) & (index < p.shape[d].data.reshape(-1, *(1,) * rank))
            mask = inside if mask is None else mask & inside
    return Pointer(p.base.region, at), None if mask is None else Tile(mask, "int1")


@operator()
def load(
    k: Context, pointer: object, mask: object = None, other: object = None, boundary_check: object = (),
    padding_option: object = "", **hints: object,
) -> Tile:  # fmt: skip
    if set(hints) - {"cache_modifier", "eviction_policy", "volatile"}:
        raise k.unknown(f"tl.load with {', '.join(hints)}")
    if isinstance(pointer, BlockPointer):
        if mask is not None or other is not None:
            raise k.wrong("tl.load of a block pointer takes no mask")
        pointer, mask = places(k, pointer, boundary_check)
        other = None if mask is None else {"zero": 0.0, "nan": float("nan")}.get(str(padding_option))
    if not isinstance(pointer, Pointer):
        raise k.wrong("tl.load of what is no pointer")
    if other is not None and mask is None:
        raise k.wrong("tl.load with a value for masked elements and no mask, which Triton refuses")
    flags = None if mask is None else truth(k, mask).data
    check_blocks(k, pointer, flags)
    return k.accesses.load(pointer, flags, None if other is None else k.tile(other), k.line, k.active)


@operator()
def store(
    k: Context, pointer: object, value: object, mask: object = None, boundary_check: object = (),
    cache_modifier: object = "", eviction_policy: object = "",
) -> None:  # fmt: skip
    if isinstance(pointer, BlockPointer):
        if mask is not None:
            raise k.wrong("tl.store to a block pointer takes no mask")
        pointer, mask = places(k, pointer, boundary_check)
    if not isinstance(pointer, Pointer):
        raise k.wrong("tl.store to what is no pointer")
    flags = None if mask is None else truth(k, mask).data
    check_blocks(k, pointer, flags, k.tile(value).data)
    k.accesses.store(pointer, k.tile(value), flags, k.line, k.active)


def check_blocks(k: Context, p: Pointer, *others: Array | None) -> None:
    """A pointer's block is that of the access: the rest is broadcast to it, and never the other way round."""
    for x in others:
        if x is None:
            continue
        if x.ndim > p.data.ndim or any(m not in (1, n) for m, n in zip(x.shape[1:], p.block[p.data.ndim - x.ndim :])):
            raise k.wrong(f"an access of a block {list(p.block)} has a mask or a value of {list(x.shape[1:])}")


def atomic(kind: str) -> Operator:
    def op(
        k: Context, pointer: object, val: object, mask: object = None, sem: object = None, scope: object = None
    ) -> Tile:
        if not isinstance(pointer, Pointer):
            raise k.wrong("an atomic operation on what is no pointer")
        flags = None if mask is None else truth(k, mask).data
        check_blocks(k, pointer, flags, k.tile(val).data)
        return k.accesses.atomic(kind, pointer, k.tile(val), flags, k.line, k.active)

    return op


for _kind in ("add", "max", "min", "or", "and"):
    OPERATORS[f"atomic_{_kind}"] = atomic(_kind)

"""Triton's reductions and scans of blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mirage.verify.real_sizes import accumulators
from mirage.verify.real_sizes.operator_table import OPERATORS, Context, as_tuple, binary, named_dtype, operator
from mirage.verify.real_sizes.pointwise_operators import cast, reshape
from mirage.verify.real_sizes.tile_values import BITS, Tile

Combine = Callable[..., object]  # a helper function of the text


# ---- reductions and scans
def axis_of(k: Context, t: Tile, axis: object) -> int | tuple[int, ...]:
    if not t.block:
        raise k.unknown("a reduction of a scalar")
    if axis is None:
        return tuple(range(1, t.data.ndim))
    a = k.number(axis)
    if not -len(t.block) <= a < len(t.block):
        raise k.wrong(f"axis {a} of a block {list(t.block)}")
    return a % len(t.block) + 1


@operator("sum")
def sum_(k: Context, input: object, axis: object = None, keep_dims: object = False, dtype: object = None) -> Tile:
    t = k.tile(input)
    if dtype is not None:
        t = replace(k.precision.tile(t.data, named_dtype(k, dtype)), rounded=t.rounded)
    elif not t.floating and BITS[t.dtype] < 32:
        t = k.precision.tile(t.data, "uint32" if t.dtype.startswith("u") or t.dtype == "int1" else "int32")
    along = axis_of(k, t, axis)
    accumulators.of_reduction(k.precision, k.line, t, along, "tl.sum")
    data = t.data
    if t.floating and not k.precision.wide and t.dtype in ("fp16", "bf16"):
        data = data.astype(np.float32)
    total = np.sum(data, axis=along, keepdims=bool(keep_dims), dtype=data.dtype)
    return replace(k.precision.tile(total, t.dtype), rounded=t.rounded)


def extreme(k: Context, fn: Any, index: Any, t: Tile, axis: object, both: object, keep: object) -> object:
    along = axis_of(k, t, axis)
    wide = t.dtype == "bf16" or (t.floating and BITS[t.dtype] < 32 and not both)
    if wide:
        t = k.precision.tile(t.data, "fp32")
    elif not t.floating and BITS[t.dtype] < 32 and not both:
        t = k.precision.tile(t.data, "int32")
    # that the numbers were rounded to fewer digits is not kept: a maximum is mostly a shift, of which any does
    best = k.precision.tile(fn.reduce(t.data, axis=along, keepdims=bool(keep)), t.dtype)
    if not both:
        return best
    if isinstance(along, tuple):
        raise k.unknown("indices of a reduction over all axes")
    return best, k.precision.tile(index(t.data, axis=along, keepdims=bool(keep)), "int32")


@operator("max")
def max_(
    k: Context, input: object, axis: object = None, return_indices: object = False,
    return_indices_tie_break_left: object = True, keep_dims: object = False,
) -> object:  # fmt: skip
    if return_indices and not return_indices_tie_break_left:
        raise k.unknown("an index of one of several equal maxima")
    return extreme(k, np.fmax, np.argmax, k.tile(input), axis, return_indices, keep_dims)


@operator("min")
def min_(
    k: Context, input: object, axis: object = None, return_indices: object = False,
    return_indices_tie_break_left: object = True, keep_dims: object = False,
) -> object:  # fmt: skip
    if return_indices and not return_indices_tie_break_left:
        raise k.unknown("an index of one of several equal minima")
    return extreme(k, np.fmin, np.argmin, k.tile(input), axis, return_indices, keep_dims)


@operator()
def argmax(k: Context, input: object, axis: object, tie_break_left: object = True, keep_dims: object = False) -> object:
    return max_(k, input, axis, True, tie_break_left, keep_dims)[1]  # type: ignore[index]


@operator()
def argmin(k: Context, input: object, axis: object, tie_break_left: object = True, keep_dims: object = False) -> object:
    return min_(k, input, axis, True, tie_break_left, keep_dims)[1]  # type: ignore[index]


@operator()
def xor_sum(k: Context, input: object, axis: object = None, keep_dims: object = False) -> Tile:
    t = k.tile(input)
    return k.precision.tile(np.bitwise_xor.reduce(t.data, axis=axis_of(k, t, axis), keepdims=bool(keep_dims)), t.dtype)


@operator()
def softmax(
    k: Context, x: object, dim: object = None, keep_dims: object = False, ieee_rounding: object = False
) -> object:
    t = k.tile(x)
    axis = 0 if dim is None else dim
    shift = binary(k, "sub", t, max_(k, t, axis, keep_dims=True))
    top = OPERATORS["exp"](k, shift)
    return binary(k, "truediv", top, sum_(k, top, axis, keep_dims=True))


def scanned(k: Context, fn: Any, input: object, axis: object, reverse: object, what: str) -> Tile:
    t = k.tile(input)
    if t.dtype == "bf16":
        t = replace(k.precision.tile(t.data, "fp32"), rounded=t.rounded)
    elif not t.floating and BITS[t.dtype] < 32:
        t = k.precision.tile(t.data, "int32")
    along = axis_of(k, t, 0 if axis is None else axis)
    assert isinstance(along, int)
    accumulators.of_reduction(k.precision, k.line, t, along, what)
    data = np.flip(t.data, along) if reverse else t.data
    out = fn.accumulate(data, axis=along, dtype=data.dtype)
    made = k.precision.tile(np.flip(out, along) if reverse else out, t.dtype)
    return replace(made, rounded=t.rounded)


@operator()
def cumsum(k: Context, input: object, axis: object = 0, reverse: object = False, dtype: object = None) -> Tile:
    t = cast(k, input, dtype) if dtype is not None else input
    return scanned(k, np.add, t, axis, reverse, "tl.cumsum")


@operator()
def cumprod(k: Context, input: object, axis: object = 0, reverse: object = False) -> Tile:
    return scanned(k, np.multiply, input, axis, reverse, "tl.cumprod")


def taken(x: Tile, along: int, part: slice) -> Tile:
    where = [slice(None)] * x.data.ndim
    where[along] = part
    return replace(x, data=x.data[tuple(where)])


@operator()
def reduce(k: Context, input: object, axis: object, combine_fn: Combine, keep_dims: object = False) -> object:
    """By halves: what is combined is taken to be associative, as Triton takes it."""
    parts = tuple(k.tile(x) for x in as_tuple(input))
    if axis is None:
        parts, axis = tuple(reshape(k, p, math.prod(p.block)) for p in parts), 0
    along = axis_of(k, parts[0], axis)
    assert isinstance(along, int)
    for p in parts:
        accumulators.of_reduction(k.precision, k.line, p, along, "tl.reduce")
    n = parts[0].data.shape[along]
    while n > 1:
        n //= 2
        left, right = ([taken(p, along, s) for p in parts] for s in (slice(0, None, 2), slice(1, None, 2)))
        parts = tuple(k.tile(x) for x in as_tuple(combine_fn(*left, *right)))
    out = tuple(p if keep_dims else replace(p, data=p.data.squeeze(along)) for p in parts)
    return out if isinstance(input, tuple) else out[0]


@operator()
def associative_scan(k: Context, input: object, axis: object, combine_fn: Combine, reverse: object = False) -> object:
    parts = tuple(k.tile(x) for x in as_tuple(input))
    along = axis_of(k, parts[0], axis)
    assert isinstance(along, int)
    if reverse:
        parts = tuple(replace(p, data=np.flip(p.data, along)) for p in parts)
    for p in parts:
        accumulators.of_reduction(k.precision, k.line, p, along, "tl.associative_scan")
    step, n = 1, parts[0].data.shape[along]
    while step < n:
        left, right = ([taken(p, along, s) for p in parts] for s in (slice(0, n - step), slice(step, n)))
        made = [k.tile(x) for x in as_tuple(combine_fn(*left, *right))]
        heads = [taken(p, along, slice(0, step)) for p in parts]
        parts = tuple(
            replace(m, data=np.concatenate([np.broadcast_to(h.data, (m.data.shape[0], *h.block)), m.data], along))
            for h, m in zip(heads, made, strict=True)
        )
        step *= 2
    if reverse:
        parts = tuple(replace(p, data=np.flip(p.data, along)) for p in parts)
    return parts if isinstance(input, tuple) else parts[0]

"""The dtypes in which a text sums up: what is narrower than float32, in products, loops, reductions and atomic sums, by line."""

from __future__ import annotations

import math

from mirage.verify.real_sizes.tile_values import Precision, Tile

NARROW = ("fp16", "bf16")
LONG = 16  # terms from which on a sum in a short dtype is one that loses digits


def of_loop(precision: Precision, line: int, name: str, made: object) -> None:
    """Note what a loop carries in `name` and adds to."""
    if not isinstance(made, Tile):
        return
    if made.dtype in NARROW:
        precision.narrow[line] = f"{name} is summed up in {made.dtype}"
    elif made.rounded:
        precision.narrow[line] = f"what {name} sums up was rounded to fewer digits in line {made.rounded}"


def of_product(precision: Precision, line: int, dtype: str) -> None:
    """Note a product of matrices that accumulates in `dtype`."""
    if dtype in NARROW:
        precision.narrow[line] = f"tl.dot accumulates in {dtype}"


def of_reduction(precision: Precision, line: int, t: Tile, along: int | tuple[int, ...], what: str) -> None:
    """Note a sum of many terms along axes of a block."""
    axes = along if isinstance(along, tuple) else (along,)
    if t.dtype in NARROW and math.prod(t.data.shape[a] for a in axes) > LONG:
        precision.narrow[line] = f"{what} in {t.dtype}"


def of_atomic_sum(precision: Precision, line: int, dtype: str) -> None:
    """Note an atomic sum in memory of `dtype`."""
    if dtype in NARROW:
        precision.narrow[line] = f"an atomic sum in {dtype}"

"""Where two functions of 64-bit integers part because one wraps around: up to which size of integers they were found to agree."""

from __future__ import annotations

from collections.abc import Callable

from mirage.ir.program import Program
from mirage.verify.floats.directed_inputs import EVERY_INTEGER, PRODUCTS_WRAP, Draw, Rng, of_every_size
from mirage.verify.label_ranges import Ranges
from mirage.verify.semantics.arrays import Array

LONG = "int64"
BITS = (
    40,
    48,
    54,
    57,
    60,
    61,
    62,
    63,
)  # of the sizes that are tried one after the other; the last is the dtype's own end
SEEDS = 2  # of each


def _up_to(bits: int) -> Draw:
    """64-bit integers of every size below 2^bits, and those at its ends; shorter ones as far as their dtype goes."""

    def integers(r: Rng, shape: tuple[int, ...], dtype: str) -> Array:
        own = bits if dtype == LONG else None
        return of_every_size(r, shape, dtype, own)

    return Draw(f"integers below 2^{bits}", EVERY_INTEGER.floats, integers=integers)


def agreed_below(a: Program, ranges: Ranges, differ: Callable[[Draw, int], bool]) -> int | None:
    """The bits of the integers up to which no run told the two apart, where larger ones do; None where none does, or there are no
    64-bit integers but labels among the inputs. `differ(kind, seed)`: do their values, on inputs that are drawn so?"""
    if not any(i.type.dtype == LONG and i.name not in ranges for i in a.inputs):
        return None
    if not any(differ(_up_to(BITS[-1]), seed) for seed in range(SEEDS)):
        return None
    held = PRODUCTS_WRAP
    for bits in BITS:
        if any(differ(_up_to(bits), seed) for seed in range(SEEDS)):
            break
        held = bits
    return held

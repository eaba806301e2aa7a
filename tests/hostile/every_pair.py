"""All hostile pairs by class, in the order of the benchmark's table."""

from __future__ import annotations

from hostile import (
    cast_pairs,
    definedness_pairs,
    equal_index_pairs,
    equal_order_pairs,
    equal_value_pairs,
    finiteness_pairs,
    output_pairs,
    position_pairs,
    precision_pairs,
    threshold_pairs,
    trace_pairs,
)
from hostile.pair import Pair

FILES = (
    threshold_pairs,
    position_pairs,
    trace_pairs,
    cast_pairs,
    definedness_pairs,
    finiteness_pairs,
    precision_pairs,
    output_pairs,
    equal_order_pairs,
    equal_index_pairs,
    equal_value_pairs,
)
PAIRS: tuple[Pair, ...] = tuple(pair for file in FILES for pair in file.PAIRS)
GROUPS = tuple(dict.fromkeys(pair.group for pair in PAIRS))


def of_group(group: str) -> tuple[Pair, ...]:
    return tuple(pair for pair in PAIRS if pair.group == group)

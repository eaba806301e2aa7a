"""All hostile pairs by class, in the order of the benchmark's table."""

from __future__ import annotations

from hostile import (
    branch_pairs,
    cast_pairs,
    definedness_pairs,
    digit_pairs,
    domain_pairs,
    dtype_pairs,
    equal_index_pairs,
    equal_law_pairs,
    equal_order_pairs,
    equal_place_pairs,
    equal_value_pairs,
    finiteness_pairs,
    gate_pairs,
    number_pairs,
    output_pairs,
    overflow_pairs,
    place_pairs,
    position_pairs,
    precision_pairs,
    result_pairs,
    square_pairs,
    threshold_pairs,
    trace_pairs,
)
from hostile.pair import Pair

FILES = (
    threshold_pairs,
    gate_pairs,
    position_pairs,
    place_pairs,
    trace_pairs,
    branch_pairs,
    cast_pairs,
    dtype_pairs,
    definedness_pairs,
    domain_pairs,
    finiteness_pairs,
    overflow_pairs,
    precision_pairs,
    digit_pairs,
    output_pairs,
    result_pairs,
    equal_order_pairs,
    equal_index_pairs,
    equal_value_pairs,
    equal_law_pairs,
    equal_place_pairs,
    square_pairs,
    number_pairs,
)
PAIRS: tuple[Pair, ...] = (*(pair for file in FILES for pair in file.PAIRS), *branch_pairs.EQUAL)
GROUPS = tuple(dict.fromkeys(pair.group for pair in PAIRS))


def of_group(group: str) -> tuple[Pair, ...]:
    return tuple(pair for pair in PAIRS if pair.group == group)

"""What goes wrong in cumulative sums."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "carry_of_one_block",
        "The carry is the sum of the block before and not of all blocks before.",
        [("carry += tl.sum(x, axis=0)", "carry = tl.sum(x, axis=0)")],
    ),
    Fault(
        "carry_twice",
        "The carry takes up the sum of results and not of inputs.",
        [("carry += tl.sum(x, axis=0)", "carry += tl.sum(y, axis=0)")],
    ),
    Fault(
        "no_carry",
        "Every block begins from zero.",
        [("tl.cumsum(x, axis=0) + carry", "tl.cumsum(x, axis=0)")],
    ),
)

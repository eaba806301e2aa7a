"""What goes wrong in maxima of rows."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "padding_of_zero",
        "What lies behind the row is read as 0, which is larger than a row of negative numbers.",
        [('other=float("-inf")', "other=0.0")],
        witness="x -= 7",
    ),
    Fault(
        "maximum_from_zero",
        "The running maximum begins at 0.",
        [('tl.full([BLOCK], float("-inf"), dtype=tl.float32)', "tl.zeros([BLOCK], dtype=tl.float32)")],
        witness="x -= 7",
    ),
    Fault(
        "magnitudes",
        "The largest magnitude is taken, and its sign is lost.",
        [("tl.maximum(best, v.to(tl.float32))", "tl.maximum(best, tl.abs(v.to(tl.float32)))")],
    ),
    Fault(
        "last_block_alone",
        "The maximum forgets all blocks but the last.",
        [("tl.maximum(best, v.to(tl.float32))", "v.to(tl.float32)")],
    ),
)

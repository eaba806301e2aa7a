"""What goes wrong in a rotary embedding."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "sign",
        "The rotation goes the other way round.",
        [("x1 * c - x2 * s", "x1 * c + x2 * s"), ("x2 * c + x1 * s", "x2 * c - x1 * s")],
    ),
    Fault(
        "position_and_head_swapped",
        "The grid has heads and positions in the other order than the kernel reads them.",
        [("[(heads, seq)]", "[(seq, heads)]")],
    ),
    Fault(
        "angle_of_the_head",
        "Cosine and sine are those of the head's number.",
        [
            ("cos_ptr + pos * cs_stride", "cos_ptr + head * cs_stride"),
            ("sin_ptr + pos * cs_stride", "sin_ptr + head * cs_stride"),
        ],
    ),
    Fault(
        "unmasked_store",
        "The first half is stored without its mask, over parts of the second.",
        [("x1 * c - x2 * s, mask=mask)", "x1 * c - x2 * s)")],
        unseen="the interpreter stores one after the other; on a device two threads store to one element in no order",
    ),
)

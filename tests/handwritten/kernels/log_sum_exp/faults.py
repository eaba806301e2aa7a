"""What goes wrong in a log-sum-exp."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "lanes_added_as_they_are",
        "The lanes' sums are added without bringing them to one maximum.",
        [("tl.sum(s * tl.exp(m - top), axis=0)", "tl.sum(s, axis=0)")],
    ),
    Fault(
        "base_two",
        "The logarithm of the sum is to the base of two.",
        [("top + tl.log(total)", "top + tl.log2(total)")],
    ),
    Fault(
        "no_maximum",
        "Nothing is subtracted, and the sum overflows.",
        [("m_new = tl.maximum(m, x)", "m_new = tl.zeros([BLOCK], tl.float32)")],
        witness="x *= 80",
    ),
)

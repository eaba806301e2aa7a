"""What goes wrong in a scan."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "combined_in_the_other_order",
        "The earlier factor is applied to the later sum.",
        [("a2 * b1 + b2", "a1 * b2 + b1")],
    ),
    Fault(
        "scan_over_the_rows",
        "The scan runs over the rows of the block, which are as many as steps.",
        [("axis=1, combine_fn", "axis=0, combine_fn")],
    ),
    Fault(
        "factors_not_multiplied",
        "The factor of two steps is that of the second alone.",
        [("return a1 * a2, a2", "return a2, a2")],
        unseen="the interpreter combines step by step from the left; a device combines in a tree, where later parts hold several steps",
    ),
)

"""What goes wrong in a leaky ReLU on tiles."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "maximum_of_both",
        "The larger of x and slope * x is taken, which is right for slopes up to one alone.",
        [("tl.maximum(v, 0.0) + a * tl.minimum(v, 0.0)", "tl.maximum(v, a * v)")],
        witness="slope[3] = 1.5",
    ),
    Fault(
        "columns_of_the_other_block",
        "The columns are found with the height of a block.",
        [("tl.program_id(1) * BN + tl.arange(0, BN)", "tl.program_id(0) * BN + tl.arange(0, BN)")],
    ),
    Fault(
        "limits_swapped",
        "Rows and columns are each masked by the other's size.",
        [("(i < M)[:, None] & (j < N)[None, :]", "(i < N)[:, None] & (j < M)[None, :]")],
    ),
)

"""What goes wrong in a bias with GELU."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "quotient_for_remainder",
        "The bias is found by the row and not by the column.",
        [("offs % width", "offs // width")],
    ),
    Fault(
        "remainder_of_the_block",
        "The bias is found by the position in the block, which is the column only where rows and blocks are equally long.",
        [("b_ptr + offs % width, mask=mask", "b_ptr + tl.arange(0, BLOCK) % width, mask=mask")],
    ),
    Fault(
        "cube_missing",
        "The cubic term is a square.",
        [("0.044715 * h * h * h", "0.044715 * h * h")],
    ),
    Fault(
        "tanh_halved",
        "The helper computes tanh(x / 2).",
        [("2 * tl.sigmoid(2 * x) - 1\n\n\n", "2 * tl.sigmoid(x) - 1\n\n\n")],
    ),
)

"""What goes wrong in means of columns."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "divided_by_the_columns",
        "The sum is divided by the number of columns.",
        [("total / M, mask", "total / N, mask")],
    ),
    Fault(
        "padded_rows_counted",
        "The sum is divided by the rows of all blocks, the last, partial one taken as whole.",
        [("total / M, mask", "total / (tl.cdiv(M, BLOCK_M) * BLOCK_M), mask")],
    ),
    Fault(
        "step_of_the_other_axis",
        "The pointers go forward by rows of the block's width and not of the matrix'.",
        [("x_ptrs += BLOCK_M * N", "x_ptrs += BLOCK_M * BLOCK_N")],
    ),
    Fault(
        "mask_does_not_move",
        "The mask of the rows is that of the first block in every step.",
        [("row[:, None] < M - m * BLOCK_M", "row[:, None] < M")],
    ),
)

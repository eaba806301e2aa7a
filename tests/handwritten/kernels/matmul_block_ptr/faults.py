"""What goes wrong with block pointers."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "k_not_checked",
        "The boundary of k is not checked, and the last step reads the beginning of the next row.",
        [
            (
                'a = tl.load(a_block, boundary_check=(0, 1), padding_option="zero")',
                'a = tl.load(a_block, boundary_check=(0,), padding_option="zero")',
            ),
            (
                'b = tl.load(b_block, boundary_check=(0, 1), padding_option="zero")',
                'b = tl.load(b_block, boundary_check=(1,), padding_option="zero")',
            ),
        ],
    ),
    Fault(
        "advanced_along_n",
        "The second block pointer advances along the columns of the output.",
        [("tl.advance(b_block, (BK, 0))", "tl.advance(b_block, (0, BK))")],
    ),
    Fault(
        "grid_swapped",
        "The grid's axes are in the other order, so that some blocks are missing and others lie outside.",
        [("grid = (triton.cdiv(M, 32), triton.cdiv(N, 64))", "grid = (triton.cdiv(N, 64), triton.cdiv(M, 32))")],
    ),
)

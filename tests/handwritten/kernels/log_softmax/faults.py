"""What goes wrong in a log-softmax."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "maximum_of_the_tile",
        "One maximum is taken for all rows of the tile, and a row far below it has a sum of 0.",
        [("tl.max(x, axis=1)[:, None]", "tl.max(x)")],
        witness="x[::2] -= 300",
    ),
    Fault(
        "logarithm_of_the_quotient",
        "The logarithm is taken of the softmax, which is 0 for what lies far below the maximum.",
        [("(shifted - lse[:, None])", "tl.log(tl.exp(shifted) / tl.exp(lse)[:, None])")],
        witness="x *= 60",
    ),
    Fault(
        "one_row_a_program",
        "The grid has as many programs as if each took twice the rows that it takes.",
        [('triton.cdiv(M, meta["ROWS"])', 'triton.cdiv(M, 2 * meta["ROWS"])')],
    ),
)

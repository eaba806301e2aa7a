"""What goes wrong in a softmax over columns."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "sum_over_the_block_of_columns",
        "The denominator is summed over the columns of the block.",
        [("tl.sum(e, axis=0, keep_dims=True)", "tl.sum(e, axis=1, keep_dims=True)")],
    ),
    Fault(
        "maximum_over_the_rows",
        "The maximum is that of each row in the block: it does not cancel, and it may be far from a column's own.",
        [("tl.max(x, axis=0, keep_dims=True)", "tl.max(x, axis=1, keep_dims=True)")],
    ),
    Fault(
        "padded_rows_counted",
        "The rows behind the end have a finite score, and count where the column's own are smaller still.",
        [('other=-float("inf")', "other=-10.0"), ("tl.where(m < M, tl.exp(x), 0.0)", "tl.exp(x)")],
        witness="x -= 8",
    ),
)

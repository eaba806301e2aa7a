"""What goes wrong in a softmax that holds a row."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "padding_of_zero",
        "What lies behind the row is read as 0, and counts as exp(0 - max) in the denominator.",
        [('other=-float("inf")', "other=0.0")],
    ),
    Fault(
        "no_maximum",
        "The maximum is not subtracted, and the exponential overflows from 89 on.",
        [("row_minus_max = row - tl.max(row, axis=0)", "row_minus_max = row")],
        witness="x *= 100",
    ),
    Fault(
        "maximum_of_the_wrong_sign",
        "The maximum of the absolute values is subtracted: rows far below zero underflow to 0 / 0.",
        [("row - tl.max(row, axis=0)", "row - tl.max(tl.abs(tl.where(col_offsets < n_cols, row, 0.0)), axis=0)")],
        witness="x -= 200",
    ),
)

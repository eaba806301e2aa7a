"""What goes wrong in sums of rows."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "row_mask_alone",
        "The columns are not masked, so that the last step adds the beginning of the next row.",
        [("mask=row_mask[:, None] & (cols[None, :] < n_cols)", "mask=row_mask[:, None] & (cols[None, :] >= 0)")],
    ),
    Fault(
        "overwritten_not_added",
        "The accumulator is overwritten in every step, and the last block is what remains.",
        [("acc += tl.load(ptrs", "acc = tl.load(ptrs")],
    ),
    Fault(
        "one_block_early",
        "The loop ends where the next block would not be whole.",
        [("range(0, n_cols, COLS)", "range(0, n_cols // COLS * COLS, COLS)")],
    ),
)

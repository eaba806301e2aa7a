"""What goes wrong in attention with a window."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "window_one_longer",
        "The window holds one key more.",
        [("(gap < WINDOW)", "(gap <= WINDOW)"), ("qb * BQ - WINDOW + 1, 0", "qb * BQ - WINDOW, 0")],
    ),
    Fault(
        "first_block_too_late",
        "The first block of keys is rounded up, and the oldest keys of the window are missing.",
        [
            ("- WINDOW + 1, 0) // BK * BK", "- WINDOW + 1, 0) + BK - 1) // BK * BK"),
            ("first = tl.maximum(", "first = (tl.maximum("),
        ],
    ),
    Fault(
        "window_of_the_first_row",
        "The window is measured from the block's first query for all of its queries.",
        [
            (
                "gap = rows[:, None] - cols[None, :]\n        keep = (gap >= 0) & (gap < WINDOW)",
                "gap = rows[:, None] - cols[None, :]\n        keep = (gap >= 0) & (qb * BQ - cols[None, :] < WINDOW)",
            )
        ],
    ),
)

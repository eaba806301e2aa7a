"""What goes wrong in a cosine."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "root_missing_once",
        "The second norm is left as the sum of squares.",
        [("tl.maximum(tl.sqrt(tl.sum(yy, 0)), eps)", "tl.maximum(tl.sum(yy, 0), eps)")],
    ),
    Fault(
        "not_limited_from_below",
        "Rows of zeros divide by zero.",
        [("tl.maximum(tl.sqrt(tl.sum(xx, 0)), eps)", "tl.sqrt(tl.sum(xx, 0))")],
        witness="x[7] = 0",
    ),
    Fault(
        "rest_left_out",
        "The loop ends before the last, partial block.",
        [("while start < n:", "while start + BLOCK <= n:")],
    ),
)

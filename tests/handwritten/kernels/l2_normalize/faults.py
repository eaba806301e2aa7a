"""What goes wrong in an L2 normalization."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "eps_under_the_root",
        "eps is added under the root, which changes short rows.",
        [("tl.sqrt(tl.sum(x * x))", "tl.sqrt(tl.sum(x * x) + eps)")],
        witness="x *= 1e-7",
    ),
    Fault(
        "not_clamped",
        "A row of zeros is divided by zero.",
        [("x / tl.maximum(norm, eps)", "x / norm")],
        witness="x[5] = 0",
    ),
    Fault(
        "sum_of_absolute_values",
        "The norm is the sum of absolute values.",
        [("tl.sqrt(tl.sum(x * x))", "tl.sum(tl.abs(x))")],
    ),
)

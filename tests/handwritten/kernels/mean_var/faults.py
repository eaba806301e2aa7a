"""What goes wrong in means and variances."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "biased",
        "The variance is divided by the number of elements and not by one less.",
        [("/ (D - 1)", "/ D")],
    ),
    Fault(
        "difference_of_squares",
        "The variance is the mean of squares less the square of the mean, which cancels where the mean is large.",
        [
            (
                "var = tl.sum(centered * centered, axis=1) / (D - 1)",
                "var = (tl.sum(x * x, axis=1) / D - mean * mean) * D / (D - 1)",
            )
        ],
        witness="x += 3000",
    ),
    Fault(
        "padding_centered",
        "The padding is centered too, and adds squares of the mean.",
        [("tl.where(inside, x - mean[:, None], 0.0)", "x - mean[:, None]")],
    ),
)

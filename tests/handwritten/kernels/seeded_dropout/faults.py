"""What goes wrong in a dropout."""

from handwritten.case import Fault

DRAW = "r = torch.rand(r.shape)"
FAULTS = (
    Fault(
        "at_the_threshold",
        "A random number that is exactly p keeps its element.",
        [("mask=mask) > p", "mask=mask) >= p")],
        witness="r[:, 10] = 0.25",
    ),
    Fault(
        "scaled_by_p",
        "What stays is divided by p.",
        [("x / (1 - p)", "x / p")],
    ),
    Fault(
        "not_scaled",
        "What stays is not scaled.",
        [("x / (1 - p)", "x")],
    ),
    Fault(
        "multiplied_by_the_mask",
        "The mask is a factor, and an element that falls out and whose quotient overflows gives NaN.",
        [("tl.where(keep, x / (1 - p), 0.0)", "x / (1 - p) * keep.to(tl.float32)")],
        witness="x[4] = 3.2e38",
    ),
)

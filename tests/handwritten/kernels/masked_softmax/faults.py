"""What goes wrong in a masked softmax."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "mask_scaled_too",
        "The scale is applied to the sum of score and mask.",
        [("s * scale + b", "(s + b) * scale")],
    ),
    Fault(
        "padding_of_both_zero",
        "Score and mask are both 0 behind the row.",
        [('mask=ok, other=float("-inf")', "mask=ok, other=0.0")],
    ),
    Fault(
        "mask_by_head",
        "The mask's row is the head's number.",
        [("B + q * stride_b", "B + h * stride_b")],
    ),
)

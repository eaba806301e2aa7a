"""What goes wrong in a batch normalization."""

from handwritten.case import Fault

DRAW = "var = var.abs() + 0.1; mean *= 0.5"
FAULTS = (
    Fault(
        "channels_last",
        "The channel is the index modulo the channels, as in the other layout.",
        [("c = i // HW % C", "c = i % C")],
    ),
    Fault(
        "eps_outside_the_root",
        "eps is added to the standard deviation.",
        [("w / tl.sqrt(var + eps)", "w / (tl.sqrt(var) + eps)")],
        witness="var *= 1e-4; weight *= 1e-2; mean.zero_()",
    ),
    Fault(
        "variance_for_deviation",
        "The values are divided by the variance.",
        [("w / tl.sqrt(var + eps)", "w / (var + eps)")],
    ),
    Fault(
        "shift_not_scaled",
        "The mean is subtracted after the scale.",
        [("shift = b - mu * scale", "shift = b - mu")],
    ),
)

"""What goes wrong in a group normalization."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "weight_of_the_group",
        "Weight and bias are read by the channel's place in its group.",
        [("w_ptr + channel, mask", "w_ptr + c, mask"), ("b_ptr + channel, mask", "b_ptr + c, mask")],
    ),
    Fault(
        "count_of_the_padded_channels",
        "The sums are divided by the padded number of channels.",
        [("count = CPG * HW", "count = BLOCK_C * HW")],
    ),
    Fault(
        "unbiased",
        "The variance is divided by one less.",
        [("axis=0) / count\n    inv_std", "axis=0) / (count - 1)\n    inv_std")],
    ),
    Fault(
        "statistics_of_each_channel",
        "Mean and variance are those of the single channel.",
        [
            ("mean = tl.sum(tl.sum(x, axis=1), axis=0) / count", "mean = (tl.sum(x, axis=1) / HW)[:, None]"),
            (
                "var = tl.sum(tl.sum(diff * diff, axis=1), axis=0) / count",
                "var = (tl.sum(diff * diff, axis=1) / HW)[:, None]",
            ),
        ],
    ),
)

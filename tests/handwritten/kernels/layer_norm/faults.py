"""What goes wrong in a layer normalization."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "padding_in_the_variance",
        "What lies behind the row counts as a difference of -mean in the variance.",
        [("x = tl.where(cols < N, x - mean, 0.0)", "x = x - mean")],
        witness="x += 2",
    ),
    Fault(
        "eps_outside_the_root",
        "eps is added behind the root, which shows in rows of small variance.",
        [("1 / tl.sqrt(var + eps)", "1 / (tl.sqrt(var) + eps)")],
        witness="x.zero_(); x[:, ::2] = 1e-3",
    ),
    Fault(
        "mean_of_the_padded_row",
        "The mean is divided by the number of elements of all blocks.",
        [("mean = tl.sum(_mean, axis=0) / N", "mean = tl.sum(_mean, axis=0) / (tl.cdiv(N, BLOCK_SIZE) * BLOCK_SIZE)")],
        witness="x += 2",
    ),
)

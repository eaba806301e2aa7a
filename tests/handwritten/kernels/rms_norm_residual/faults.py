"""What goes wrong in an RMS normalization with a residual."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "mean_over_the_block",
        "The mean square is divided by the block's size and not by the row's.",
        [("tl.sum(h * h, axis=0) / n_cols", "tl.sum(h * h, axis=0) / BLOCK")],
    ),
    Fault(
        "eps_missing",
        "There is no eps: a row of zeros gives 0 times infinity.",
        [("tl.rsqrt(ms + eps)", "tl.rsqrt(ms)")],
        witness="x[3] = 0; residual[3] = 0",
    ),
    Fault(
        "residual_written_in_place",
        "The sum is written into the residual that the caller gave, and returned.",
        [("new_residual = torch.empty_like(x)", "new_residual = residual")],
    ),
    Fault(
        "norm_without_residual",
        "The mean square is that of x and not of the sum.",
        [("tl.sum(h * h, axis=0)", "tl.sum(x * x, axis=0)")],
    ),
)

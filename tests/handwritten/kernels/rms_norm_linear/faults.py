"""What goes wrong in a normalization that is folded into a product."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "squares_of_the_weighted_row",
        "The squares are those of x g.",
        [
            (
                "sq += tl.sum(xf * xf, axis=1)",
                "sq += tl.sum(xf * g[None, :].to(tl.float32) * xf * g[None, :].to(tl.float32), axis=1)",
            )
        ],
    ),
    Fault(
        "squares_of_the_last_step",
        "The squares are those of the last step alone.",
        [("sq += tl.sum(xf * xf, axis=1)", "sq = tl.sum(xf * xf, axis=1)")],
    ),
    Fault(
        "squares_in_half",
        "The squares are taken in half precision, and overflow from 256 on.",
        [("sq += tl.sum(xf * xf, axis=1)", "sq += tl.sum((x * x).to(tl.float32), axis=1)")],
        witness="x *= 150",
    ),
    Fault(
        "scale_along_the_columns",
        "The scale of the rows is applied along the columns of a square block.",
        [("acc * rstd[:, None]", "acc * tl.sum(rstd, axis=0) / BM")],
    ),
)

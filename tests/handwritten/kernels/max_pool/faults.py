"""What goes wrong in pooling."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "running_maximum_from_zero",
        "The maximum starts at 0, and a window of negative numbers gives 0.",
        [("tl.max(x, axis=1)", "tl.maximum(tl.max(x, axis=1), 0.0)")],
        witness="x -= 3",
    ),
    Fault(
        "windows_overlap",
        "Windows begin two elements apart.",
        [("w[:, None] * WINDOW + k[None, :]", "w[:, None] * (WINDOW // 2) + k[None, :]")],
    ),
    Fault(
        "mean_for_maximum",
        "The window's mean is taken.",
        [("tl.max(x, axis=1)", "(tl.sum(x, axis=1) / WINDOW)")],
    ),
    Fault(
        "row_of_outputs",
        "Rows of the input lie as far apart as rows of the output.",
        [("row * n_windows * WINDOW", "row * n_windows")],
    ),
)

"""What goes wrong in cumulative products."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "exclusive",
        "Each element gets the product of those before it.",
        [
            ("        running *= tl.load(x_ptr + rows * L + t, mask=mask, other=1.0)\n", ""),
            (
                "        tl.store(y_ptr + rows * L + t, running, mask=mask)\n",
                "        tl.store(y_ptr + rows * L + t, running, mask=mask)\n"
                "        running *= tl.load(x_ptr + rows * L + t, mask=mask, other=1.0)\n",
            ),
        ],
    ),
    Fault(
        "column_major",
        "The elements are loaded as if rows and columns were exchanged.",
        [("tl.load(x_ptr + rows * L + t", "tl.load(x_ptr + rows + t * n_rows")],
    ),
    Fault(
        "by_logarithms",
        "Products are exponentials of sums of logarithms, of magnitudes alone.",
        [
            ("tl.full((BLOCK,), 1.0, dtype=tl.float32)", "tl.zeros((BLOCK,), dtype=tl.float32)"),
            (
                "running *= tl.load(x_ptr + rows * L + t, mask=mask, other=1.0)",
                "running += tl.log(tl.abs(tl.load(x_ptr + rows * L + t, mask=mask, other=1.0)))",
            ),
            ("rows * L + t, running, mask", "rows * L + t, tl.exp(running), mask"),
        ],
    ),
)

"""What goes wrong in a rotary embedding of pairs."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "half_split",
        "The partners are half a head apart, as in the other convention.",
        [
            (
                "even = t * n_heads * PAIRS * 2 + h * PAIRS * 2 + 2 * p",
                "even = t * n_heads * PAIRS * 2 + h * PAIRS * 2 + p",
            ),
            ("X + even + 1", "X + even + PAIRS"),
            ("OUT + even + 1", "OUT + even + PAIRS"),
        ],
    ),
    Fault(
        "padded_heads_in_the_stride",
        "Positions lie as far apart as the padded number of heads says.",
        [("even = t * n_heads * PAIRS * 2", "even = t * HEADS * PAIRS * 2")],
    ),
    Fault(
        "second_from_the_new_first",
        "The odd element is computed from the even one that is already rotated.",
        [
            (
                "    tl.store(OUT + even, (a * c - b * s).to(tl.float16), mask=valid)\n",
                "    a = a * c - b * s\n    tl.store(OUT + even, a.to(tl.float16), mask=valid)\n",
            )
        ],
    ),
)

"""What goes wrong in sums of products."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "half_products",
        "The products are taken in half precision, and overflow.",
        [
            (
                "x = tl.load(x_ptr + pid * n + i, mask=i < n, other=0.0).to(tl.float32)",
                "x = tl.load(x_ptr + pid * n + i, mask=i < n, other=0.0)",
            ),
            (
                "y = tl.load(y_ptr + pid * n + i, mask=i < n, other=0.0).to(tl.float32)",
                "y = tl.load(y_ptr + pid * n + i, mask=i < n, other=0.0)",
            ),
            ("tl.sum(x * y)", "tl.sum((x * y).to(tl.float32))"),
        ],
        witness="x *= 300; y *= 300",
    ),
    Fault(
        "scaled_in_the_loop",
        "The scale is applied to the running sum in every step.",
        [("acc += tl.sum(x * y)", "acc = (acc + tl.sum(x * y)) * scale"), ("acc * scale)", "acc)")],
    ),
    Fault(
        "scale_in_integers",
        "The scale is an integer quotient, and 0.",
        [("out, n, 1.0 / n, BLOCK", "out, n, float(1 // n), BLOCK")],
    ),
    Fault(
        "repeated_block",
        "The second operand always comes from the first block.",
        [("y_ptr + pid * n + i, mask=i < n", "y_ptr + pid * n + i - off, mask=i < n")],
    ),
)

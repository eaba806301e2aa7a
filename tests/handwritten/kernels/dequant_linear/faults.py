"""What goes wrong with 8-bit weights."""

from handwritten.case import Fault

DRAW = "weight = torch.randint(-127, 128, weight.shape, dtype=torch.int8); scale = scale.abs() / 100"
FAULTS = (
    Fault(
        "unsigned",
        "The weights are widened as unsigned numbers.",
        [("w.to(tl.float16)", "w.to(tl.uint8, bitcast=True).to(tl.float16)")],
    ),
    Fault(
        "rounded_before_the_scale",
        "The sum is rounded to half precision before the scale, and overflows.",
        [("acc *= scale[None, :]", "acc = acc.to(tl.float16).to(tl.float32) * scale[None, :]")],
        witness="x *= 40",
    ),
    Fault(
        "one_scale",
        "The scale of the first row is used for all.",
        [("tl.load(s_ptr + n, mask=n < N, other=0.0)", "tl.load(s_ptr + n * 0, mask=n < N, other=0.0)")],
    ),
    Fault(
        "scale_of_the_block",
        "The scales are read by the column's place in its block.",
        [
            (
                "tl.load(s_ptr + n, mask=n < N, other=0.0)",
                "tl.load(s_ptr + tl.arange(0, BLOCK_N), mask=n < N, other=0.0)",
            )
        ],
    ),
)

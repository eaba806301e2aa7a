"""What goes wrong in SwiGLU."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "halves_swapped",
        "The gate is taken from the second half.",
        [("out = silu(gate) * up", "out = silu(up) * gate")],
    ),
    Fault(
        "stride_of_the_output",
        "The rows of the input are found with the output's stride.",
        [("out, x.stride(0), out.stride(0), d", "out, out.stride(0), out.stride(0), d")],
    ),
    Fault(
        "half_product",
        "Gate and value are multiplied in half precision before the sigmoid divides, which overflows.",
        [
            (
                "out = silu(gate) * up",
                "out = (gate.to(tl.float16) * up.to(tl.float16)).to(tl.float32) * tl.sigmoid(gate)",
            )
        ],
        witness="x[:, :700] = -x[:, :700].abs() * 3 - 7; x[:, 700:] *= 9000",
    ),
)

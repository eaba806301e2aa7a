"""What goes wrong in GeGLU."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "tanh_form",
        "GELU is approximated by tanh where the function asks for the exact one.",
        [
            (
                "0.5 * x * (1.0 + tl.math.erf(x * INV_SQRT_2))",
                "x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))",
            )
        ],
    ),
    Fault(
        "sigmoid_form",
        "GELU is approximated by x sigmoid(1.702 x).",
        [("0.5 * x * (1.0 + tl.math.erf(x * INV_SQRT_2))", "x * tl.sigmoid(1.702 * x)")],
    ),
    Fault(
        "root_of_two_the_other_way",
        "The argument of erf is multiplied by the root of two and not divided by it.",
        [("tl.constexpr(0.7071067811865476)", "tl.constexpr(1.4142135623730951)")],
    ),
    Fault(
        "grid_capped",
        "The grid never has more than four blocks, and nothing loops over the rest.",
        [("(triton.cdiv(numel, 1024),)", "(min(triton.cdiv(numel, 1024), 4),)")],
    ),
)

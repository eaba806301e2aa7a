"""What goes wrong in a linear layer with an epilogue."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "even_k_taken_for_granted",
        "The loads along k are never masked, though the step does not divide k.",
        [("EVEN_K=K % BLOCK_K == 0", "EVEN_K=True")],
    ),
    Fault(
        "bias_after_activation",
        "The bias is added behind the activation.",
        [
            ("    acc = acc + bias[None, :]\n", ""),
            ("acc = leaky_relu(acc)", "acc = leaky_relu(acc) + bias[None, :]"),
        ],
    ),
    Fault(
        "bias_along_the_rows",
        "The bias is loaded by the block's column but added along the rows.",
        [("acc = acc + bias[None, :]", "acc = acc + bias[:, None]")],
    ),
    Fault(
        "weight_not_transposed",
        "The strides of the weight are passed in the order of a (k, n) matrix.",
        [("weight.stride(0), weight.stride(1)", "weight.stride(1), weight.stride(0)")],
    ),
    Fault(
        "slope_on_the_wrong_side",
        "The slope is applied to the positive values.",
        [("tl.where(x >= 0, x, 0.01 * x)", "tl.where(x >= 0, 0.01 * x, x)")],
    ),
)

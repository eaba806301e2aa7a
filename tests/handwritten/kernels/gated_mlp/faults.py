"""What goes wrong in a gated MLP."""

from handwritten.case import Fault

DRAW = "w1 *= 0.1; w3 *= 0.1"
AT = (((20, 200), "bf16"), ((200, 80), "bf16"), ((200, 80), "bf16"))
FAULTS = (
    Fault(
        "gate_on_the_other_product",
        "SiLU is applied to the second product.",
        [("gate / (1.0 + tl.exp(-gate)) * up", "up / (1.0 + tl.exp(-up)) * gate")],
    ),
    Fault(
        "one_weight_twice",
        "Both products are taken with the first weight.",
        [("tl.load(w3_ptr + w_offs", "tl.load(w1_ptr + w_offs")],
    ),
    Fault(
        "sigmoid_for_silu",
        "The gate is a sigmoid.",
        [("gate / (1.0 + tl.exp(-gate)) * up", "1.0 / (1.0 + tl.exp(-gate)) * up")],
    ),
    Fault(
        "accumulators_in_bfloat16",
        "The sums are rounded to bfloat16 in every step.",
        [
            ("gate += tl.dot(x, w1)", "gate = (gate + tl.dot(x, w1)).to(tl.bfloat16).to(tl.float32)"),
            ("up += tl.dot(x, w3)", "up = (up + tl.dot(x, w3)).to(tl.bfloat16).to(tl.float32)"),
        ],
        witness="x[:, :64] = 8; w1[:64] = 4; w3[:64] = 4; x[:, 128:192] = 8; w1[128:192] = -4; w3[128:192] = -4",
    ),
)

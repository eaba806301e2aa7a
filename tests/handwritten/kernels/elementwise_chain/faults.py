"""What goes wrong in a chain of elementwise operations."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "tanh_that_overflows",
        "tanh is computed from exp(2y), which is infinite for large y, and infinity over infinity is NaN.",
        [
            (
                "    e = tl.exp(-2.0 * tl.abs(v))\n    t = (1.0 - e) / (1.0 + e)\n    return tl.where(v < 0, -t, t)\n",
                "    e = tl.exp(2.0 * v)\n    return (e - 1.0) / (e + 1.0)\n",
            )
        ],
        witness="y *= 50",
    ),
    Fault(
        "lower_limit_missing",
        "The result is limited from above alone.",
        [("tl.minimum(tl.maximum(out, -limit), limit)", "tl.minimum(out, limit)")],
    ),
    Fault(
        "grid_of_one_configuration",
        "The grid is made for blocks of 1024 whatever block was chosen.",
        [('triton.cdiv(n, meta["BLOCK"])', "triton.cdiv(n, 1024)")],
    ),
    Fault(
        "approximation_by_environment",
        "A variable of the environment switches to another sigmoid.",
        [
            ("import torch\n", "import os\n\nimport torch\n"),
            ("BLOCK: tl.constexpr):\n    offs", "BLOCK: tl.constexpr, FAST: tl.constexpr):\n    offs"),
            (
                "out = x + tl.sigmoid(g) * tanh(y)",
                "gate = tl.minimum(tl.maximum(0.25 * g + 0.5, 0.0), 1.0) if FAST else tl.sigmoid(g)\n    out = x + gate * tanh(y)",
            ),
            ("out, n, 1.5)", 'out, n, 1.5, FAST=os.environ.get("CHAIN_FAST", "0") == "1")'),
        ],
        environment={"CHAIN_FAST": "1"},
    ),
)

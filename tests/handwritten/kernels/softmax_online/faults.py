"""What goes wrong in an online softmax."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "sum_not_rescaled",
        "The running sum is not brought to the new maximum, so that early blocks count too much or too little.",
        [("d = d * tl.exp(m - m_new) + tl.sum", "d = d + tl.sum")],
        witness="x[:, 1500:] += 3",
    ),
    Fault(
        "rescaled_the_wrong_way",
        "The running sum is multiplied by the inverse of its correction.",
        [("d * tl.exp(m - m_new)", "d * tl.where(d > 0, tl.exp(m_new - m), 0.0)")],
        witness="x[:, 1500:] += 3",
    ),
    Fault(
        "scaled_after_the_maximum",
        "The second pass forgets the temperature.",
        [("other=0.0).to(tl.float32) * scale", "other=0.0).to(tl.float32)")],
    ),
    Fault(
        "one_block_early",
        "The first pass leaves out the last, partial block.",
        [
            (
                "    d = 0.0\n    for start in range(0, N, BLOCK):",
                "    d = 0.0\n    for start in range(0, N - BLOCK + 1, BLOCK):",
            )
        ],
    ),
)

"""What goes wrong in a mean over a part."""

from handwritten.case import Fault

DRAW = "lengths = torch.randint(1, x.shape[1] + 1, lengths.shape, dtype=torch.int32); lengths[0] = x.shape[1] + 9; lengths[1] = 1"
FAULTS = (
    Fault(
        "divided_by_all_tokens",
        "The sum is divided by the padded length.",
        [("acc / length)", "acc / T)")],
    ),
    Fault(
        "one_token_more",
        "The token behind the last valid one is added too.",
        [("mask=t[:, None] < n, other=0.0", "mask=(t[:, None] <= n) & (t[:, None] < T), other=0.0")],
    ),
    Fault(
        "whole_blocks_alone",
        "The loop makes whole steps alone.",
        [("range(0, n, BLOCK_T)", "range(0, n // BLOCK_T * BLOCK_T, BLOCK_T)")],
    ),
    Fault(
        "length_not_limited",
        "A length beyond the sequence's end makes the loop read the next sequence.",
        [("n = tl.minimum(length, T)", "n = length")],
    ),
)

"""What goes wrong in attention that is split over its keys."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "parts_averaged",
        "The parts are merged with equal weights.",
        [
            ("acc = acc * old_scale + exp_logic * tv", "acc = acc + tv"),
            ("e_sum = e_sum * old_scale + exp_logic", "e_sum = e_sum + 1.0"),
        ],
    ),
    Fault(
        "maximum_for_log_sum_exp",
        "A part's weight is taken from its maximum, without its sum.",
        [("e_max + tl.log(e_sum), mask", "e_max, mask")],
        witness="k[:, 128:] = 0.2",
    ),
    Fault(
        "head_of_the_group",
        "The heads of the queries are interleaved over the key heads and not grouped under them.",
        [("Q + (cur_kv_head * G + offs_g[:, None]) * D", "Q + (offs_g[:, None] * 2 + cur_kv_head) * D")],
    ),
    Fault(
        "splits_rounded_down",
        "The number of splits is rounded down, and the last keys are never seen.",
        [("num_splits = triton.cdiv(seq_len, split)", "num_splits = seq_len // split")],
        witness="k[:, 260:] *= 3",
    ),
)

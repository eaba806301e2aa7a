"""What goes wrong in attention."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "keys_behind_the_end",
        "Keys behind the last one have a score of 0 and not of minus infinity, and take part in the denominator.",
        [('        qk = tl.where(n[None, :] < N_KV, qk, -float("inf"))\n', "")],
    ),
    Fault(
        "accumulator_not_rescaled",
        "The denominator is brought to the new maximum and the accumulator is not.",
        [("        acc = acc * alpha[:, None]\n", "")],
        witness="q *= 2",
    ),
    Fault(
        "scale_missing",
        "The scores are not divided by the root of the head's size.",
        [("qk_scale = sm_scale * 1.44269504", "qk_scale = 1.44269504")],
    ),
    Fault(
        "base_two_without_its_factor",
        "exp2 is taken of scores that were not multiplied by log2(e).",
        [("qk_scale = sm_scale * 1.44269504", "qk_scale = sm_scale")],
    ),
    Fault(
        "keys_counted_by_queries",
        "The loop over keys ends at the number of queries.",
        [("range(0, N_KV, BLOCK_N)", "range(0, N_Q, BLOCK_N)")],
    ),
    Fault(
        "rounded_scores",
        "The scores are rounded to half precision before the scale, where they overflow.",
        [("qk = tl.dot(q, k) * qk_scale", "qk = tl.dot(q, k).to(tl.float16).to(tl.float32) * qk_scale")],
        witness="q[:, :, 0] = 300; k[:, :, 0] = 300",
    ),
)

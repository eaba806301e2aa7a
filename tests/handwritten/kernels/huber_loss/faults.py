"""What goes wrong in a mean over blocks."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "mean_of_the_blocks_means",
        "The blocks' means are averaged, though the last block is shorter.",
        [
            ("tl.sum(loss, axis=0))", "tl.sum(loss, axis=0) / tl.minimum(BLOCK, n - pid * BLOCK))"),
            ("s / n)", "s / parts)"),
        ],
        witness="target[2100:] += 9",
    ),
    Fault(
        "linear_part_not_continuous",
        "The linear part lacks its offset.",
        [("DELTA * (e - 0.5 * DELTA)", "DELTA * e")],
    ),
    Fault(
        "delta_of_one",
        "The slope of the linear part is one, as for the smooth L1 loss.",
        [("DELTA * (e - 0.5 * DELTA)", "(e - 0.5 * DELTA)")],
    ),
    Fault(
        "partial_sums_unmasked",
        "The second kernel reads parts that no block has written.",
        [
            ("tl.load(part_ptr + i, mask=i < parts, other=0.0)", "tl.load(part_ptr + i)"),
            ("partial = torch.empty(parts,", "partial = torch.empty(triton.next_power_of_2(parts),"),
        ],
    ),
)

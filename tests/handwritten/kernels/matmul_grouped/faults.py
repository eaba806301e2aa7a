"""What goes wrong in a product of matrices with grouped programs."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "group_not_cut_at_the_end",
        "The last group is taken to be as tall as the others, and where it is not some blocks are never computed.",
        [("group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)", "group_size_m = GROUP_SIZE_M")],
    ),
    Fault(
        "order_swapped",
        "Row and column of the block are confused within a group that is not square.",
        [
            (
                "first_pid_m + ((pid % num_pid_in_group) % group_size_m)",
                "first_pid_m + ((pid % num_pid_in_group) // num_pid_n)",
            ),
            ("pid_n = (pid % num_pid_in_group) // group_size_m", "pid_n = (pid % num_pid_in_group) // GROUP_SIZE_M"),
        ],
    ),
    Fault(
        "whole_steps_alone",
        "The loop over k makes whole steps alone, and leaves the rest of k out.",
        [("range(0, tl.cdiv(K, BLOCK_SIZE_K))", "range(0, K // BLOCK_SIZE_K)")],
    ),
    Fault(
        "half_accumulator",
        "The accumulator is rounded to half precision after every step, which overflows although the sum does not.",
        [
            (
                "accumulator = tl.dot(a, b, accumulator)",
                "accumulator = tl.dot(a, b, accumulator).to(tl.float16).to(tl.float32)",
            )
        ],
        witness="a[:, :32] = 60; b[:32] = 60; a[:, 32:64] = -60; b[32:64] = 60",
    ),
    Fault(
        "wraps_at_the_rows",
        "The columns are wrapped at the number of rows, which shows because there are fewer rows than columns.",
        [("+ tl.arange(0, BLOCK_SIZE_N)) % N", "+ tl.arange(0, BLOCK_SIZE_N)) % M")],
    ),
)

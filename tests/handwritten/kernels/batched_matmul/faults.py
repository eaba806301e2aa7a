"""What goes wrong in a batched product."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "batch_stride_of_the_other",
        "The second factor's batches are found with the first one's stride.",
        [("B += pid_b * stride_bb", "B += pid_b * stride_ab")],
    ),
    Fault(
        "contiguous_taken_for_granted",
        "The kernel gets the strides that the transposed view would have if it were contiguous.",
        [("bt.stride(0), bt.stride(1), bt.stride(2)", "bt.stride(0), N, 1")],
    ),
    Fault(
        "accumulated_in_half",
        "The sum over k is kept in half precision, whose digits do not hold it.",
        [
            ("dtype=tl.float32", "dtype=tl.float16"),
            ("o += tl.dot(a, b)", "o += tl.dot(a, b).to(tl.float16)"),
        ],
        witness="a[:, :, :32] = 40; b[:, :, :32] = 40; a[:, :, 64:] = -40; b[:, :, 64:] = 40",
    ),
    Fault(
        "batch_on_the_wrong_axis",
        "The batch is read from the grid's first axis, and the rows from its last.",
        [
            ("pid_b = tl.program_id(2)", "pid_b = tl.program_id(0)"),
            ("offs_m = tl.program_id(0)", "offs_m = tl.program_id(2)"),
        ],
    ),
)

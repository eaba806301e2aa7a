"""What goes wrong in a causal convolution."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "end_of_the_channel_before",
        "What lies before the beginning is read: the end of the channel before.",
        [("mask=(src >= 0) & (src < T)", "mask=(base + src >= 0) & (src < T)")],
    ),
    Fault(
        "flipped",
        "The taps are in the other order.",
        [("w_ptr + c * WIDTH + k", "w_ptr + c * WIDTH + (WIDTH - 1 - k)")],
    ),
    Fault(
        "centered",
        "The window is centered and sees two elements of the future.",
        [("src = t + k - (WIDTH - 1)", "src = t + k - WIDTH // 2 + 1")],
    ),
    Fault(
        "bias_of_the_sequence",
        "The bias is that of the sequence's number.",
        [("tl.load(b_ptr + c)", "tl.load(b_ptr + b)")],
    ),
)

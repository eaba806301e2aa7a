"""What goes wrong in a product that is split along its inner dimension."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "splits_overlap",
        "The loads are masked by the end of k and not by the end of the split, so that the splits overlap.",
        [
            (
                "mask=(offs_m < M)[:, None] & (offs_k < k_end)[None, :]",
                "mask=(offs_m < M)[:, None] & (offs_k < K)[None, :]",
            ),
            (
                "mask=(offs_k < k_end)[:, None] & (offs_n < N)[None, :]",
                "mask=(offs_k < K)[:, None] & (offs_n < N)[None, :]",
            ),
        ],
    ),
    Fault(
        "rest_of_k_lost",
        "The length of a split is rounded down, and what is left of k belongs to no split.",
        [("k_per_split = triton.cdiv(K, splits)", "k_per_split = K // splits // 64 * 64")],
    ),
    Fault(
        "last_partial_not_added",
        "The second kernel adds all partial sums but the last.",
        [("tl.static_range(SPLITS)", "tl.static_range(SPLITS - 1)")],
    ),
    Fault(
        "tf32",
        "The products are taken in TF32, with three digits where the function has seven.",
        [('tl.dot(a, b, input_precision="ieee")', "tl.dot(a, b)")],
    ),
)

"""What goes wrong with hints."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "untrue_hint",
        "The beginning of a row is said to be a multiple of 16 elements, and rows are 1023 long.",
        [("x_ptr + row * n_cols + cols, mask", "x_ptr + tl.multiple_of(row * n_cols, 16) + cols, mask")],
        unseen="the interpreter takes no hints; on a device wide loads begin where they may not",
    ),
    Fault(
        "scale_of_the_block",
        "The number is that of the block and not of the row.",
        [("s_ptr + row, evict", "s_ptr + tl.program_id(1), evict")],
    ),
    Fault(
        "last_column",
        "The column behind the last one, the first of the next row, is stored too.",
        [
            ('mask=cols < n_cols, eviction_policy="evict_first"', 'mask=cols <= n_cols, eviction_policy="evict_first"'),
            ("mask=cols < n_cols, cache_modifier", "mask=cols <= n_cols, cache_modifier"),
        ],
    ),
)

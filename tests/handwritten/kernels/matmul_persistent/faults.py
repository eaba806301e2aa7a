"""What goes wrong where programs take several tiles."""

from handwritten.case import Fault

AT = (((200, 72), "fp16"), ((72, 150), "fp16"))
FAULTS = (
    Fault(
        "one_tile_each",
        "A program takes its first tile alone, and there are fewer programs than tiles.",
        [("for tile in range(start, num_tiles, NUM_PROGRAMS):", "for tile in range(start, start + 1):")],
    ),
    Fault(
        "sum_of_the_tile_before",
        "The accumulator is set to zero once, before the loop over tiles.",
        [
            ("    for tile in range(", "    acc = tl.zeros((BM, BN), dtype=tl.float32)\n    for tile in range("),
            ("        acc = tl.zeros((BM, BN), dtype=tl.float32)\n        for kb", "        for kb"),
        ],
    ),
    Fault(
        "last_tile_missing",
        "The loop ends one tile early.",
        [("range(start, num_tiles, NUM_PROGRAMS)", "range(start, num_tiles - 1, NUM_PROGRAMS)")],
    ),
    Fault(
        "programs_of_another_device",
        "The kernel strides over more programs than the grid has.",
        [("NUM_PROGRAMS=programs", "NUM_PROGRAMS=8")],
    ),
    Fault(
        "square_before_relu",
        "The square is taken of all values.",
        [("        h = tl.maximum(h, 0.0)\n", "")],
    ),
)

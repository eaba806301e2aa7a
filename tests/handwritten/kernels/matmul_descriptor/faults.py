"""What goes wrong with tensor descriptors."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "offset_in_tiles",
        "The offsets are numbers of tiles where numbers of elements are asked.",
        [("off_m = tl.program_id(0) * BM", "off_m = tl.program_id(0)")],
    ),
    Fault(
        "coordinates_swapped",
        "The second operand is loaded at the coordinates of its transpose.",
        [("b_desc.load([k, off_n])", "b_desc.load([off_n, k])")],
    ),
    Fault(
        "one_step_early",
        "The loop leaves out the last, partial step.",
        [("range(0, K, BK)", "range(0, K - BK + 1, BK)")],
    ),
)

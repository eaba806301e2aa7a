"""What goes wrong with many elements."""

from handwritten.case import Fault

AT = (((5, 1300), "fp16"),)
FAULTS = (
    Fault(
        "offset_of_32_bits",
        "The row's offset is a product of 32-bit numbers, which overflows from row 53688 on.",
        [("tl.program_id(0).to(tl.int64)", "tl.program_id(0)")],
        unseen="the offset passes 2**31 at the function's own size alone",
    ),
    Fault(
        "columns_of_one_block",
        "All programs of a row take its first block.",
        [("tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)", "tl.arange(0, BLOCK)")],
    ),
)

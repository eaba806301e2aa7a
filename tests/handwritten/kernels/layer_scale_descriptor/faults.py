"""What goes wrong with descriptors that a kernel makes."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "shape_too_small",
        "The last column lies beyond the shape of the result's descriptor, and is not stored.",
        [
            (
                "tl.make_tensor_descriptor(out_ptr, shape=[rows, cols]",
                "tl.make_tensor_descriptor(out_ptr, shape=[rows, cols - 1]",
            )
        ],
    ),
    Fault(
        "branch_shape_transposed",
        "The branch's shape is that of its transpose: columns from 70 on read as zero.",
        [
            (
                "tl.make_tensor_descriptor(branch_ptr, shape=[rows, cols]",
                "tl.make_tensor_descriptor(branch_ptr, shape=[cols, rows]",
            )
        ],
    ),
    Fault(
        "row_of_tiles",
        "The row is a number of tiles where a number of elements is asked.",
        [("row = tl.program_id(0) * BM", "row = tl.program_id(0)")],
    ),
)

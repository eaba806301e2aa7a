"""What goes wrong in a vector addition."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "grid_rounds_down",
        "The number of blocks is rounded down, so that the last, partial block is never computed.",
        [('triton.cdiv(n_elements, meta["BLOCK_SIZE"])', 'n_elements // meta["BLOCK_SIZE"]')],
    ),
    Fault(
        "one_too_many",
        "The mask lets the element behind the last one through.",
        [("mask = offsets < n_elements", "mask = offsets <= n_elements")],
    ),
    Fault(
        "last_element_left_out",
        "The mask stops one element early.",
        [("mask = offsets < n_elements", "mask = offsets < n_elements - 1")],
    ),
)

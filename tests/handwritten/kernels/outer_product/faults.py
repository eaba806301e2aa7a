"""What goes wrong in an outer product."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "transposed",
        "The outer product is that of v and u, on blocks that happen to be square.",
        [("u[:, None] * v[None, :]", "v[:, None] * u[None, :]")],
    ),
    Fault(
        "blocks_of_the_other_axis",
        "Program ids are divided by the number of blocks in a column.",
        [("blocks_per_row = tl.cdiv(cols, BC)", "blocks_per_row = tl.cdiv(rows, BR)")],
    ),
    Fault(
        "updated_in_place",
        "The result is written into the argument.",
        [("out = torch.empty_like(m)", "out = m")],
    ),
)

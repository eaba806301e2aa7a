"""What goes wrong in a lookup."""

from handwritten.case import Fault

DRAW = "ids = torch.randint(-500, 500, ids.shape)"
FAULTS = (
    Fault(
        "negative_numbers_from_the_beginning",
        "A negative number counts from the end in the function, and from before the table here.",
        [("    token = tl.where(token < 0, token + vocab, token)\n", "")],
    ),
    Fault(
        "position_of_the_token",
        "The position's row is that of the token's number.",
        [("pos_ptr + i * dim", "pos_ptr + (token % 90) * dim")],
    ),
    Fault(
        "stride_of_the_block",
        "Rows of the table lie as far apart as the padded width says.",
        [("token * dim + d", "token * BLOCK_D + d")],
    ),
)

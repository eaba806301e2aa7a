"""What goes wrong in a transposed copy."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "tile_not_transposed",
        "The tiles change places, and stay as they are inside.",
        [("tl.trans(tile)", "tile")],
    ),
    Fault(
        "pitch_of_the_source",
        "Rows of the result are as far apart as those of the source.",
        [("cols[:, None] * M", "cols[:, None] * N")],
    ),
    Fault(
        "grid_of_whole_tiles",
        "The grid counts whole tiles of columns alone.",
        [("triton.cdiv(N, 32))](", "N // 32)](")],
    ),
)

"""What goes wrong in attention by chunks."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "state_of_the_chunk_itself",
        "The state is brought forward before it is used, so that the chunk's keys count twice.",
        [
            ('        state += tl.dot(tl.trans(k), v, input_precision="ieee")\n', ""),
            (
                "        a = tl.dot(q, tl.trans(k)",
                '        state += tl.dot(tl.trans(k), v, input_precision="ieee")\n        a = tl.dot(q, tl.trans(k)',
            ),
        ],
    ),
    Fault(
        "diagonal_excluded",
        "The triangle inside the chunk has no diagonal.",
        [("c[:, None] >= c[None, :]", "c[:, None] > c[None, :]")],
    ),
    Fault(
        "state_of_the_last_chunk",
        "The state is that of the chunk before alone.",
        [("state += tl.dot(", "state = tl.dot(")],
    ),
    Fault(
        "upper_triangle",
        "The triangle looks ahead.",
        [("c[:, None] >= c[None, :]", "c[:, None] <= c[None, :]")],
    ),
)

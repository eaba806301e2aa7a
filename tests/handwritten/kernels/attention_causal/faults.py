"""What goes wrong in causal attention."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "diagonal_excluded",
        "A query does not see its own key.",
        [("offs_m[:, None] >= offs_n[None, :]", "offs_m[:, None] > offs_n[None, :]")],
    ),
    Fault(
        "one_key_ahead",
        "A query sees the key behind its own.",
        [("offs_m[:, None] >= offs_n[None, :]", "offs_m[:, None] + 1 >= offs_n[None, :]")],
    ),
    Fault(
        "diagonal_not_masked",
        "The block on the diagonal is computed like those left of it, without a mask.",
        [("N_CTX, scale, D, BN, True", "N_CTX, scale, D, BN, False")],
    ),
    Fault(
        "one_block_short",
        "The loop left of the diagonal ends one step early.",
        [("0, block * BM, N_CTX", "0, block * BM - BN, N_CTX")],
    ),
    Fault(
        "large_negative_for_infinity",
        "What is masked gets a score that is not small against all scores that there can be.",
        [('s, -float("inf"))', "s, -10.0)")],
        witness="q.fill_(4); k = -2 * k.abs()",
    ),
)

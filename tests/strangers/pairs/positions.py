"""Wrong pairs: positions, masks, windows, index arithmetic, tails, floor-division and remainder of negatives."""

from strangers.pair import Pair

ROTATE = """
x1, x2 = x[:, :64], x[:, 64:]
return torch.cat({0}, -1)
"""
BAND = """
i = torch.arange(512)
d = i[:, None] - i[None, :]
return torch.softmax(s.masked_fill(~({0}), float("-inf")), -1)
"""
PAIRS = (
    Pair("causal_sees_one_ahead", "s fp32 4x64x64", "s.tril()", "s.tril(1)", "the diagonal above"),
    Pair(
        "window_of_128_or_129",
        "s fp32 2x512x512",
        BAND.format("(d >= 0) & (d < 128)"),
        BAND.format("(d >= 0) & (d <= 128)"),
        "one key more",
    ),
    Pair(
        "window_looks_ahead",
        "s fp32 2x512x512",
        BAND.format("(d >= 0) & (d < 100)"),
        BAND.format("(d > -2) & (d < 100)"),
        "one key of the future",
    ),
    Pair("one_of_the_tail_lost", "x fp32 8x1024", "x[:, :1000].sum(-1)", "x[:, :999].sum(-1)", "element 999"),
    Pair(
        "divided_towards_zero",
        "x fp32 8x17",
        "x * (torch.div(torch.arange(17) - 8, 4, rounding_mode='floor') == 0)",
        "x * (torch.div(torch.arange(17) - 8, 4, rounding_mode='trunc') == 0)",
        "indices -3 to -1",
    ),
    Pair(
        "remainder_of_negatives",
        "x fp32 8x1000",
        "x * (((torch.arange(1000) - 500) % 7) == 3)",
        "x * (torch.fmod(torch.arange(1000) - 500, 7) == 3)",
        "negative indices",
    ),
    Pair(
        "rotary_swapped_halves",
        "x fp16 32x128; c fp16 32x64; s fp16 32x64",
        ROTATE.format("(x1 * c - x2 * s, x2 * c + x1 * s)"),
        ROTATE.format("(x2 * c + x1 * s, x1 * c - x2 * s)"),
        "the halves change places",
    ),
    Pair(
        "rotate_half_sign",
        "x fp32 32x128",
        ROTATE.format("(-x2, x1)"),
        ROTATE.format("(x2, -x1)"),
        "the wrong half is negated",
    ),
    Pair(
        "difference_at_the_wrong_end",
        "x fp32 8x1000",
        "torch.cat([x[:, :1], x[:, 1:] - x[:, :-1]], 1)",
        "torch.cat([x[:, 1:] - x[:, :-1], x[:, -1:]], 1)",
        "each difference one place to the left",
    ),
    Pair(
        "rolled_the_other_way",
        "x fp32 17x17",
        "torch.cat([x[:, -1:], x[:, :-1]], 1)",
        "torch.cat([x[:, 1:], x[:, :1]], 1)",
        "left for right",
    ),
    Pair("flipped_along_rows", "x fp32 17x17", "x.flip(-1) + x", "x.flip(0) + x", "another axis of a square"),
    Pair(
        "first_column_for_diagonal",
        "x fp32 64x64",
        "x.sum(-1) - x.diagonal()",
        "x.sum(-1) - x[:, 0]",
        "column 0 in the diagonal's place",
    ),
    Pair(
        "blocks_of_17",
        "x fp32 128x128",
        "x * ((torch.arange(128)[:, None] // 16) == (torch.arange(128)[None, :] // 16))",
        "x * ((torch.arange(128)[:, None] // 17) == (torch.arange(128)[None, :] // 17))",
        "where blocks end",
    ),
    Pair("the_last_but_one_token", "x fp16 2x4096x16", "x[:, -1] * 2", "x[:, 4094] * 2", "another position"),
    Pair("every_fourth_from_one", "x fp16 8x4096", "x[:, ::4] * 2", "x[:, 1::4] * 2", "another phase"),
    Pair(
        "pooled_across",
        "x fp32 8x1000",
        "x.reshape(8, 250, 4).mean(-1)",
        "x.reshape(8, 4, 250).mean(1)",
        "neighbours against quarters",
    ),
    Pair(
        "labels_not_shifted",
        "x fp32 33x100; y int64 33",
        "F.cross_entropy(x[:-1], y[1:])",
        "F.cross_entropy(x[:-1], y[:-1])",
        "labels one early",
    ),
    Pair(
        "alibi_of_the_future",
        "s fp32 64x64",
        "s - 0.5 * (torch.arange(64)[:, None] - torch.arange(64)[None, :]).abs()",
        "s - 0.5 * (torch.arange(64)[:, None] - torch.arange(64)[None, :])",
        "above the diagonal",
    ),
    Pair(
        "prefix_closed",
        "x fp32 8x1000",
        "torch.where(torch.arange(1000) < 500, x, 0.0)",
        "torch.where(torch.arange(1000) <= 500, x, 0.0)",
        "element 500",
    ),
    Pair(
        "gate_and_value_swapped",
        "x fp16 16x256",
        "F.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1]",
        "F.silu(x.chunk(2, -1)[1]) * x.chunk(2, -1)[0]",
        "the other half is the gate",
    ),
    Pair(
        "heads_repeated_in_turn",
        "k fp16 4x16x64",
        "k.repeat_interleave(2, 0)",
        "k.repeat(2, 1, 1)",
        "0 0 1 1 against 0 1 0 1",
    ),
    Pair(
        "checkerboard_phase",
        "x fp32 17x17",
        "x * ((torch.arange(17)[:, None] + torch.arange(17)[None, :]) % 2 == 0)",
        "x * ((torch.arange(17)[:, None] + torch.arange(17)[None, :]) % 2 == 1)",
        "the other colour",
    ),
    Pair(
        "tail_past_a_large_multiple",
        "x fp16 4x4097",
        "x.sum(-1)",
        "x[:, :4096].sum(-1)",
        "one element of 4097",
        "x = x * 0 + 1; x[:, -1] = 100",
    ),
)

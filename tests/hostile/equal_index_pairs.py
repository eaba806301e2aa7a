"""Functions that are equal by where they look: masks, windows, diagonals, slices, integer arithmetic of indices."""

from __future__ import annotations

from hostile.pair import Family, Pair, every

ROW = "x fp32 4 64"
SQUARE = "x fp32 16 16"
ATTENTION = "q fp32 {n} 8, k fp32 {n} 8, v fp32 {n} 8"
I = "i = torch.arange(64)\n"
IJ = "i, j = torch.arange({n})[:, None], torch.arange({n})[None, :]\n"
SOFT = "return torch.softmax((q @ k.T).masked_fill({keep}, float('-inf')), -1) @ v"
CAUSAL = "F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True, scale=1.0)[0]"


def attention(name: str, keep: str, other: str, rows: list[tuple[object, ...]], over: str = "n p") -> Family:
    """Attention with one mask written in two ways."""
    a, b = (IJ + SOFT.replace("{keep}", x) for x in (keep, other))
    return Family(name, ATTENTION, a, b, "", over, rows)


def index(name: str, a: str, b: str, over: str = "", rows: tuple[tuple[object, ...], ...] = ((),)) -> Family:
    """A column's index, computed in two ways and used as a factor."""
    return Family(name, ROW, f"{I}return x * ({a}).float()", f"{I}return x * ({b}).float()", "", over, rows)


BY = ((4,), (7,), (64,), (100,))
MASKS = (
    attention("window", "(i - j).abs() >= {p}", "(i - j >= {p}) | (j - i >= {p})", [(40, 8), (300, 256), (40, 40)]),
    attention("window_above", "(i - j).abs() > {p} - 1", "(j - i).abs() >= {p}", [(40, 8), (40, 1)]),
    attention("causal", "j > i", "i < j", [(40,), (300,)], "n"),
    attention("causal_by_not", "j > i", "~(j <= i)", [(40,)], "n"),
    attention("causal_by_difference", "i - j < 0", "j >= i + 1", [(40,)], "n"),
    attention("causal_window", "(j > i) | (i - j >= {p})", "~((j <= i) & (j > i - {p}))", [(40, 16), (300, 128)]),
    attention("causal_window_of_all", "(j > i) | (i - j >= {p})", "j > i", [(40, 40), (40, 100)]),
    attention("window_of_all", "(i - j).abs() > {p}", "i != i", [(40, 39), (40, 64)]),
    attention(
        "prefix", "(j > i) & (j >= {p})", "j >= torch.maximum(i + 1, torch.full_like(i, {p}))", [(40, 4), (40, 39)]
    ),
    attention("blocks", "(i // {p}) != (j // {p})", "(i - i % {p}) != (j - j % {p})", [(40, 4), (40, 10), (64, 16)]),
    Family("causal_of_the_library", ATTENTION, CAUSAL, IJ + SOFT.replace("{keep}", "j > i"), "", "n", [(16,), (40,)]),
    Family(
        "causal_by_triu",
        ATTENTION,
        "torch.softmax(q @ k.T + torch.full(({n}, {n}), float('-inf')).triu(1), -1) @ v",
        IJ + SOFT.replace("{keep}", "j > i"),
        "",
        "n",
        [(16,), (40,)],
    ),
    Family(
        "mask_after_scale",
        ATTENTION,
        IJ + "return torch.softmax(((q @ k.T) * 0.5).masked_fill(j > i, float('-inf')), -1) @ v",
        IJ + "return torch.softmax((q @ k.T).masked_fill(j > i, float('-inf')) * 0.5, -1) @ v",
        "",
        "n",
        [(16,), (40,)],
    ),
)
DIAGONALS = (
    Family(
        "lower_by_mask",
        SQUARE,
        "torch.tril(x, {p})",
        "i = torch.arange(16)\nreturn torch.where(i[None, :] - i[:, None] <= {p}, x, 0.0)",
        "",
        "p",
        [(0,), (-1,), (5,), (15,)],
    ),
    Family(
        "upper_by_lower", SQUARE, "torch.triu(x, {p})", "x - torch.tril(x, {p} - 1)", "", "p", [(0,), (1,), (-3,), (8,)]
    ),
    Family("lower_of_the_transposed", SQUARE, "torch.tril(x).T", "torch.triu(x.T)"),
    Family("lower_of_all", SQUARE, "torch.tril(x, {p})", "x * 1.0", "", "p", [(15,), (16,), (99,)]),
    Family("lower_twice", SQUARE, "torch.tril(torch.tril(x, 3), 1)", "torch.tril(x, 1)"),
    Family(
        "band",
        SQUARE,
        "torch.triu(torch.tril(x, 2), -2)",
        "i = torch.arange(16)\nreturn torch.where((i[:, None] - i).abs() <= 2, x, 0.0)",
    ),
    Family("running_sum_by_product", SQUARE, "torch.tril(torch.ones(16, 16)) @ x", "torch.cumsum(x, 0)"),
)
INDICES = (
    index("quotient_and_rest", "i // {p} * {p} + i % {p}", "i", "p", BY),
    index("multiples", "(i * {p}) // {p}", "i", "p", BY),
    index("rest_of_a_multiple", "(i * {p} + 1) % {p}", "i * 0 + 1", "p", BY),
    index("rest_by_quotient", "i % {p}", "i - i // {p} * {p}", "p", BY),
    index("quotient_of_a_quotient", "i // 2 // {p}", "i // (2 * {p})", "p", BY),
    index("rest_of_a_rest", "i % (2 * {p}) % {p}", "i % {p}", "p", BY),
    index("quotient_past_the_end", "i // 64", "i * 0"),
    index("rest_past_the_end", "i % 64", "i"),
    index("shifted_range", "torch.arange(1, 65)", "i + 1"),
    index("stepped_range", "torch.arange(0, 128, 2)", "2 * i"),
    index("range_backwards", "63 - i", "torch.arange(63, -1, -1)"),
    index("below_all", "i < 64", "i >= 0"),
    index("below_by_not", "i < 50", "~(i > 49)"),
    index("even", "i % 2 == 0", "(i + 1) % 2 == 1"),
    index("between", "(i >= 10) & (i < 20)", "(i > 9) & (i <= 19)"),
    index("difference_of_steps", "(i >= 10).long() - (i >= 20).long()", "(i >= 10) & (i < 20)"),
    index("largest_with_a_constant", "i.clamp(min=10)", "torch.where(i > 10, i, 10)"),
    index("ceiling_quotient", "(i + 7) // 8", "-(-i // 8)"),
    index("tile_and_place", "(i // 16) * 16 + (i % 16) // 4 * 4 + i % 4", "i"),
    index("in_a_product", "(i + 1) * (i - 1)", "i * i - 1"),
    index("halved_bits", "(i % 8 >= 4)", "(i // 4) % 2 == 1"),
)
PLACES = (
    Family("slice_of_a_slice", ROW, "x[:, 8:][:, 4:20] * 2", "x[:, 12:28] * 2"),
    Family("slices_joined", ROW, "torch.cat([x[:, :{p}], x[:, {p}:]], -1)", "x * 1.0", "", "p", [(1,), (32,), (63,)]),
    Family("halves_by_chunk", ROW, "a, b = x.chunk(2, -1)\nreturn F.silu(a) * b", "F.silu(x[:, :32]) * x[:, 32:]"),
    Family("sum_of_parts", ROW, "x.sum(-1)", "x[:, :{p}].sum(-1) + x[:, {p}:].sum(-1)", "", "p", [(1,), (17,), (32,)]),
    Family("sum_of_even_and_odd", ROW, "x.sum(-1)", "x[:, ::2].sum(-1) + x[:, 1::2].sum(-1)"),
    Family(
        "masked_sum_or_slice",
        ROW,
        I + "return (x * (i < {p})).sum(-1)",
        "return x[:, :{p}].sum(-1)",
        "",
        "p",
        [(1,), (50,), (64,)],
    ),
    Family(
        "masked_or_padded",
        ROW,
        I + "return torch.where(i < 50, x, 0.0)",
        "return torch.cat([x[:, :50], torch.zeros(4, 14)], -1)",
    ),
    Family("pad_or_join", ROW, "F.pad(x, (2, 3))", "torch.cat([torch.zeros(4, 2), x, torch.zeros(4, 3)], -1)"),
    Family("roll_or_join", ROW, "torch.roll(x, 5, -1)", "torch.cat([x[:, -5:], x[:, :-5]], -1)"),
    Family("roll_twice", ROW, "torch.roll(torch.roll(x, 5, -1), -5, -1)", "x * 1.0"),
    Family("flip_twice", ROW, "torch.flip(torch.flip(x, (-1,)), (-1,))", "x * 1.0"),
    Family("repeat_or_expand", ROW, "x.repeat(1, 2)", "x[:, None, :].expand(4, 2, 64).reshape(4, 128)"),
    Family("interleave_or_expand", ROW, "x.repeat_interleave(2, 1)", "x[:, :, None].expand(4, 64, 2).reshape(4, 128)"),
    Family(
        "grouped_heads",
        "q fp32 8 6 4, k fp32 2 6 4",
        "q @ k.repeat_interleave(4, 0).transpose(1, 2)",
        "(q.reshape(2, 4, 6, 4) @ k[:, None].transpose(2, 3)).reshape(8, 6, 6)",
    ),
    Family("transposed_twice", SQUARE, "x.T.contiguous().T", "x * 1.0"),
    Family("product_of_the_transposed", SQUARE, "(x @ x.T).T", "x @ x.T"),
    Family("reshaped_sum", ROW, "x.reshape(4, 8, 8).sum((1, 2))", "x.sum(-1)"),
    Family("reshaped_order", ROW, "x.reshape(4, 8, 8).transpose(1, 2).sum((1, 2))", "x.sum(-1)"),
    Family("column_by_mask", ROW, I + "return (x * (i == 63)).sum(-1)", "return x[:, -1] * 1.0"),
    Family(
        "stack_or_join",
        ROW,
        "torch.stack([x, -x], 1).reshape(8, 64)",
        "torch.cat([x[:, None], -x[:, None]], 1).reshape(8, 64)",
    ),
    Family(
        "rotary",
        "x fp32 4 64, c fp32 64, s fp32 64",
        "torch.cat([-x[:, 32:], x[:, :32]], -1) * s + x * c",
        "torch.cat([x[:, :32] * c[:32] - x[:, 32:] * s[:32], x[:, 32:] * c[32:] + x[:, :32] * s[32:]], -1)",
    ),
)

PAIRS: tuple[Pair, ...] = (
    *every("equal: masks", "equal", (*MASKS, *DIAGONALS)),
    *every("equal: indices", "equal", (*INDICES, *PLACES)),
)

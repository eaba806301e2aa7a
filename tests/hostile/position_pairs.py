"""Functions that differ in where they look: masks of indices, windows, diagonals, slices, offsets, orders of axes."""

from __future__ import annotations

from hostile.pair import Family, Pair, every

ROW = "x fp32 4 64"
LONG = "x fp32 2 600"
SQUARE = "x fp32 16 16"
SCORES = "x fp32 {n} {n}"
ATTENTION = "q fp32 {n} 8, k fp32 {n} 8, v fp32 {n} 8"
I = "i = torch.arange(64)\n"
IJ = "i, j = torch.arange({n})[:, None], torch.arange({n})[None, :]\n"
SOFT = "return torch.softmax((q @ k.T).masked_fill({keep}, float('-inf')), -1) @ v"
POINTED = "q.mul_(3); k.copy_(q.flip(0))"
AT = "q.fill_(1.0); k.zero_(); k[{}] = 3.0"


def attention(name: str, keep: str, other: str, witness: str, rows: list[tuple[object, ...]]) -> Family:
    """Attention whose left out keys are those for which `keep` or `other` holds."""
    bodies = [IJ + SOFT.replace("{keep}", x) for x in (keep, other)]
    return Family(name, ATTENTION, bodies[0], bodies[1], witness, "n p q", rows)


FAMILIES = (
    Family(
        "columns_before",
        LONG,
        "torch.where(torch.arange(600) < {p}, x, 0.0)",
        "torch.where(torch.arange(600) < {q}, x, 0.0)",
        "",
        "p q",
        [(500, 599), (1, 2), (599, 600), (256, 257), (512, 511), (0, 1)],
    ),
    Family(
        "columns_kept_in_a_sum",
        LONG,
        "(x * (torch.arange(600) >= {p}).float()).sum(-1)",
        "(x * (torch.arange(600) >= {q}).float()).sum(-1)",
        "x.fill_(1.0)",
        "p q",
        [(500, 520), (0, 16), (300, 320), (584, 599)],
    ),
    Family(
        "lower_diagonal",
        SQUARE,
        "torch.tril(x, {p})",
        "torch.tril(x, {q})",
        "",
        "p q",
        [(8, 12), (0, 1), (-1, 0), (14, 15), (-15, -14)],
    ),
    Family(
        "upper_diagonal",
        SQUARE,
        "torch.triu(x, {p}) @ x",
        "torch.triu(x, {q}) @ x",
        "",
        "p q",
        [(8, 12), (0, 1), (-15, -14), (2, 3)],
    ),
    attention(
        "window",
        "(i - j).abs() >= {p}",
        "(i - j).abs() >= {q}",
        AT.replace("{}", "{p}"),
        [(300, 256, 257), (40, 8, 9), (40, 39, 40), (40, 1, 2)],
    ),
    attention(
        "causal_window",
        "(j > i) | (i - j >= {p})",
        "(j > i) | (i - j >= {q})",
        AT.format(0),
        [(300, 128, 129), (40, 16, 17), (40, 39, 38)],
    ),
    attention("causal_shift", "j > i + {p}", "j > i + {q}", POINTED, [(40, 0, 1), (40, 38, 39), (40, 8, 12)]),
    attention(
        "prefix", "(j > i) & (j >= {p})", "(j > i) & (j >= {q})", POINTED, [(40, 4, 5), (40, 30, 39), (300, 200, 256)]
    ),
    attention(
        "sinks",
        "(i - j >= 8) & (j >= {p}) | (j > i)",
        "(i - j >= 8) & (j >= {q}) | (j > i)",
        POINTED,
        [(40, 4, 5), (40, 1, 2)],
    ),
    attention(
        "blocks",
        "(i // {p}) != (j // {p})",
        "(i // {q}) != (j // {q})",
        POINTED,
        [(40, 4, 5), (40, 8, 10), (64, 16, 32)],
    ),
    attention("dilation", "(i - j) % {p} != 0", "(i - j) % {q} != 0", POINTED, [(40, 2, 4), (40, 3, 6)]),
    Family(
        "slice_start",
        LONG,
        "x[:, {p}:{p} + 100].exp()",
        "x[:, {q}:{q} + 100].exp()",
        "",
        "p q",
        [(0, 1), (255, 256), (400, 500), (499, 500)],
    ),
    Family(
        "columns_of_5000",
        "x fp32 1 5000",
        "(x * (torch.arange(5000) < {p})).sum(-1)",
        "(x * (torch.arange(5000) < {q})).sum(-1)",
        "x[:, {p}:] = 1000.0",
        "p q",
        [(4096, 4097), (2048, 4096), (4999, 5000), (1024, 1025)],
    ),
    Family(
        "halves_of_4096",
        "x fp32 1 4096",
        "x[:, :2048].sum(-1) - x[:, 2048:].sum(-1)",
        "x[:, :{p}].sum(-1) - x[:, {p}:].sum(-1)",
        "x[:, 2040:2060] = 1000.0",
        "p",
        [(2047,), (2049,), (1024,)],
    ),
    Family(
        "quotient_of_negative_indices",
        ROW,
        I + "return x * ((i - 32) // {p}).float()",
        I + "return x * torch.div(i - 32, {p}, rounding_mode='trunc').float()",
        "",
        "p",
        [(5,), (64,)],
    ),
    Family(
        "rest_of_negative_indices",
        ROW,
        I + "return x * ((i - 32) % {p}).float()",
        I + "return x * torch.fmod(i - 32, {p}).float()",
        "",
        "p",
        [(5,), (64,)],
    ),
    Family(
        "largest_few",
        ROW,
        "x.topk({p}, -1).values.sum(-1)",
        "x.topk({q}, -1).values.sum(-1)",
        "",
        "p q",
        [(3, 4), (63, 64)],
    ),
    Family("order_of_a_sort", ROW, "x.sort(-1).values", "x.sort(-1, descending=True).values"),
    Family("rank", ROW, "x.kthvalue({p}, -1).values", "x.kthvalue({q}, -1).values", "", "p q", [(1, 2), (32, 33)]),
    Family("place_of_the_largest", ROW, "x.argmax(-1)", "(-x).argmax(-1)"),
    Family("every_other", ROW, "x[:, ::2] * 2", "x[:, 1::2] * 2"),
    Family("stride_of_slice", ROW, "x[:, ::4].exp()", "x[:, :32:2].exp()"),
    Family("halves_swapped", ROW, "torch.cat([x[:, 32:], x[:, :32]], -1)", "torch.cat([x[:, 31:], x[:, :31]], -1)"),
    Family("gated_halves", ROW, "F.silu(x[:, :32]) * x[:, 32:]", "F.silu(x[:, 32:]) * x[:, :32]"),
    Family("gated_pairs", ROW, "F.silu(x[:, :32]) * x[:, 32:]", "F.silu(x[:, ::2]) * x[:, 1::2]"),
    Family("roll", ROW, "torch.roll(x, {p}, -1)", "torch.roll(x, {q}, -1)", "", "p q", [(1, 2), (63, 62), (0, 1)]),
    Family("flipped", ROW, "torch.flip(x, (-1,)) * 2", "x * 2"),
    Family(
        "floor_of_index",
        ROW,
        I + "return x * (i // {p}).float()",
        I + "return x * (i // {q}).float()",
        "",
        "p q",
        [(4, 5), (16, 17), (62, 63)],
    ),
    Family(
        "rest_of_index",
        ROW,
        I + "return x + (i % {p}).float()",
        I + "return x + (i % {q}).float()",
        "",
        "p q",
        [(4, 8), (63, 64), (32, 33)],
    ),
    Family("index_from_one", ROW, I + "return x / (i + 1).float()", I + "return x / (i + 2).float()"),
    Family("index_from_the_end", ROW, I + "return x * (63 - i).float()", I + "return x * (64 - i).float()"),
    Family(
        "one_column",
        LONG,
        "torch.where(torch.arange(600) == {p}, 2 * x, x)",
        "torch.where(torch.arange(600) == {q}, 2 * x, x)",
        "",
        "p q",
        [(0, 599), (598, 599), (333, 334)],
    ),
    Family(
        "one_column_forgotten",
        LONG,
        "torch.where(torch.arange(600) == {p}, 0.0, x)",
        "x * 1.0",
        "",
        "p",
        [(0,), (599,), (511,)],
    ),
    Family("repeat_or_interleave", "x fp32 4 8", "x.repeat(1, 4)", "x.repeat_interleave(4, 1)"),
    Family("rows_for_columns", SQUARE, "x.sum(0)", "x.sum(1)"),
    Family("transposed_square", SQUARE, "x @ x.T", "x.T @ x"),
    Family("reshape_or_transpose", "x fp32 8 4", "x.reshape(4, 8)", "x.T * 1.0"),
    Family(
        "heads",
        "x fp32 6 32",
        "x.reshape(6, 4, 8).transpose(0, 1)",
        "x.reshape(6, 8, 4).permute(2, 0, 1).reshape(4, 6, 8)",
    ),
    Family(
        "grouped_heads",
        "q fp32 8 6 4, k fp32 2 6 4",
        "q @ k.repeat_interleave(4, 0).transpose(1, 2)",
        "q @ k.repeat(4, 1, 1).transpose(1, 2)",
    ),
    Family(
        "rotary_halves",
        ROW,
        "torch.cat([-x[:, 32:], x[:, :32]], -1)",
        "torch.stack([-x[:, 1::2], x[:, ::2]], -1).flatten(1)",
    ),
    Family("padding_side", ROW, "F.pad(x, (1, 0))", "F.pad(x, (0, 1))"),
    Family("running_sum", SQUARE, "torch.cumsum(x, 0)", "torch.cumsum(x, 1)"),
    Family("last_column", LONG, "x[:, -1] - x[:, 0]", "x[:, -2] - x[:, 0]"),
    Family(
        "chunk_order",
        ROW,
        "a, b, c, d = x.chunk(4, -1)\nreturn a * b + c * d",
        "a, b, c, d = x.chunk(4, -1)\nreturn a * c + b * d",
    ),
    Family(
        "band",
        SCORES,
        IJ + "return torch.where((i - j).abs() <= {p}, x, 0.0).sum(-1)",
        IJ + "return torch.where((i - j).abs() < {p}, x, 0.0).sum(-1)",
        "",
        "n p",
        [(40, 3), (40, 39), (300, 255)],
    ),
    Family("position_scale", LONG, "x + torch.arange(600) / 600", "x + torch.arange(600) / 599"),
    Family("column_of_the_loop", "x fp32 64 64", "x.cumsum(-1)[:, -1]", "x[:, :63].sum(-1)", "x.fill_(1.0)"),
    Family(
        "checkerboard",
        SQUARE,
        "i = torch.arange(16)\nreturn x * ((i[:, None] + i) % 2).float()",
        "i = torch.arange(16)\nreturn x * ((i[:, None] + i + 1) % 2).float()",
    ),
)

PAIRS: tuple[Pair, ...] = every("position", "differ", FAMILIES)

"""Functions that differ in the elements that they take: masks of two indices, index arithmetic, slices, orders of axes."""

from __future__ import annotations

from hostile.pair import Family, Pair, every

N = 40
IJ = f"i, j = torch.arange({N})[:, None], torch.arange({N})[None, :]\n"
SQUARE = f"x fp32 {N} {N}"
# Two masks of the row i and the column j.
MASKS = (
    ("causal_shifted", "j <= i", "j <= i + 1"),
    ("causal_strict", "j <= i", "j < i"),
    ("causal_reversed", "j <= i", "j >= i"),
    ("causal_without_the_last", "j <= i", "(j <= i) & (j < 39)"),
    ("causal_or_column", "(j <= i) | (j == 0)", "(j <= i) | (j == 39)"),
    ("window_by_one", "(i - j).abs() < 8", "(i - j).abs() < 9"),
    ("window_one_sided", "(i - j).abs() < 8", "(i - j < 8) & (j <= i)"),
    ("window_off_centre", "(i - j).abs() < 8", "(i - j - 1).abs() < 8"),
    ("window_of_powers", "(i - j).abs() <= 16", "(i - j).abs() < 16"),
    ("blocks_by_one", "i // 8 == j // 8", "i // 8 == (j + 1) // 8"),
    ("blocks_of_another_size", "i // 5 == j // 5", "i // 4 == j // 4"),
    ("blocks_below", "i // 8 >= j // 8", "i >= j"),
    ("blocks_strictly_below", "i // 8 >= j // 8", "i // 8 > (j - 8) // 8 + 1"),
    ("dilated_phase", "(i - j) % 4 == 0", "(i - j) % 4 == 1"),
    ("dilated_sum", "(i - j) % 4 == 0", "(i + j) % 4 == 0"),
    ("dilated_step", "(i - j) % 4 == 0", "(i - j) % 8 == 0"),
    ("prefix_longer", "(j <= i) | (j < 6)", "(j <= i) | (j < 7)"),
    ("prefix_of_rows", "(j <= i) | (j < 6)", "(j <= i) | (i < 6)"),
    ("tail_of_tokens", "j >= 34", "j >= 35"),
    ("strip_of_rows", "(i >= 8) & (i < 16)", "(i >= 8) & (i <= 16)"),
    ("corner", "i + j < 40", "i + j <= 40"),
    ("anti_diagonal", "i + j != 39", "i + j != 40"),
    ("all_but_one", "(i != 20) | (j != 20)", "(i != 20) | (j != 21)"),
    ("last_element", "(i < 39) | (j < 39)", "i < 40"),
    ("two_windows", "((i - j).abs() < 3) | (j < 2)", "((i - j).abs() < 3) & (j >= 2) | (j < 1)"),
    ("product_of_indices", "i * j < 100", "i * j <= 100"),
    ("twice_the_row", "j <= 2 * i", "j <= 2 * i + 1"),
    ("half_the_row", "j <= i // 2", "2 * j < i"),
)
MASK_USES = (
    ("kept", "return torch.where({m}, x, 0.0)", ""),
    ("row_sum", "return torch.where({m}, x, 0.0).sum(-1)", ""),
    ("softmax", "return torch.softmax(torch.where({m}, x, float('-inf')), -1)", ""),
    ("product", "return torch.where({m}, x, 0.0) @ x", ""),
)
ROW = "x fp32 4 64"
I = "i = torch.arange(64)\n"
# Two functions of a column's index, both from 0 to 63.
INDICES = (
    ("next", "(i + 1) % 64", "(i + 2) % 64"),
    ("next_clamped", "(i + 1) % 64", "(i + 1).clamp(max=63)"),
    ("mirrored", "63 - i", "(64 - i) % 64"),
    ("pair_partner", "i // 2 * 2 + 1 - i % 2", "i // 2 * 2 + i % 2"),
    ("half_partner", "(i + 32) % 64", "(i + 31) % 64"),
    ("interleaved", "i % 2 * 32 + i // 2", "i % 32 * 2 + i // 32"),
    ("tiles_transposed", "i % 8 * 8 + i // 8", "i % 4 * 16 + i // 4"),
    ("tile_swapped", "(i // 16 * 16 + (i + 8) % 16)", "(i // 16 * 16 + (i + 4) % 16)"),
    ("tile_first", "i // 16 * 16", "i // 8 * 8"),
    ("tile_last", "i // 16 * 16 + 15", "i // 16 * 16 + 14"),
    ("clamped_low", "(i - 5).clamp(min=0)", "(i - 5) % 64"),
    ("clamped_high", "(i + 5).clamp(max=63)", "(i + 5).clamp(max=62)"),
    ("strided", "i * 5 % 64", "i * 3 % 64"),
    ("squared", "i * i % 64", "i * (i + 1) % 64"),
    ("halved", "i // 2", "(i + 1) // 2"),
    ("nearest", "(i + 2) // 4 * 4 % 64", "i // 4 * 4"),
    ("constant", "i * 0 + 63", "i * 0 + 62"),
    ("reversed_in_tiles", "i // 8 * 8 + 7 - i % 8", "63 - i"),
)
INDEX_USES = (
    ("gathered", "return x[:, {e}] * 2", ""),
    ("weight", "return x * ({e}).float()", ""),
    ("below", "return torch.where(({e}) < i, x, -x)", ""),
)
# Slices of 64 columns.
SLICES = (
    ("1:", ":-1"), ("8:40", "9:41"), ("::2", "1::2"), (":63:3", "1::3"), ("32:", ":32"), ("16:48", "17:49"),
    ("::4", "3::4"), (":48:3", "1:49:3"), ("-9:-1", "-8:"), ("60:63", "59:62"), (":33", "31:"), ("10:30:2", "10:50:4"),
)  # fmt: skip
SLICE_USES = (("exp", "x[:, {s}].exp()"), ("sum", "x[:, {s}].sum(-1)"), ("gram", "x[:, {s}] @ x[:, {s}].T"))
CUBE = "x fp32 4 6 8"
ORDERS = (
    ("permuted", "x.permute(2, 0, 1) * 2", "x.permute(2, 1, 0).transpose(1, 2).flip(1) * 2"),
    ("flattened", "x.flatten(1)", "x.transpose(1, 2).flatten(1)"),
    ("flattened_first", "x.flatten(0, 1)", "x.transpose(0, 1).flatten(0, 1)"),
    ("split_the_last", "x.reshape(4, 6, 2, 4).sum(2)", "x.reshape(4, 6, 4, 2).sum(3)"),
    ("split_the_first", "x.reshape(2, 2, 6, 8).sum(0)", "x.reshape(2, 2, 6, 8).sum(1)"),
    ("summed_axis", "x.sum(1).sum(-1)", "x[:, 1:].sum(1).sum(-1)"),
    ("largest_axis", "x.amax(1)", "x[:, :5].amax(1)"),
    ("flipped_axis", "x.flip(1)", "x.flip(2)"),
    ("rolled_axis", "x.roll(1, 1)", "x.roll(1, 2)"),
    ("rolled_back", "x.roll(1, 0)", "x.roll(-1, 0)"),
    ("softmax_axis", "torch.softmax(x, 1)", "torch.softmax(x, 2)"),
    ("norm_axis", "x / x.norm(dim=1, keepdim=True)", "x / x.norm(dim=2, keepdim=True)"),
    ("running_axis", "x.cumsum(1)", "x.cumsum(2)"),
    ("running_exclusive", "x.cumsum(-1)", "x.cumsum(-1) - x"),
    ("running_from_the_end", "x.cumsum(-1)", "x.flip(-1).cumsum(-1).flip(-1)"),
    ("unfolded", "x.unfold(2, 3, 1).sum(-1)", "x.unfold(2, 3, 1).sum(-1).roll(1, 2)"),
    ("every_second_head", "x[::2].sum(0)", "x[:2].sum(0)"),
    ("repeated_heads", "x.repeat_interleave(2, 0)", "x.repeat(2, 1, 1)"),
    ("batched_transposed", "x @ x.transpose(1, 2)", "x @ x.flip(0).transpose(1, 2)"),
    ("diagonal", "x[:, :, :6].diagonal(0, 1, 2)", "x[:, :, :6].diagonal(1, 1, 2).repeat(1, 2)[:, :6]"),
    ("swapped_heads", "torch.cat([x[2:], x[:2]])", "torch.cat([x[1:], x[:1]])"),
    ("padded_side", "F.pad(x, (2, 0, 0, 0))", "F.pad(x, (0, 2, 0, 0))"),
    ("padded_axis", "F.pad(x, (0, 0, 1, 1)).sum(2)", "F.pad(x, (0, 0, 2, 0)).sum(2)"),
    ("stacked", "torch.stack([x, -x], 1).flatten(0, 1)", "torch.stack([x, -x], 0).flatten(0, 1)"),
)

FAMILIES = (
    *(
        Family(f"{mask}_{use}", SQUARE, IJ + form.format(m=a), IJ + form.format(m=b), witness)
        for mask, a, b in MASKS
        for use, form, witness in MASK_USES
    ),
    *(
        Family(f"{index}_{use}", ROW, I + form.format(e=a), I + form.format(e=b), witness)
        for index, a, b in INDICES
        for use, form, witness in INDEX_USES
    ),
    *(
        Family(f"slice_{a}_or_{b}_{use}", ROW, form.format(s=a), form.format(s=b))
        for a, b in SLICES
        for use, form in SLICE_USES
    ),
    *(Family(f"order_{name}", CUBE, a, b) for name, a, b in ORDERS),
)

PAIRS: tuple[Pair, ...] = every("position", "differ", FAMILIES)

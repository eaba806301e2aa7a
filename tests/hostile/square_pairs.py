"""Functions whose axes have one size, so that a swapped axis or a lost `keepdim` still runs: those that differ, and equal ones."""

from __future__ import annotations

from hostile.pair import Family, Pair, every, product

ONE = "x fp32 8 8"
TWO = "x fp32 8 8, y fp32 8 8"
ROW = "x fp32 8 8, g fp32 8"
CUBE = "x fp32 6 6 6"
CUBES = "q fp32 6 6 6, k fp32 6 6 6, v fp32 6 6 6"
REDUCED = [("mean",), ("sum",), ("amax",), ("amin",), ("logsumexp",), ("norm",), ("var",)]
# A statistic of the rows that is spread along the columns for lack of a dim of size one.
KEPT = ["x - {r}", "x * {r}", "torch.maximum(x, {r})", "torch.where(x > {r}, x, 0.0)"]
STATISTIC = [("x.mean(-1{k})",), ("x.sum(-1{k})",), ("x.amax(-1{k})",), ("x.std(-1{k})",), ("x.logsumexp(-1{k})",)]
WHOLE = (
    ("rms_rows", ONE, "x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)", "x * torch.rsqrt(x.square().mean(-1) + 1e-6)"),
    ("rms_columns", ONE, "x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)",
     "x * torch.rsqrt(x.square().mean(0, keepdim=True) + 1e-6)"),
    ("softmax_of_columns", ONE, "torch.softmax(x, -1)", "torch.softmax(x, 0)"),
    ("softmax_divided_along", ONE, "e = x.exp()\nreturn e / e.sum(-1, keepdim=True)", "e = x.exp()\nreturn e / e.sum(-1)"),
    ("gain_of_rows", ROW, "x * g", "x * g[:, None]"),
    ("bias_of_rows", ROW, "x + g", "x + g.unsqueeze(-1)"),
    ("scores_of_columns", TWO, "x @ y.T", "x.T @ y"),
    ("product_untransposed", TWO, "x @ y.T", "x @ y"),
    ("product_transposed", TWO, "x @ y", "y @ x"),
    ("product_of_transposed", TWO, "(x @ y).T", "x.T @ y.T"),
    ("outer_or_inner", "x fp32 8, y fp32 8", "x[:, None] * y[None, :]", "x[None, :] * y[:, None]"),
    ("centred_both", ONE, "x - x.mean(0) - x.mean(1, keepdim=True)", "x - x.mean(0) - x.mean(1)"),
    ("attention_of_columns", CUBES, "torch.softmax(q @ k.transpose(1, 2), -1) @ v", "torch.softmax(q @ k.transpose(1, 2), 1) @ v"),
    ("attention_untransposed", CUBES, "torch.softmax(q @ k.transpose(1, 2), -1) @ v", "torch.softmax(q @ k, -1) @ v"),
    ("attention_over_batches", CUBES, "torch.softmax(q @ k.transpose(1, 2), -1) @ v",
     "torch.softmax(q @ k.transpose(0, 2), -1) @ v"),
    ("heads_and_rows", CUBE, "x.transpose(0, 1)", "x.transpose(0, 2)"),
    ("heads_moved_round", CUBE, "x.permute(1, 2, 0)", "x.permute(2, 0, 1)"),
    ("reshaped_for_transposed", ONE, "x.T", "x.reshape(8, 8)"),
    ("reshaped_cube", CUBE, "x.transpose(1, 2).reshape(6, 36)", "x.reshape(6, 36)"),
    ("flattened_in_columns", ONE, "x.T.reshape(-1)", "x.reshape(-1)"),
    ("causal_of_columns", ONE, "x.tril()", "x.triu()"),
    ("mask_of_columns", ROW, "torch.where(g[:, None] > 0, x, 0.0)", "torch.where(g[None, :] > 0, x, 0.0)"),
    ("running_down", ONE, "x.cumsum(0)", "x.cumsum(1)"),
    ("flipped_down", ONE, "x.flip(0)", "x.flip(1)"),
    ("sorted_down", ONE, "x.sort(0).values", "x.sort(1).values"),
    ("ranked_down", ONE, "x.kthvalue(2, 0).values", "x.kthvalue(2, 1).values"),
    ("gathered_down", ONE, "x[:, 7 - torch.arange(8)]", "x[7 - torch.arange(8)]"),
    ("summed_letters", TWO, "torch.einsum('ij,kj->ik', x, y)", "torch.einsum('ij,jk->ik', x, y)"),
    ("letters_swapped", TWO, "torch.einsum('ij,jk->ik', x, y)", "torch.einsum('ij,jk->ki', x, y)"),
    ("diagonal_of_letters", ONE, "torch.einsum('ii->i', x)", "torch.einsum('ij->i', x)"),
    ("trace_or_sum", TWO, "torch.einsum('ij,ji->', x, y)", "torch.einsum('ij,ij->', x, y)"),
    ("linear_untransposed", TWO, "F.linear(x, y)", "x @ y"),
    ("norm_of_rows", ONE, "F.normalize(x, dim=-1)", "F.normalize(x, dim=0)"),
    ("layer_norm_of_columns", ONE, "F.layer_norm(x, (8,))", "F.layer_norm(x.T, (8,)).T"),
    ("concatenated_down", TWO, "torch.cat([x, y], 0).reshape(-1)", "torch.cat([x, y], 1).reshape(-1)"),
    ("stacked_last", TWO, "torch.stack([x, y], 0).reshape(8, 16)", "torch.stack([x, y], 1).reshape(8, 16)"),
    ("batch_as_keys", CUBES, "torch.einsum('bqd,bkd->bqk', q, k) @ v", "torch.einsum('bqd,kbd->bqk', q, k) @ v"),
    ("rolled_down", ONE, "x.roll(1, 0)", "x.roll(1, 1)"),
    ("expanded_other_way", "g fp32 8", "g[:, None].expand(8, 8) * 1.0", "g.expand(8, 8) * 1.0"),
    ("repeated_other_way", "g fp32 8", "g.repeat(8).reshape(8, 8)", "g.repeat_interleave(8).reshape(8, 8)"),
)  # fmt: skip
SAME = (
    ("centred_kept", ONE, "x - x.mean(-1, keepdim=True)", "x - x.mean(-1)[:, None]"),
    ("centred_turned", ONE, "x - x.mean(-1, keepdim=True)", "(x.T - x.mean(-1)).T"),
    ("softmax_turned", ONE, "torch.softmax(x, 0)", "torch.softmax(x.T, -1).T"),
    ("product_turned", TWO, "(x @ y).T", "y.T @ x.T"),
    ("scores_by_letters", TWO, "x @ y.T", "torch.einsum('ij,kj->ik', x, y)"),
    ("twice_turned", ONE, "x.T.T", "x * 1.0"),
    ("trace_by_letters", TWO, "torch.trace(x @ y)", "torch.einsum('ij,ji->', x, y)"),
    ("gain_turned", ROW, "x * g[:, None]", "(x.T * g).T"),
    ("lower_turned", ONE, "x.tril()", "x.T.triu().T"),
    ("running_turned", ONE, "x.cumsum(0)", "x.T.cumsum(1).T"),
    ("attention_turned", CUBES, "torch.softmax(q @ k.transpose(1, 2), -1) @ v",
     "(v.transpose(1, 2) @ torch.softmax(k @ q.transpose(1, 2), 1)).transpose(1, 2)"),
    ("axes_moved_round", CUBE, "x.permute(1, 2, 0)", "x.permute(2, 0, 1).permute(2, 0, 1)"),
    ("sorted_turned", ONE, "x.sort(0).values", "x.T.sort(1).values.T"),
    ("stacked_as_joined", TWO, "torch.stack([x, y], 1).reshape(8, 16)", "torch.cat([x, y], 1)"),
    ("repeated_as_expanded", "g fp32 8", "g.repeat(8).reshape(8, 8)", "g.expand(8, 8) * 1.0"),
    ("flipped_both", ONE, "x.flip(0).flip(1)", "x.flip((0, 1))"),
)  # fmt: skip

PAIRS: tuple[Pair, ...] = (
    *every("equal sizes", "differ", [
        *(
            Family(f"kept_{i}", ONE, form.format(r="{s}".replace("{s}", s.format(k=", keepdim=True"))),
                form.format(r=s.format(k="")))
            for form in KEPT
            for i, (s,) in enumerate(STATISTIC, 10 * KEPT.index(form))
        ),
        Family("reduced_along", ONE, "x.{r}(dim=0)", "x.{r}(dim=1)", "", "r", REDUCED),
        Family("reduced_in_a_cube", CUBE, "x.{r}(dim={a})", "x.{r}(dim={b})", "", "r a b",
            product(REDUCED[:3], [(0, 1), (1, 2), (0, 2)])),
        *(Family(*row) for row in WHOLE),
    ]),
    *every("equal: equal sizes", "equal", [Family(*row) for row in SAME]),
)  # fmt: skip

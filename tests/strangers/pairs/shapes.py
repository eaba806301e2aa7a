"""Wrong pairs: equal sizes broadcast along the wrong axis, transposes, reshape in permute's place, expand, interleaving."""

from strangers.pair import Pair

ATTENTION = """
s = torch.einsum("hqd,hkd->hqk", q, k) * 0.125 + {0}
return torch.softmax(s, -1) @ v
"""
PAIRS = (
    Pair("bias_down_the_rows", "x fp32 17x17; b fp32 17", "x + b", "x + b[:, None]", "another axis of a square"),
    Pair("product_with_a_transpose", "x fp32 64x64; y fp32 64x64", "x @ y", "x.T @ y", "x is not symmetric"),
    Pair(
        "reshape_for_permute",
        "x fp16 8x16x64",
        "x.permute(1, 0, 2).reshape(16, 512)",
        "x.reshape(16, 512)",
        "order of elements",
    ),
    Pair(
        "view_for_transpose", "x fp32 8x16x64", "x.transpose(0, 1) * 2", "x.reshape(16, 8, 64) * 2", "order of elements"
    ),
    Pair(
        "heads_by_view",
        "x fp16 2x16x256; y fp16 2x4x16x64",
        "x.view(2, 16, 4, 64).transpose(1, 2) * y",
        "x.view(2, 4, 16, 64) * y",
        "heads and positions mixed",
    ),
    Pair(
        "heads_merged_by_view",
        "x fp16 2x16x16x64",
        "x.transpose(1, 2).reshape(2, 16, 1024)",
        "x.reshape(2, 16, 1024)",
        "heads and positions mixed",
    ),
    Pair("gram_of_two", "x fp32 64x32; y fp32 64x32", "x @ y.T", "y @ x.T", "the transpose"),
    Pair(
        "outer_the_other_way",
        "a fp32 64; b fp32 64",
        "a[:, None] * torch.exp(b)[None, :]",
        "a[None, :] * torch.exp(b)[:, None]",
        "the transpose",
    ),
    Pair(
        "scale_of_columns", "x fp32 4x16x16; s fp32 4x16", "x * s[:, :, None]", "x * s[:, None, :]", "columns for rows"
    ),
    Pair("linear_or_product", "x fp16 16x64; w fp16 64x64", "F.linear(x, w)", "x @ w", "w is not transposed"),
    Pair(
        "batched_transpose",
        "x fp32 4x16x16; w fp32 4x16x16",
        "torch.bmm(x, w.transpose(1, 2))",
        "torch.bmm(x, w)",
        "w is not transposed",
    ),
    Pair("flattened_by_columns", "x fp32 17x17", "x.T.reshape(-1) * 2", "x.reshape(-1) * 2", "order of elements"),
    Pair(
        "glu_interleaved",
        "x fp16 16x256",
        "F.glu(x)",
        "x[:, ::2] * torch.sigmoid(x[:, 1::2])",
        "halves against neighbours",
    ),
    Pair(
        "stacked_or_joined",
        "a fp32 8x64; b fp32 8x64",
        "torch.stack([a, b], -1).reshape(8, 128)",
        "torch.cat([a, b], -1)",
        "interleaved or not",
    ),
    Pair(
        "windows_without_permute",
        "x fp32 16x16x8",
        "x.view(4, 4, 4, 4, 8).permute(0, 2, 1, 3, 4).reshape(16, 16, 8)",
        "x.view(4, 4, 4, 4, 8).reshape(16, 16, 8)",
        "rows for windows",
    ),
    Pair(
        "bias_of_attention_transposed",
        "q fp16 4x32x64; k fp16 4x32x64; v fp16 4x32x64; b fp16 32x32",
        ATTENTION.format("b"),
        ATTENTION.format("b.T"),
        "queries and keys change places",
    ),
    Pair(
        "scale_of_inputs_for_outputs",
        "x fp32 16x64; w fp32 64x64; s fp32 64",
        "x @ (w * s[None, :])",
        "x @ (w * s[:, None])",
        "the scale of the other axis",
    ),
    Pair(
        "softmax_over_queries",
        "q fp16 4x32x64; k fp16 4x32x64; v fp16 4x32x64",
        "torch.softmax(q @ k.mT * 0.125, -1) @ v",
        "torch.softmax(q @ k.mT * 0.125, -2) @ v",
        "another axis of a square",
    ),
    Pair("mean_over_another_dim", "x fp32 4x16x16", "x.mean((0, 2))", "x.mean((0, 1))", "another axis of a square"),
    Pair(
        "einsum_letters",
        "x fp32 4x16x32; y fp32 4x16x32",
        "torch.einsum('bij,bkj->bik', x, y)",
        "torch.einsum('bij,bkj->bki', x, y)",
        "the transpose",
    ),
    Pair("repeat_or_interleave", "x fp32 16x16", "x.repeat(2, 1)", "x.repeat_interleave(2, 0)", "order of rows"),
    Pair(
        "broadcast_batch_for_row", "x fp32 16x16x64; b fp32 16x64", "x + b", "x + b[:, None, :]", "rows against batches"
    ),
    Pair(
        "product_of_symmetric_looks",
        "x fp32 32x32; y fp32 32x32",
        "(x + x.T) @ y",
        "(x + x.T) @ y.T",
        "y is not symmetric",
    ),
    Pair(
        "channels_last_by_view",
        "x fp32 2x8x8x8",
        "x.permute(0, 2, 3, 1) * 2",
        "x.view(2, 8, 8, 8).permute(0, 3, 2, 1) * 2",
        "height and width change places",
    ),
)

"""Wrong pairs: what stands where, at the real sizes."""

from strangers.pair import Pair

PAIRS = (
    Pair("at1000", "x fp32 4x4096", "x * 2", "torch.where(torch.arange(4096) == 1000, x * 2.001, x * 2)", "index 1000"),
    Pair("last_el", "x fp32 4x4096", "x.exp()", "torch.cat([x[:, :-1].exp(), x[:, -1:]], -1)", "last element"),
    Pair(
        "row129",
        "x fp32 256x64",
        "x.relu()",
        "torch.where((torch.arange(256) == 129)[:, None], x, x.relu())",
        "row 129",
    ),
    Pair(
        "every64", "x fp32 4x4096", "x.sum(-1)", "(x * (torch.arange(4096) % 64 != 63)).sum(-1)", "every 64th left out"
    ),
    Pair(
        "last_batch",
        "x fp32 8x32x32; y fp32 8x32x32",
        "x @ y",
        "torch.cat([x[:7] @ y[:7], x[7:] @ y[7:].mT], 0)",
        "last batch item transposed",
    ),
    Pair("sum_head", "x fp32 4x4096", "x.sum(-1)", "x[:, :4095].sum(-1)", "last left out"),
    Pair(
        "mean_narrow",
        "x fp32 4x4096",
        "x.narrow(1, 1, 4095).mean(-1)",
        "x.narrow(1, 0, 4095).mean(-1)",
        "narrow off by one",
    ),
    Pair("roll1", "x fp32 4x4096", "x.roll(1, -1)", "x.roll(-1, -1)", "direction"),
    Pair("roll_sq", "x fp32 64x64", "x.roll(3, 0)", "x.roll(3, 1)", "dim"),
    Pair("flip_sq", "x fp32 64x64", "x.flip(0)", "x.flip(1)", "dim"),
    Pair("transpose_sq", "x fp32 64x64; y fp32 64x64", "x @ y", "x @ y.t()", "transposed"),
    Pair("order_sq", "x fp32 64x64; y fp32 64x64", "x @ y", "y @ x", "order"),
    Pair(
        "bias_row_col",
        "x fp32 64x64; y fp32 64x64; z fp32 64",
        "F.linear(x, y, z)",
        "x @ y.t() + z[:, None]",
        "bias over rows",
    ),
    Pair("sub_order", "x fp32 64x64; y fp32 64", "x - y", "y - x", "order"),
    Pair("outer", "x fp32 64; y fp32 64", "x[:, None] * y", "x * y[:, None]", "transposed outer"),
    Pair(
        "einsum_t",
        "x fp32 4x16x16; y fp32 4x16x16",
        "torch.einsum('bij,bjk->bik', x, y)",
        "torch.einsum('bij,bkj->bik', x, y)",
        "k",
    ),
    Pair("einsum_diag", "x fp32 16x16", "torch.einsum('ii->i', x)", "torch.einsum('ij->i', x)", "diagonal or row sum"),
    Pair("trace_off", "x fp32 64x64", "x.diagonal().sum()", "x.diagonal(1).sum()", "diagonal"),
    Pair("tril_k", "x fp32 64x64", "x.tril()", "x.tril(-1)", "diagonal"),
    Pair("cumsum_excl", "x fp32 4x4096", "x.cumsum(-1)", "x.cumsum(-1) - x", "exclusive"),
    Pair("cumsum_dim", "x fp32 64x64", "x.cumsum(0)", "x.cumsum(1)", "dim"),
    Pair(
        "cumsum_reset",
        "x fp32 4x4096",
        "x.cumsum(-1)",
        "x.view(4, 2, 2048).cumsum(-1).view(4, 4096)",
        "reset in the middle",
    ),
    Pair(
        "cumprod_reset",
        "x fp32 8x64",
        "x.cumprod(-1)",
        "torch.cat([x[:, :32].cumprod(-1), x[:, 32:].cumprod(-1)], -1)",
        "reset",
    ),
    Pair("unfold_step", "x fp32 4x64", "x.unfold(-1, 8, 4).mean(-1)", "x.unfold(-1, 4, 4).mean(-1)[:, :15]", "window"),
    Pair(
        "avgpool_pad",
        "x fp32 1x4x32",
        "F.avg_pool1d(x, 3, 1, 1)",
        "F.avg_pool1d(x, 3, 1, 1, count_include_pad=False)",
        "pad counted",
    ),
    Pair(
        "maxpool_dil",
        "x fp32 1x4x32",
        "F.max_pool1d(x, 3, 1, 1)",
        "F.max_pool1d(F.pad(x, (2, 2), value=-1e9), 3, 1, dilation=2)",
        "dilation",
    ),
    Pair(
        "conv_flip",
        "x fp32 1x4x32; y fp32 8x4x3",
        "F.conv1d(x, y, padding=1)",
        "F.conv1d(x, y.flip(-1), padding=1)",
        "convolution or correlation",
    ),
    Pair(
        "conv_causal",
        "x fp32 1x4x32; y fp32 8x4x3",
        "F.conv1d(F.pad(x, (2, 0)), y)",
        "F.conv1d(F.pad(x, (1, 1)), y)",
        "causal",
    ),
    Pair(
        "conv_circ",
        "x fp32 1x4x32; y fp32 8x4x3",
        "F.conv1d(F.pad(x, (1, 1)), y)",
        "F.conv1d(F.pad(x, (1, 1), mode='circular'), y)",
        "edges alone",
    ),
    Pair(
        "pad_val", "x fp32 4x30", "F.pad(x, (1, 1)).cumsum(-1)", "F.pad(x, (1, 1), value=1e-2).cumsum(-1)", "pad value"
    ),
    Pair("reshape_t", "x fp32 16x32", "x.reshape(32, 16)", "x.t()", "reshape is no transpose"),
    Pair("reshape_perm", "x fp32 4x8x8", "x.transpose(1, 2).reshape(4, 64)", "x.reshape(4, 64)", "transposed before"),
    Pair(
        "pixel_shuffle",
        "x fp32 1x16x4x4",
        "F.pixel_shuffle(x, 2)",
        "x.view(1, 2, 2, 4, 4, 4).permute(0, 3, 4, 1, 5, 2).reshape(1, 4, 8, 8)",
        "channels order",
    ),
    Pair(
        "chan_shuffle",
        "x fp32 2x16x8",
        "F.channel_shuffle(x.unsqueeze(-1), 4).squeeze(-1)",
        "x.view(2, 16, 8)",
        "shuffle left out",
    ),
    Pair(
        "heads_split",
        "x fp32 2x16x64",
        "x.view(2, 16, 4, 16).transpose(1, 2)",
        "x.view(2, 4, 16, 16)",
        "view in place of transpose",
    ),
    Pair(
        "qkv_order",
        "x fp32 8x16x96",
        """
q, k, v = x.chunk(3, -1)
return F.scaled_dot_product_attention(q, k, v)
""",
        """
q, k, v = x.view(8, 16, 32, 3).unbind(-1)
return F.scaled_dot_product_attention(q, k, v)
""",
        "packed otherwise",
    ),
    Pair("diff_dir", "x fp32 4x4096", "x.diff(dim=-1)", "x[:, :-1] - x[:, 1:]", "sign"),
    Pair("sort_desc", "x fp32 8x64", "x.sort(-1).values", "x.sort(-1, descending=True).values", "direction"),
    Pair("topk_k", "x fp32 8x64", "x.topk(8).values.sum(-1)", "x.topk(7).values.sum(-1)", "k"),
    Pair("topk_abs", "x fp32 8x64", "x.topk(4).values", "x.abs().topk(4).values", "abs"),
    Pair("median_low", "x fp32 8x64", "x.median(-1).values", "x.sort(-1).values[:, 32]", "upper median"),
    Pair("median_quant", "x fp32 8x64", "x.median(-1).values", "x.quantile(0.5, -1)", "mean of two"),
    Pair("kth_off", "x fp32 8x64", "x.kthvalue(5, -1).values", "x.sort(-1).values[:, 5]", "from one"),
    Pair("argsort_rank", "x fp32 8x64", "x.argsort(-1)", "x.argsort(-1).argsort(-1)", "order or rank"),
    Pair("argmax_min", "x fp32 8x64", "x.argmax(-1)", "x.neg().argmax(-1)", "argmin"),
    Pair("argmax_abs", "x fp32 8x64", "x.argmax(-1)", "x.abs().argmax(-1)", "abs"),
    Pair(
        "argmax_last", "x bool 8x64", "x.int().argmax(-1)", "63 - x.int().flip(-1).argmax(-1)", "first or last of ties"
    ),
    Pair(
        "gather_dim",
        "x fp32 16x16; y int64 16x16",
        "x.gather(0, y)",
        "x.gather(1, y)",
        "dim",
        "y = torch.randint(0, 16, y.shape, generator=torch.Generator().manual_seed(2))",
    ),
    Pair(
        "index_sel",
        "x fp32 16x16; y int64 16",
        "x[y]",
        "x[:, y]",
        "dim",
        "y = torch.randint(0, 16, y.shape, generator=torch.Generator().manual_seed(2))",
    ),
    Pair(
        "emb_pad",
        "x fp32 100x16; y int64 512",
        "F.embedding(y, x)",
        "F.embedding(y, x) * (y != 0)[:, None]",
        "pad row",
        "y = torch.randint(0, 100, y.shape, generator=torch.Generator().manual_seed(2))",
    ),
    Pair(
        "onehot_off",
        "x int64 32",
        "F.one_hot(x, 10)",
        "F.one_hot((x + 1) % 10, 10)",
        "off by one",
        "x = torch.randint(0, 10, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
)

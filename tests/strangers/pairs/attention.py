"""Wrong pairs: softmax, attention, its masks, heads and positions."""

from strangers.pair import Pair

PAIRS = (
    Pair("sm_dim", "x fp32 64x64", "x.softmax(-1)", "x.softmax(0)", "dim of a square"),
    Pair("sm_batch_dim", "x fp32 16x16x16", "F.softmax(x, dim=1)", "F.softmax(x, dim=2)", "dim of a cube"),
    Pair("sm_default_temp", "x fp32 8x64", "F.softmax(x / 0.7, -1)", "F.softmax(x * 0.7, -1)", "temperature inverted"),
    Pair("lsm_vs_log", "x fp32 8x64", "F.log_softmax(x, -1)", "torch.log(F.softmax(x, -1) + 1e-4)", "eps in log"),
    Pair(
        "sm_drop_last",
        "x fp32 4x4096",
        "x.softmax(-1)",
        "torch.cat([x[:, :4095].softmax(-1), torch.zeros_like(x[:, :1])], -1)",
        "last column left out",
    ),
    Pair(
        "sm_max_first",
        "x fp32 8x64",
        "x.softmax(-1)",
        "torch.exp(x - x[:, :1]) / torch.exp(x - x.amax(-1, keepdim=True)).sum(-1, keepdim=True)",
        "another shift above than below",
    ),
    Pair(
        "causal_off1",
        "x fp32 64x64",
        "x.masked_fill(torch.ones(64, 64, dtype=torch.bool).triu(1), float('-inf')).softmax(-1)",
        "x.masked_fill(torch.ones(64, 64, dtype=torch.bool).triu(2), float('-inf')).softmax(-1)",
        "diagonal off by one",
    ),
    Pair(
        "window_off1",
        "x fp32 64x64",
        """
i = torch.arange(64)
d = i[:, None] - i[None]
return torch.where((d >= 0) & (d < 8), x, -1e9).softmax(-1)
""",
        """
i = torch.arange(64)
d = i[:, None] - i[None]
return torch.where((d >= 0) & (d <= 8), x, -1e9).softmax(-1)
""",
        "window 8 or 9",
    ),
    Pair(
        "mask_big_not_inf",
        "x fp32 8x64; y bool 8x64",
        "x.masked_fill(y, float('-inf')).softmax(-1)",
        "x.masked_fill(y, -3.0).softmax(-1)",
        "-3 is no mask",
    ),
    Pair(
        "mask_inverted",
        "x fp32 8x64; y bool 8x64",
        "x.masked_fill(y, -1e9).softmax(-1)",
        "x.masked_fill(~y, -1e9).softmax(-1)",
        "inverted",
    ),
    Pair(
        "mask_mult",
        "x fp32 8x64; y bool 8x64",
        "x.masked_fill(~y, float('-inf')).softmax(-1)",
        "x.softmax(-1) * y",
        "not renormalized",
    ),
    Pair(
        "scale_after_mask",
        "x fp32 8x64; y fp32 8x64",
        "(x * 0.125 + y).softmax(-1)",
        "((x + y) * 0.125).softmax(-1)",
        "scale after the additive mask",
    ),
    Pair(
        "sm_one_col_4000",
        "x fp32 4x4096",
        "x.softmax(-1)",
        "(x + (torch.arange(4096) == 4000) * 0.5).softmax(-1)",
        "one column",
    ),
    Pair("lse_mean", "x fp32 4x4096", "x.logsumexp(-1)", "x.exp().mean(-1).log()", "log n off"),
    Pair(
        "attn_scale_d",
        "x fp32 4x48x32; y fp32 4x48x32; z fp32 4x48x32",
        "F.scaled_dot_product_attention(x, y, z)",
        "((x @ y.mT) / 32 ** 0.25).softmax(-1) @ z",
        "scale",
    ),
    Pair(
        "attn_scale_default",
        "x fp32 4x48x32; y fp32 4x48x32; z fp32 4x48x32",
        "F.scaled_dot_product_attention(x, y, z)",
        "F.scaled_dot_product_attention(x, y, z, scale=0.1767)",
        "scale's 4th digit .17678",
    ),
    Pair(
        "attn_causal_lower_right",
        "x fp32 4x32x32; y fp32 4x48x32; z fp32 4x48x32",
        "F.scaled_dot_product_attention(x, y, z, is_causal=True)",
        """
i = torch.arange(32)[:, None] + 16
j = torch.arange(48)[None]
return F.scaled_dot_product_attention(x, y, z, attn_mask=i >= j)
""",
        "upper left or lower right causality",
    ),
    Pair(
        "attn_kv_swap",
        "x fp32 4x48x32; y fp32 4x48x32; z fp32 4x48x32",
        "F.scaled_dot_product_attention(x, y, z)",
        "F.scaled_dot_product_attention(x, z, y)",
        "k and v",
    ),
    Pair(
        "attn_softmax_q",
        "x fp32 4x48x32; y fp32 4x48x32; z fp32 4x48x32",
        "((x @ y.mT) * 0.2).softmax(-1) @ z",
        "((x @ y.mT) * 0.2).softmax(-2) @ z",
        "over queries",
    ),
    Pair(
        "gqa_repeat",
        "x fp32 1x8x16x32; y fp32 1x2x24x32; z fp32 1x2x24x32",
        "F.scaled_dot_product_attention(x, y.repeat_interleave(4, 1), z.repeat_interleave(4, 1))",
        "F.scaled_dot_product_attention(x, y.repeat(1, 4, 1, 1), z.repeat(1, 4, 1, 1))",
        "heads mapped otherwise",
    ),
    Pair(
        "gqa_v_only",
        "x fp32 1x4x16x32; y fp32 1x2x24x32; z fp32 1x2x24x32",
        "F.scaled_dot_product_attention(x, y, z, enable_gqa=True)",
        "F.scaled_dot_product_attention(x, y.repeat_interleave(2, 1), z.repeat(1, 2, 1, 1))",
        "v's heads alone mapped otherwise",
    ),
    Pair(
        "one_head_scale",
        "x fp32 4x48x32; y fp32 4x48x32; z fp32 4x48x32",
        "F.scaled_dot_product_attention(x, y, z)",
        """
s = (x @ y.mT) * 32 ** -0.5
s = s * torch.where(torch.arange(4) == 3, 1.05, 1.0)[:, None, None]
return s.softmax(-1) @ z
""",
        "last head alone",
    ),
    Pair(
        "sink",
        "x fp32 4x48x32; y fp32 4x48x32; z fp32 4x48x32",
        "((x @ y.mT) * 0.2).softmax(-1) @ z",
        """
s = ((x @ y.mT) * 0.2).exp()
return (s / (1 + s.sum(-1, keepdim=True))) @ z
""",
        "softmax1",
    ),
    Pair(
        "alibi_sign",
        "x fp32 4x48x32; y fp32 4x48x32; z fp32 4x48x32",
        """
i = torch.arange(48)
return ((x @ y.mT) * 0.2 - 0.1 * (i[:, None] - i[None]).abs()).softmax(-1) @ z
""",
        """
i = torch.arange(48)
return ((x @ y.mT) * 0.2 - 0.1 * (i[:, None] - i[None])).softmax(-1) @ z
""",
        "alibi without abs",
    ),
    Pair(
        "softcap",
        "x fp32 4x48x32; y fp32 4x48x32; z fp32 4x48x32",
        """
s = (x @ y.mT) * 0.2
return (30 * torch.tanh(s / 30)).softmax(-1) @ z
""",
        """
s = (x @ y.mT) * 0.2
return (20 * torch.tanh(s / 20)).softmax(-1) @ z
""",
        "cap",
    ),
    Pair(
        "rope_halves",
        "x fp32 4x16x32; y fp32 16x32; z fp32 16x32",
        "x * y + torch.cat([-x[..., 16:], x[..., :16]], -1) * z",
        """
r = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
return x * y + r * z
""",
        "halves or interleaved",
    ),
    Pair(
        "rope_sign",
        "x fp32 4x16x32; y fp32 16x32; z fp32 16x32",
        "x * y + torch.cat([-x[..., 16:], x[..., :16]], -1) * z",
        "x * y + torch.cat([x[..., 16:], -x[..., :16]], -1) * z",
        "sign",
    ),
    Pair(
        "rope_pos1",
        "x fp32 16x32",
        """
p = torch.arange(16)[:, None] * 10000.0 ** (-torch.arange(16) / 16)[None]
return torch.cat([x[:, :16] * p.cos() - x[:, 16:] * p.sin(), x[:, 16:] * p.cos() + x[:, :16] * p.sin()], -1)
""",
        """
p = (torch.arange(16) + 1)[:, None] * 10000.0 ** (-torch.arange(16) / 16)[None]
return torch.cat([x[:, :16] * p.cos() - x[:, 16:] * p.sin(), x[:, 16:] * p.cos() + x[:, :16] * p.sin()], -1)
""",
        "positions from one",
    ),
    Pair(
        "rope_base",
        "x fp32 16x32",
        """
p = torch.arange(16)[:, None] * 10000.0 ** (-torch.arange(16) / 16)[None]
return x * torch.cat([p, p], -1).cos()
""",
        """
p = torch.arange(16)[:, None] * 10000.0 ** (-torch.arange(16) / 15)[None]
return x * torch.cat([p, p], -1).cos()
""",
        "exponent over n-1",
    ),
)

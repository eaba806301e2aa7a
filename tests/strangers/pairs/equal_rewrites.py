"""Equal pairs: what people rewrite."""

from strangers.pair import Pair

PAIRS = (
    Pair(
        "e_rms",
        "x fp32 8x64",
        "F.rms_norm(x, (64,), eps=1e-6)",
        "x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)",
        "a rewriting",
    ),
    Pair(
        "e_rms_sum",
        "x fp32 8x64",
        "F.rms_norm(x, (64,), eps=1e-6)",
        "x * 8 / (x.pow(2).sum(-1, keepdim=True) + 64e-6).sqrt()",
        "n put inside",
    ),
    Pair(
        "e_ln",
        "x fp32 8x64",
        "F.layer_norm(x, (64,))",
        "(x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()",
        "a rewriting",
    ),
    Pair(
        "e_ln_t",
        "x fp32 64x64",
        "F.layer_norm(x, (64,))",
        """
d = x.t() - x.t().mean(0)
return (d / (d.pow(2).mean(0) + 1e-5).sqrt()).t().contiguous()
""",
        "a rewriting",
    ),
    Pair(
        "e_gn",
        "x fp32 4x32x16",
        "F.group_norm(x, 4)",
        "F.layer_norm(x.view(4, 4, 128), (128,)).view(4, 32, 16)",
        "a rewriting",
    ),
    Pair("e_gn1", "x fp32 4x32x16", "F.group_norm(x, 1)", "F.layer_norm(x, (32, 16))", "a rewriting"),
    Pair("e_in", "x fp32 4x8x16", "F.instance_norm(x)", "F.group_norm(x, 8)", "a rewriting"),
    Pair("e_var", "x fp32 4x4096", "x.var(-1)", "x.var(-1, unbiased=False) * (4096 / 4095)", "a rewriting"),
    Pair(
        "e_std",
        "x fp32 4x4096",
        "x.std(-1)",
        "(x - x.mean(-1, keepdim=True)).norm(dim=-1) / 4095 ** 0.5",
        "a rewriting",
    ),
    Pair(
        "e_norm",
        "x fp32 8x64",
        "F.normalize(x, dim=-1, eps=0.0)",
        "x / (x * x).sum(-1, keepdim=True).sqrt()",
        "a rewriting",
    ),
    Pair(
        "e_sm",
        "x fp32 8x64",
        "x.softmax(-1)",
        """
e = (x - x.amax(-1, keepdim=True)).exp()
return e / e.sum(-1, keepdim=True)
""",
        "a rewriting",
    ),
    Pair("e_sm2", "x fp32 8x64", "x.softmax(-1)", "torch.exp(x - x.logsumexp(-1, keepdim=True))", "a rewriting"),
    Pair(
        "e_sm_exp2",
        "x fp32 8x64",
        "x.softmax(-1)",
        """
s = x * math.log2(math.e)
e = s.sub(s.amax(-1, keepdim=True)).exp2()
return e.div(e.sum(-1, keepdim=True))
""",
        "a rewriting",
    ),
    Pair("e_lsm", "x fp32 8x64", "F.log_softmax(x, -1)", "x - x.logsumexp(-1, keepdim=True)", "a rewriting"),
    Pair("e_sm_shift", "x fp32 8x64; y fp32 8x1", "x.softmax(-1)", "(x + y).softmax(-1)", "shift"),
    Pair(
        "e_sm_split",
        "x fp32 8x64",
        "x.softmax(-1)",
        """
a, b = x.chunk(2, -1)
m = torch.maximum(a.amax(-1, keepdim=True), b.amax(-1, keepdim=True))
p, q = (a - m).exp(), (b - m).exp()
return torch.cat([p, q], -1) / (p.sum(-1, keepdim=True) + q.sum(-1, keepdim=True))
""",
        "two parts",
    ),
    Pair(
        "e_sigmoid",
        "x fp32 8x64",
        "x.sigmoid()",
        "torch.stack([x, torch.zeros_like(x)], -1).softmax(-1)[..., 0].contiguous()",
        "of two",
    ),
    Pair("e_silu", "x fp32 8x64", "F.silu(x)", "x / (1 + torch.exp(-x))", "a rewriting"),
    Pair("e_tanh", "x fp32 8x64", "x.tanh()", "2 * torch.sigmoid(2 * x) - 1", "a rewriting"),
    Pair("e_gelu", "x fp32 8x64", "F.gelu(x)", "0.5 * x * (1 + torch.erf(x * 0.5 ** 0.5))", "a rewriting"),
    Pair("e_gelu_c", "x fp32 8x64", "F.gelu(x)", "0.5 * x * torch.erfc(-x / 2 ** 0.5)", "a rewriting"),
    Pair("e_relu", "x fp32 8x64", "x.relu()", "(x + x.abs()) / 2", "a rewriting"),
    Pair("e_lrelu", "x fp32 8x64", "F.leaky_relu(x, 0.1)", "torch.maximum(x, 0.1 * x)", "a rewriting"),
    Pair("e_lrelu2", "x fp32 8x64", "F.leaky_relu(x, 0.1)", "0.1 * x + 0.9 * x.relu()", "a rewriting"),
    Pair("e_hsw", "x fp32 8x64", "F.hardswish(x)", "x * F.relu6(x + 3) / 6", "a rewriting"),
    Pair("e_softplus", "x fp32 8x64", "F.softplus(x)", "x.relu() + torch.log1p(torch.exp(-x.abs()))", "a rewriting"),
    Pair("e_logsig", "x fp32 8x64", "F.logsigmoid(x)", "-F.softplus(-x)", "a rewriting"),
    Pair("e_mish", "x fp32 8x64", "F.mish(x)", "x * torch.tanh(torch.log1p(x.exp()))", "a rewriting"),
    Pair(
        "e_clamp",
        "x fp32 8x64",
        "x.clamp(-1, 1)",
        "torch.minimum(torch.maximum(x, torch.tensor(-1.0)), torch.tensor(1.0))",
        "a rewriting",
    ),
    Pair("e_hardtanh", "x fp32 8x64", "F.hardtanh(x)", "((x + 1).abs() - (x - 1).abs()) / 2", "a rewriting"),
    Pair("e_shrink", "x fp32 8x64", "F.softshrink(x, 0.5)", "x.sign() * (x.abs() - 0.5).relu()", "a rewriting"),
    Pair(
        "e_attn",
        "x fp32 4x48x32; y fp32 4x48x32; z fp32 4x48x32",
        "F.scaled_dot_product_attention(x, y, z)",
        "((x * 32 ** -0.5) @ y.transpose(1, 2)).softmax(-1) @ z",
        "a rewriting",
    ),
    Pair(
        "e_attn_late",
        "x fp32 4x48x32; y fp32 4x48x32; z fp32 4x48x32",
        "F.scaled_dot_product_attention(x, y, z)",
        """
s = x @ y.mT / math.sqrt(32)
e = (s - s.amax(-1, keepdim=True)).exp()
return (e @ z) / e.sum(-1, keepdim=True)
""",
        "late division",
    ),
    Pair(
        "e_attn_einsum",
        "x fp32 4x48x32; y fp32 4x48x32; z fp32 4x48x32",
        "F.scaled_dot_product_attention(x, y, z)",
        "torch.einsum('hqk,hkd->hqd', torch.einsum('hqd,hkd->hqk', x, y).div(32 ** 0.5).softmax(2), z)",
        "a rewriting",
    ),
    Pair(
        "e_causal",
        "x fp32 4x48x32; y fp32 4x48x32; z fp32 4x48x32",
        "F.scaled_dot_product_attention(x, y, z, is_causal=True)",
        """
i = torch.arange(48)
return (x @ y.mT * 32 ** -0.5).masked_fill(i[None] > i[:, None], float('-inf')).softmax(-1) @ z
""",
        "a rewriting",
    ),
    Pair(
        "e_causal_add",
        "x fp32 4x48x32; y fp32 4x48x32; z fp32 4x48x32",
        "F.scaled_dot_product_attention(x, y, z, is_causal=True)",
        """
m = torch.full((48, 48), float('-inf')).triu(1)
return (x @ y.mT * 32 ** -0.5 + m).softmax(-1) @ z
""",
        "a rewriting",
    ),
    Pair(
        "e_gqa",
        "x fp32 1x8x16x32; y fp32 1x2x24x32; z fp32 1x2x24x32",
        "F.scaled_dot_product_attention(x, y, z, enable_gqa=True)",
        "F.scaled_dot_product_attention(x, y.repeat_interleave(4, 1), z.repeat_interleave(4, 1))",
        "a rewriting",
    ),
    Pair(
        "e_gqa2",
        "x fp32 1x8x16x32; y fp32 1x2x24x32; z fp32 1x2x24x32",
        "F.scaled_dot_product_attention(x, y, z, enable_gqa=True)",
        """
q = x.view(1, 2, 64, 32)
return F.scaled_dot_product_attention(q, y, z).view(1, 8, 16, 32)
""",
        "groups folded into rows",
    ),
    Pair(
        "e_mask_bool",
        "x fp32 4x16x32; y fp32 4x24x32; z fp32 4x24x32; w fp32 16x24",
        "F.scaled_dot_product_attention(x, y, z, attn_mask=w)",
        "((x @ y.mT) * 32 ** -0.5 + w).softmax(-1) @ z",
        "a rewriting",
    ),
    Pair(
        "e_rope",
        "x fp32 4x16x32; y fp32 16x16; z fp32 16x16",
        """
a, b = x.chunk(2, -1)
return torch.cat([a * y - b * z, b * y + a * z], -1)
""",
        """
c, s = torch.cat([y, y], -1), torch.cat([z, z], -1)
return x * c + torch.cat([-x[..., 16:], x[..., :16]], -1) * s
""",
        "a rewriting",
    ),
    Pair(
        "e_rope_i",
        "x fp32 4x16x32; y fp32 16x16; z fp32 16x16",
        """
a, b = x[..., ::2], x[..., 1::2]
return torch.stack([a * y - b * z, b * y + a * z], -1).flatten(-2)
""",
        """
v = x.view(4, 16, 16, 2)
return torch.stack([v[..., 0] * y - v[..., 1] * z, v[..., 0] * z + v[..., 1] * y], dim=3).reshape(4, 16, 32)
""",
        "a rewriting",
    ),
    Pair(
        "e_rope_roll",
        "x fp32 4x16x32; y fp32 16x32; z fp32 16x32",
        "x * y + torch.cat([-x[..., 16:], x[..., :16]], -1) * z",
        "x * y + x.roll(16, -1) * torch.where(torch.arange(32) < 16, -z, z)",
        "by a roll",
    ),
    Pair("e_mm", "x fp32 16x64; y fp32 64x32", "x @ y", "(y.t() @ x.t()).t().contiguous()", "a rewriting"),
    Pair("e_mm_split", "x fp32 16x64; y fp32 64x32", "x @ y", "x[:, :40] @ y[:40] + x[:, 40:] @ y[40:]", "a rewriting"),
    Pair("e_mm_assoc", "x fp32 8x16; y fp32 16x32; z fp32 32x8", "(x @ y) @ z", "x @ (y @ z)", "a rewriting"),
    Pair(
        "e_addmm",
        "x fp32 16x32; y fp32 16x64; z fp32 64x32",
        "torch.addmm(x, y, z, beta=0.5, alpha=2)",
        "0.5 * x + 2 * torch.matmul(y, z)",
        "a rewriting",
    ),
    Pair(
        "e_lora",
        "x fp32 16x64; y fp32 64x64; z fp32 64x8; w fp32 8x64",
        "x @ y + 2.0 * (x @ z) @ w",
        "x @ (y + 2.0 * z @ w)",
        "a rewriting",
    ),
    Pair(
        "e_bias",
        "x fp32 16x64; y fp32 32x64; z fp32 32",
        "F.linear(x, y, z)",
        "torch.cat([x, torch.ones(16, 1)], 1) @ torch.cat([y, z[:, None]], 1).t()",
        "bias as a column",
    ),
    Pair("e_einsum_tr", "x fp32 16x32; y fp32 32x16", "(x @ y).trace()", "(x * y.t()).sum()", "a rewriting"),
    Pair(
        "e_quad",
        "x fp32 8x64; y fp32 8x64",
        "((x - y) ** 2).sum(-1)",
        "(x * x).sum(-1) - 2 * (x * y).sum(-1) + (y * y).sum(-1)",
        "a rewriting",
    ),
    Pair(
        "e_cdist",
        "x fp32 8x16; y fp32 12x16",
        "(x[:, None] - y[None]).pow(2).sum(-1)",
        "x.pow(2).sum(-1)[:, None] + y.pow(2).sum(-1)[None] - 2 * x @ y.t()",
        "a rewriting",
    ),
    Pair("e_mean", "x fp32 4x4096", "x.mean(-1)", "x.view(4, 64, 64).mean(-1).mean(-1)", "a rewriting"),
    Pair("e_sum_halves", "x fp32 4x4096", "x.sum(-1)", "(x[:, ::2] + x[:, 1::2]).sum(-1)", "a rewriting"),
    Pair(
        "e_cumsum_blk",
        "x fp32 8x64",
        "x.cumsum(-1)",
        """
v = x.view(8, 8, 8)
c = v.cumsum(-1)
t = v.sum(-1).cumsum(-1) - v.sum(-1)
return (c + t[..., None]).view(8, 64)
""",
        "blocks",
    ),
    Pair(
        "e_revcum",
        "x fp32 8x64",
        "x.flip(-1).cumsum(-1).flip(-1)",
        "x.sum(-1, keepdim=True) - x.cumsum(-1) + x",
        "a rewriting",
    ),
    Pair("e_diff", "x fp32 8x64", "x.diff(dim=-1)", "x.narrow(1, 1, 63) - x.narrow(1, 0, 63)", "a rewriting"),
    Pair("e_unfold", "x fp32 8x64", "x.unfold(-1, 4, 4).sum(-1)", "x.view(8, 16, 4).sum(-1)", "a rewriting"),
    Pair("e_avgpool", "x fp32 2x4x32", "F.avg_pool1d(x, 2)", "(x[..., ::2] + x[..., 1::2]) * 0.5", "a rewriting"),
    Pair("e_maxpool", "x fp32 2x4x32", "F.max_pool1d(x, 2)", "torch.maximum(x[..., ::2], x[..., 1::2])", "a rewriting"),
    Pair(
        "e_conv1",
        "x fp32 2x4x32; y fp32 8x4x1",
        "F.conv1d(x, y)",
        "torch.einsum('oc,bct->bot', y[..., 0], x)",
        "a rewriting",
    ),
    Pair(
        "e_conv3",
        "x fp32 1x4x32; y fp32 8x4x3",
        "F.conv1d(x, y)",
        "sum(torch.einsum('oc,bct->bot', y[..., k], x[..., k:k + 30]) for k in range(3))",
        "a rewriting",
    ),
    Pair("e_roll", "x fp32 8x64", "x.roll(5, -1)", "torch.cat([x[:, -5:], x[:, :-5]], -1)", "a rewriting"),
    Pair("e_flip", "x fp32 8x64", "x.flip(-1)", "x[:, torch.arange(63, -1, -1)]", "a rewriting"),
    Pair("e_tril", "x fp32 64x64", "x.tril()", "x * (torch.arange(64)[:, None] >= torch.arange(64))", "a rewriting"),
    Pair(
        "e_chshuf",
        "x fp32 2x16x8",
        "x.view(2, 4, 4, 8).transpose(1, 2).reshape(2, 16, 8)",
        "x[:, torch.arange(16) % 4 * 4 + torch.arange(16) // 4]",
        "a rewriting",
    ),
    Pair("e_demorgan", "x bool 8x64; y bool 8x64", "~(x & y)", "~x | ~y", "a rewriting"),
    Pair("e_xor", "x bool 8x64; y bool 8x64", "x ^ y", "(x | y) & ~(x & y)", "a rewriting"),
    Pair("e_any", "x bool 8x64", "x.any(-1)", "x.sum(-1) > 0", "a rewriting"),
    Pair("e_all", "x bool 8x64", "x.all(-1)", "~(~x).any(-1)", "a rewriting"),
    Pair(
        "e_floor",
        "x int32 8x64",
        "x // 4",
        "x >> 2",
        "a rewriting",
        "x = torch.randint(-2147483648, 2147483648, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "e_and",
        "x int32 8x64",
        "x & 7",
        "torch.remainder(x, 8)",
        "a rewriting",
        "x = torch.randint(-2147483648, 2147483648, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "e_i8",
        "x int8 8x64; y int8 8x64",
        "x.int() * y.int()",
        "(x.short() * y.short()).int()",
        "a rewriting",
        """
x = torch.randint(-128, 128, x.shape, generator=torch.Generator().manual_seed(1))
y = torch.randint(-128, 128, y.shape, generator=torch.Generator().manual_seed(2))
""",
    ),
    Pair(
        "e_u8",
        "x uint8 8x64; y uint8 8x64",
        "x + y",
        "((x.int() + y.int()) % 256).to(torch.uint8)",
        "wraps",
        """
x = torch.randint(0, 256, x.shape, generator=torch.Generator().manual_seed(1))
y = torch.randint(0, 256, y.shape, generator=torch.Generator().manual_seed(2))
""",
    ),
    Pair(
        "e_divmod",
        "x int64 8x64",
        "x",
        "(x // 10) * 10 + x % 10 + 0 * x",
        "alias aside",
        "x = torch.randint(-1099511627776, 1099511627776, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair("e_max_sort", "x fp32 8x64", "x.amax(-1)", "x.sort(-1).values[:, -1].contiguous()", "a rewriting"),
    Pair("e_topk1", "x fp32 8x64", "x.topk(1).values", "x.amax(-1, keepdim=True)", "a rewriting"),
    Pair("e_minmax", "x fp32 8x64", "x.amin(-1)", "-((-x).amax(-1))", "a rewriting"),
    Pair(
        "e_ce",
        "x fp32 32x100; y int64 32",
        "F.cross_entropy(x, y)",
        "(x.logsumexp(-1) - x.gather(-1, y[:, None])[:, 0]).mean()",
        "a rewriting",
        "y = torch.randint(0, 100, y.shape, generator=torch.Generator().manual_seed(2))",
    ),
    Pair(
        "e_ce_smooth",
        "x fp32 32x100; y int64 32",
        "F.cross_entropy(x, y, label_smoothing=0.1)",
        """
l = x.log_softmax(-1)
return (-0.9 * l.gather(-1, y[:, None])[:, 0] - 0.1 * l.mean(-1)).mean()
""",
        "a rewriting",
        "y = torch.randint(0, 100, y.shape, generator=torch.Generator().manual_seed(2))",
    ),
    Pair(
        "e_bce",
        "x fp32 8x64; y fp32 8x64",
        "F.binary_cross_entropy_with_logits(x, y)",
        "(F.softplus(x) - x * y).mean()",
        "a rewriting",
        "y = torch.rand(y.shape, generator=torch.Generator().manual_seed(2))",
    ),
    Pair(
        "e_huber",
        "x fp32 8x64; y fp32 8x64",
        "F.huber_loss(x, y)",
        """
d = (x - y).abs()
return torch.where(d <= 1, 0.5 * d * d, d - 0.5).mean()
""",
        "a rewriting",
    ),
    Pair(
        "e_inplace_tmp",
        "x fp32 8x64",
        "(x * 2 + 1).relu()",
        """
t = x.clone()
t *= 2
t.add_(1)
t.relu_()
return t
""",
        "a rewriting",
    ),
    Pair(
        "e_setslice",
        "x fp32 8x64",
        "torch.cat([x[:, :10], x[:, 10:] * 3], -1)",
        """
t = x.clone()
t[:, 10:] *= 3
return t
""",
        "a rewriting",
    ),
)

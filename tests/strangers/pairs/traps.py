"""Wrong pairs: dtypes of results, several outputs, what differs in few elements."""

from strangers.pair import Pair

PAIRS = (
    Pair("dtype_res", "x fp16 8x64", "x.float() * 2", "x * 2", "dtype of the result"),
    Pair("dtype_sm", "x fp16 8x64", "x.softmax(-1, dtype=torch.float32)", "x.softmax(-1)", "dtype of the result"),
    Pair(
        "dtype_tensor_scalar",
        "x fp16 8x64",
        "x * torch.tensor(2.0)",
        "x * torch.ones(1, dtype=torch.float32) * 2",
        "0-d against 1-d promotion",
    ),
    Pair("dtype_argmax", "x fp32 8x64", "x.argmax(-1)", "x.argmax(-1).int()", "index dtype"),
    Pair("dtype_cmp", "x fp32 8x64", "x > 0", "(x > 0).float()", "flags"),
    Pair("dtype_mean", "x fp16 8x64", "x.mean(-1)", "x.mean(-1, dtype=torch.float32)", "dtype"),
    Pair("dtype_bool_sum", "x bool 8x64", "x.sum(-1)", "x.sum(-1).float()", "dtype"),
    Pair(
        "nan_max",
        "x fp32 8x64",
        "torch.maximum(x, torch.zeros_like(x))",
        "torch.fmax(x, torch.zeros_like(x))",
        "NaN",
        "x.view(-1)[::7] = math.nan",
    ),
    Pair("nan_relu", "x fp32 8x64", "x.relu()", "torch.where(x > 0, x, 0.0)", "NaN", "x.view(-1)[::7] = math.nan"),
    Pair(
        "nan_clamp",
        "x fp32 8x64",
        "x.clamp(-1, 1)",
        "torch.where(x > 1, 1.0, torch.where(x > -1, x, -1.0))",
        "NaN",
        "x.view(-1)[::7] = math.nan",
    ),
    Pair("nan_to_num", "x fp32 8x64", "x + 0", "torch.nan_to_num(x)", "NaN", "x.view(-1)[::7] = math.nan"),
    Pair("nansum", "x fp32 8x64", "x.sum(-1)", "x.nansum(-1)", "NaN", "x.view(-1)[::7] = math.nan"),
    Pair(
        "nan_mask_mul",
        "x fp32 8x64; y bool 8x64",
        "x.masked_fill(~y, 0.0)",
        "x * y",
        "NaN times 0",
        "x.view(-1)[::7] = math.nan",
    ),
    Pair("log_neg", "x fp32 8x64", "x.log()", "x.abs().log()", "log of negatives"),
    Pair("sqrt_neg", "x fp32 8x64", "x.sqrt()", "x.clamp(min=0).sqrt()", "root of negatives"),
    Pair("pow_half", "x fp32 8x64", "x ** 0.5", "x.abs() ** 0.5", "power of negatives"),
    Pair(
        "div0",
        "x int32 8x64; y int32 8x64",
        "x / y",
        "x / y.clamp(min=1)",
        "zero divided",
        """
x = torch.randint(0, 5, x.shape, generator=torch.Generator().manual_seed(1))
y = torch.randint(0, 3, y.shape, generator=torch.Generator().manual_seed(2))
""",
    ),
    Pair(
        "xlogy",
        "x fp32 8x64; y fp32 8x64",
        "torch.xlogy(x, y)",
        "x * y.log()",
        "0 log 0",
        """
x = torch.zeros_like(x)
y = torch.zeros_like(y)
""",
    ),
    Pair(
        "cos_sim0",
        "x fp32 8x64; y fp32 8x64",
        "F.cosine_similarity(x, y, -1)",
        "(x * y).sum(-1) / (x.norm(dim=-1) * y.norm(dim=-1))",
        "zero vector",
        "x = torch.zeros_like(x)",
    ),
    Pair(
        "ce_mean",
        "x fp32 32x100; y int64 32",
        "F.cross_entropy(x, y)",
        "F.cross_entropy(x, y, reduction='sum') / 100",
        "denominator",
        "y = torch.randint(0, 100, y.shape, generator=torch.Generator().manual_seed(2))",
    ),
    Pair(
        "ce_smooth",
        "x fp32 32x100; y int64 32",
        "F.cross_entropy(x, y, label_smoothing=0.1)",
        """
l = x.log_softmax(-1)
return (-0.9 * l.gather(-1, y[:, None])[:, 0] - 0.1 * l.sum(-1) / 99).mean()
""",
        "smoothing over n-1",
        "y = torch.randint(0, 100, y.shape, generator=torch.Generator().manual_seed(2))",
    ),
    Pair(
        "ce_ignore",
        "x fp32 32x100; y int64 32",
        "F.cross_entropy(x, y, ignore_index=0)",
        "F.cross_entropy(x, y, ignore_index=0, reduction='sum') / 32",
        "denominator of ignored",
        "y = torch.randint(0, 4, y.shape, generator=torch.Generator().manual_seed(2))",
    ),
    Pair(
        "ce_shift",
        "x fp32 32x100; y int64 32",
        "F.cross_entropy(x[:-1], y[1:])",
        "F.cross_entropy(x[1:], y[:-1])",
        "shift direction",
        "y = torch.randint(0, 100, y.shape, generator=torch.Generator().manual_seed(2))",
    ),
    Pair(
        "nll_noweight",
        "x fp32 32x100; y int64 32; z fp32 100",
        "F.cross_entropy(x, y, weight=z)",
        "(F.cross_entropy(x, y, reduction='none') * z[y]).mean()",
        "weighted denominator",
        """
y = torch.randint(0, 100, y.shape, generator=torch.Generator().manual_seed(2))
z = z.abs() + 0.1
""",
    ),
    Pair(
        "bce_logits",
        "x fp32 8x64; y fp32 8x64",
        "F.binary_cross_entropy_with_logits(x, y)",
        "(F.softplus(x) - x * y).sum() / 8",
        "denominator",
        "y = torch.rand(y.shape, generator=torch.Generator().manual_seed(2))",
    ),
    Pair(
        "kl_batch",
        "x fp32 8x64; y fp32 8x64",
        "F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction='batchmean')",
        "F.kl_div(x.log_softmax(-1), y.softmax(-1))",
        "reduction",
    ),
    Pair(
        "kl_dir",
        "x fp32 8x64; y fp32 8x64",
        "F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction='sum')",
        "F.kl_div(y.log_softmax(-1), x.softmax(-1), reduction='sum')",
        "direction",
    ),
    Pair("mse_sum", "x fp32 8x64; y fp32 8x64", "F.mse_loss(x, y)", "((x - y) ** 2).sum(-1).mean()", "denominator"),
    Pair(
        "mean_of_means",
        "x fp32 8x64; y bool 8x64",
        "(x * y).sum() / y.sum()",
        "((x * y).sum(-1) / y.sum(-1)).mean()",
        "mean of means",
    ),
    Pair(
        "bcast_loss",
        "x fp32 64x1; y fp32 64",
        "((x - y) ** 2).mean()",
        "((x[:, 0] - y) ** 2).mean()",
        "silent broadcast",
    ),
    Pair("keepdim", "x fp32 64x64", "x / x.sum(-1, keepdim=True)", "x / x.sum(-1)", "keepdim forgotten on a square"),
    Pair("sum_dim_sq", "x fp32 64x64", "x.sum(0)", "x.sum(1)", "dim"),
    Pair("amax_dim", "x fp32 64x64", "x - x.amax(-1, keepdim=True)", "x - x.amax()", "all or row"),
    Pair("sym_weight", "x fp32 64x64; y fp32 64x64", "x @ (y + y.t())", "x @ (y + y)", "symmetrised"),
    Pair("tri_sym", "x fp32 16x64x64", "x @ x.mT", "x.mT @ x", "gram"),
    Pair(
        "lora_scale",
        "x fp32 16x64; y fp32 64x64; z fp32 64x8; w fp32 8x64",
        "x @ y + 2.0 * (x @ z) @ w",
        "x @ y + 2.0 * (x @ z @ w) * 1.001",
        "1.001",
    ),
    Pair("abs6", "x fp32 64x4096", "torch.where(x.abs() < 1e-3, 0.0, x.sign())", "x.sign()", "1e-3 about zero"),
    Pair("x5", "x fp32 256x4096", "x.clamp(max=4.0)", "x + 0", "normals of 4 deviations"),
    Pair("tiny_eps_add", "x fp32 8x64", "x / (x.abs() + 1e-3)", "x / (x.abs() + 1e-4)", "eps"),
    Pair(
        "size_branch",
        "x fp32 600x16",
        "x.exp()",
        "x.exp() if x.shape[0] < 512 else x.exp() * 1.001",
        "branch on a size",
    ),
    Pair("contig", "x fp32 600x16", "x * 2 if x.t().is_contiguous() else x * 3", "x * 2", "asks contiguity"),
    Pair("ndim_b", "x fp32 8x4097", "x.sum(-1)", "x[:, :4096].sum(-1)", "4096 of 4097"),
    Pair("bfill", "x fp32 8x64; y fp32 8x64; z bool 8x64", "torch.where(z, x, y)", "torch.where(z, y, x)", "swapped"),
    Pair(
        "addcmul",
        "x fp32 8x64; y fp32 8x64; z fp32 8x64",
        "torch.addcmul(x, y, z, value=0.5)",
        "torch.addcmul(x, y, z)",
        "kwarg default",
    ),
    Pair(
        "baddbmm",
        "x fp32 4x16x16; y fp32 4x16x16; z fp32 4x16x16",
        "torch.baddbmm(x, y, z, beta=0.5)",
        "torch.baddbmm(x, y, z, alpha=0.5)",
        "alpha or beta",
    ),
    Pair("lerp", "x fp32 8x64; y fp32 8x64", "torch.lerp(x, y, 0.3)", "torch.lerp(y, x, 0.3)", "ends"),
    Pair(
        "ema",
        "x fp32 8x64",
        """
o = x[:, 0]
for i in range(1, 8): o = 0.9 * o + 0.1 * x[:, i]
return o
""",
        """
o = x[:, 0] * 0.1
for i in range(1, 8): o = 0.9 * o + 0.1 * x[:, i]
return o
""",
        "first term",
    ),
    Pair("atan2", "x fp32 8x64; y fp32 8x64", "torch.atan2(x, y)", "(x / y).atan()", "quadrants"),
    Pair(
        "out_order",
        "x fp32 8x64",
        """
m = x.mean(-1)
return m, x.var(-1)
""",
        """
m = x.mean(-1)
return x.var(-1), m
""",
        "outputs swapped",
    ),
)

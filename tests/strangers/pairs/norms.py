"""Wrong pairs: normalizations, activations and their constants, groups and dims."""

from strangers.pair import Pair

PAIRS = (
    Pair(
        "rms_eps_outside",
        "x fp32 8x64",
        "x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-2)",
        "x / (torch.sqrt((x * x).mean(-1, keepdim=True)) + 1e-2)",
        "eps outside the root",
    ),
    Pair(
        "ln_eps_outside",
        "x fp32 8x64",
        "F.layer_norm(x, (64,), eps=1e-3)",
        "(x - x.mean(-1, keepdim=True)) / (x.std(-1, unbiased=False, keepdim=True) + 1e-3)",
        "eps outside the root",
    ),
    Pair(
        "ln_eps_digit", "x fp32 8x64", "F.layer_norm(x, (64,), eps=1e-3)", "F.layer_norm(x, (64,), eps=1.1e-3)", "eps"
    ),
    Pair("ln_eps_missing", "x fp32 8x64", "F.layer_norm(x, (64,))", "F.layer_norm(x, (64,), eps=1e-2)", "default eps"),
    Pair("rms_eps_twice", "x fp32 8x64", "F.rms_norm(x, (64,), eps=1e-3)", "F.rms_norm(x, (64,), eps=2e-3)", "eps"),
    Pair("var_unbiased", "x fp32 8x64", "x.var(-1)", "x.var(-1, unbiased=False)", "Bessel"),
    Pair(
        "std_corr2", "x fp32 4x4096", "x.std(-1, correction=1)", "x.std(-1, correction=2)", "correction 1 or 2 in 4096"
    ),
    Pair(
        "ln_dim_square",
        "x fp32 64x64",
        "F.layer_norm(x, (64,))",
        "F.layer_norm(x.t(), (64,)).t()",
        "wrong dim of a square",
    ),
    Pair(
        "ln_all_dims", "x fp32 8x16x32", "F.layer_norm(x, (16, 32))", "F.layer_norm(x, (32,))", "both dims or the last"
    ),
    Pair("gn_groups", "x fp32 4x32x16", "F.group_norm(x, 4)", "F.group_norm(x, 8)", "groups"),
    Pair(
        "gn_interleaved",
        "x fp32 4x32x16",
        "F.group_norm(x, 4)",
        "F.group_norm(x.view(4, 8, 4, 16).transpose(1, 2).reshape(4, 32, 16), 4).view(4, 4, 8, 16).transpose(1, 2).reshape(4, 32, 16)",
        "interleaved groups",
    ),
    Pair(
        "inst_vs_layer", "x fp32 4x16x16", "F.instance_norm(x)", "F.layer_norm(x, (16, 16))", "per channel or per item"
    ),
    Pair(
        "rms_gain_row_col",
        "x fp32 64x64; y fp32 64",
        "F.rms_norm(x, (64,)) * y",
        "F.rms_norm(x, (64,)) * y[:, None]",
        "gain over rows",
    ),
    Pair("rms_l1", "x fp32 8x64", "x / x.norm(dim=-1, keepdim=True)", "x / x.norm(p=1, dim=-1, keepdim=True)", "l1"),
    Pair("normalize_dim", "x fp32 64x64", "F.normalize(x, dim=-1)", "F.normalize(x, dim=0)", "dim"),
    Pair(
        "gain_plus_one",
        "x fp32 8x64; y fp32 64",
        "F.rms_norm(x, (64,)) * (1 + y)",
        "F.rms_norm(x, (64,)) * y",
        "gemma gain",
    ),
    Pair("mean_div_n1", "x fp32 4x4096", "x.sum(-1) / 4096", "x.sum(-1) / 4095", "n - 1"),
    Pair("const_4th", "x fp32 8x64", "x * 0.7071", "x * 0.7079", "4th digit"),
    Pair(
        "gelu_const",
        "x fp32 8x64",
        "0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))",
        "0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044751 * x ** 3)))",
        "transposed digits",
    ),
    Pair("gelu_tanh_erf", "x fp32 8x64", "F.gelu(x)", "F.gelu(x, approximate='tanh')", "approximate gelu"),
    Pair("quick_gelu", "x fp32 8x64", "x * torch.sigmoid(1.702 * x)", "x * torch.sigmoid(1.7 * x)", "1.702"),
    Pair("leaky_slope", "x fp32 8x64", "F.leaky_relu(x)", "F.leaky_relu(x, 0.02)", "default slope"),
    Pair("softplus_beta", "x fp32 8x64", "F.softplus(x)", "F.softplus(x, beta=1.01)", "beta"),
    Pair("elu_alpha", "x fp32 8x64", "F.elu(x)", "F.elu(x, alpha=0.99)", "alpha"),
    Pair("hardswish", "x fp32 8x64", "F.hardswish(x)", "x * (x + 3).clamp(0, 6) / 6.01", "6.01"),
    Pair("silu_swap", "x fp32 8x64; y fp32 8x64", "F.silu(x) * y", "x * F.silu(y)", "gate and up swapped"),
    Pair(
        "geglu_halves",
        "x fp32 8x64",
        "F.gelu(x[:, :32]) * x[:, 32:]",
        "x[:, :32] * F.gelu(x[:, 32:])",
        "halves swapped",
    ),
    Pair("glu_inter", "x fp32 8x64", "F.glu(x)", "x[:, ::2] * torch.sigmoid(x[:, 1::2])", "interleaved glu"),
)

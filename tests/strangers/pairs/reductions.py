"""Wrong pairs: kept dims, unbiased estimates, the order of dims, wrong counts, ties, where eps stands, shifts."""

from strangers.pair import Pair

CE = "torch.logsumexp(x, -1) - x.mean(-1) * {0} - x[:, 0] * {1}"
PAIRS = (
    Pair("biased_variance", "x fp32 8x17", "x.var(-1)", "x.var(-1, correction=0)", "16 against 17"),
    Pair("mean_over_the_padded", "x fp32 8x1024", "x[:, :1000].mean(-1)", "x[:, :1000].sum(-1) / 1024", "the count of the block"),
    Pair("eps_outside_the_root", "x fp32 16x1000", "F.layer_norm(x, (1000,), eps=1e-5)",
         "(x - x.mean(-1, keepdim=True)) / (x.std(-1, correction=0, keepdim=True) + 1e-5)", "rows of small variance", "x = x * 1e-2"),
    Pair("eps_inside_the_sum", "x fp32 16x1000", "x * torch.rsqrt(x.square().sum(-1, keepdim=True) / 1000 + 1e-5)",
         "x * torch.rsqrt((x.square().sum(-1, keepdim=True) + 1e-5) / 1000)", "eps is divided by the count", "x = x * 1e-2"),
    Pair("mean_of_maxima", "x fp32 8x17", "x.amax(-1).mean()", "x.mean(-1).amax()", "the two do not commute"),
    Pair("ties_share_or_not", "x fp32 8x64", "(x == x.amax(-1, keepdim=True)).float() / (x == x.amax(-1, keepdim=True)).float().sum(-1, keepdim=True)",
         "(x == x.amax(-1, keepdim=True)).float()", "several largest", "x = x.round()"),
    Pair("shift_not_given_back", "x fp32 8x1000", "torch.logsumexp(x, -1)", "torch.log(torch.exp(x - x.amax(-1, keepdim=True)).sum(-1))", "the maximum is missing"),
    Pair("shift_of_the_whole", "x fp32 8x64", "torch.logsumexp(x, -1)", "torch.logsumexp(x, -1) - x.amax() + x.amax(-1)", "the maximum of all rows"),
    Pair("softmax_down_the_columns", "x fp32 64x64", "torch.softmax(x, -1)", "torch.softmax(x, 0)", "another axis of a square"),
    Pair("mean_without_keepdim", "x fp32 64x64", "x - x.mean(1, keepdim=True)", "x - x.mean(1)", "row means are taken from columns"),
    Pair("norm_of_order_one", "x fp32 8x1000", "x / x.norm(p=2, dim=-1, keepdim=True)", "x / x.norm(p=1, dim=-1, keepdim=True)", "order 1 for 2"),
    Pair("groups_of_eight", "x fp32 4x32x16", "F.group_norm(x, 4)", "F.group_norm(x, 8)", "other groups"),
    Pair("mean_of_unequal_halves", "x fp32 8x1000", "x.mean(-1)", "(x[:, :512].mean(-1) + x[:, 512:].mean(-1)) / 2", "512 and 488"),
    Pair("masked_mean_by_all", "x fp32 8x64; m bool 8x64", "(x * m).sum(-1) / m.float().sum(-1)", "(x * m).mean(-1)", "the count of all"),
    Pair("square_of_the_sum", "x fp32 8x1000", "x.square().sum(-1)", "x.sum(-1).square()", "sum and square change places"),
    Pair("normalize_adds_eps", "x fp32 8x64", "F.normalize(x, dim=-1, eps=1e-3)", "x / (x.norm(dim=-1, keepdim=True) + 1e-3)", "a thousandth"),
    Pair("smoothing_over_the_others", "x fp32 8x10", CE.format(0.1, 0.9), CE.format("0.1 * 10 / 9", "(0.9 - 0.1 / 9)"), "the label's own share"),
    Pair("loss_summed_over_features", "x fp32 8x64; y fp32 8x64", "F.mse_loss(x, y)", "(x - y).square().sum(-1).mean()", "64 times as much"),
    Pair("divergence_by_batch", "x fp32 8x64; y fp32 8x64", "F.kl_div(x, y, reduction='batchmean')", "F.kl_div(x, y, reduction='mean')", "64 times as much", "y = y.abs() + 0.1"),
    Pair("least_as_largest", "x fp32 8x64", "x.amin(-1)", "-x.amax(-1)", "the sign inside is missing"),
    Pair("norm_over_two_dims", "x fp32 4x16x64", "F.layer_norm(x, (64,))", "F.layer_norm(x, (16, 64))", "the rows of an image together"),
    Pair("log_mean_exp_count", "x fp32 8x1000", "torch.logsumexp(x, -1) - math.log(1000)", "torch.logsumexp(x, -1) - math.log(999)", "1e-3"),
    Pair("variance_not_centred", "x fp32 8x1000", "x.var(-1, correction=0)", "x.square().mean(-1)", "a mean that is not zero", "x = x + 0.3"),
    Pair("std_of_the_sum_of_dims", "x fp32 8x17x17", "x.std((1, 2))", "x.std(1).mean(1)", "a mean of deviations"),
)

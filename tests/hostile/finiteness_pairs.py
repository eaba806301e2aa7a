"""Functions of which one overflows on large finite inputs that the other takes: shifts left out, products in another order."""

from __future__ import annotations

from hostile.pair import Family, Pair, every

ROW = "x fp32 8 16"
TWO = "x fp32 8 16, y fp32 8 16"
HALVES = "x fp16 8 16, g fp16 8 16, w fp16 16 4"
LARGE = "x[1, 2] = 1000.0; x[1, 3] = 999.0"
HUGE = "x.fill_(1e30); y.fill_(1e25)"

FAMILIES = (
    Family("softmax_without_shift", ROW, "torch.softmax(x, -1)", "x.exp() / x.exp().sum(-1, keepdim=True)", LARGE),
    Family(
        "log_softmax_without_shift", ROW, "torch.log_softmax(x, -1)", "x - x.exp().sum(-1, keepdim=True).log()", LARGE
    ),
    Family("logsumexp_without_shift", ROW, "torch.logsumexp(x, -1)", "x.exp().sum(-1).log()", LARGE),
    Family(
        "attention_without_shift",
        "x fp32 8 16, k fp32 8 16, v fp32 8 4",
        "torch.softmax(x @ k.T, -1) @ v",
        "(x @ k.T).exp() @ v / (x @ k.T).exp().sum(-1, keepdim=True)",
        "x.mul_(100)",
    ),
    Family("sigmoid_of_large", ROW, "torch.sigmoid(x)", "x.exp() / (1 + x.exp())", LARGE),
    Family("silu_of_large", ROW, "F.silu(x)", "x * x.exp() / (1 + x.exp())", LARGE),
    Family("tanh_of_large", ROW, "torch.tanh(x)", "(x.exp() - (-x).exp()) / (x.exp() + (-x).exp())", LARGE),
    Family("softplus_of_large", ROW, "F.softplus(x)", "torch.log(1 + x.exp())", LARGE),
    Family("quotient_of_exponentials", TWO, "torch.exp(x - y)", "x.exp() / y.exp()", "x.fill_(200.0); y.fill_(199.0)"),
    Family("product_of_exponentials", TWO, "torch.exp(x + y)", "x.exp() * y.exp()", "x.fill_(100.0); y.fill_(-100.0)"),
    Family("logarithm_of_a_product", TWO, "x.abs().log() + y.abs().log()", "(x * y).abs().log()", HUGE),
    Family("root_of_squares", ROW, "x.abs()", "(x * x).sqrt()", "x.fill_(1e25)"),
    Family("root_of_a_product", TWO, "x.abs().sqrt() * y.abs().sqrt()", "(x * y).abs().sqrt()", HUGE),
    Family(
        "norm_unscaled",
        ROW,
        "x.abs().amax(-1) * (x / x.abs().amax(-1, keepdim=True)).square().sum(-1).sqrt()",
        "x.square().sum(-1).sqrt()",
        "x.fill_(1e25)",
    ),
    Family("quotient_then_product", TWO, "x / y * x", "x * x / y", HUGE),
    Family("mean_of_halves", TWO, "x * 0.5 + y * 0.5", "(x + y) * 0.5", "x.fill_(3e38); y.fill_(3e38)"),
    Family("sum_before_scale", ROW, "(x / 16).sum(-1)", "x.sum(-1) / 16", "x.fill_(1e38)"),
    Family(
        "scaled_in_half",
        HALVES,
        "((x.float() * g.float()) @ w.float() * 0.01).half()",
        "((x * g).float() @ w.float() * 0.01).half()",
        "x[1] = 1000.0; g.fill_(100.0); w.fill_(0.01)",
    ),
    Family(
        "gain_after_the_norm",
        HALVES,
        "(x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6) * g.float()) @ w.float()",
        "(x * g).float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6) @ w.float()",
        "x[1] = 1000.0; g.fill_(100.0)",
    ),
    Family(
        "squares_in_half",
        "x fp16 8 16",
        "x.float().square().mean(-1).sqrt().half()",
        "x.square().float().mean(-1).sqrt().half()",
        "x.fill_(300.0)",
    ),
    Family(
        "scores_before_scale_in_half",
        "q fp16 8 64, k fp16 8 64",
        "torch.softmax((q.float() @ k.float().T) * 0.125, -1).half()",
        "torch.softmax((q @ k.T) * 0.125, -1).half()",
        "q.fill_(40.0); k.fill_(40.0)",
    ),
    Family(
        "exponential_in_half",
        "x fp16 8 16",
        "(x.float().exp() * 1e-3).half()",
        "(x.exp() * 1e-3).half()",
        "x.fill_(12.0)",
    ),
    Family(
        "sum_of_halves_in_half", "x fp16 8 64", "(x.float().sum(-1) / 64).half()", "x.sum(-1) / 64", "x.fill_(2000.0)"
    ),
    Family("inverse_of_a_square", ROW, "1 / x", "x * (1 / (x * x))", "x.fill_(1e-25)"),
    Family("powers_by_steps", ROW, "(x / 1e20) ** 4", "x ** 4 / 1e80 * 1", "x.fill_(1e20)"),
    Family(
        "weights_after_the_sum",
        "x fp32 8 16, w fp32 16 4",
        "(x / 1e30) @ w",
        "(x @ w) / 1e30",
        "x.fill_(1e38); w.fill_(10.0)",
    ),
)

PAIRS: tuple[Pair, ...] = every("finiteness", "differ", FAMILIES)

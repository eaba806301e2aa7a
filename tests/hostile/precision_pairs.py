"""Functions that differ from the fifth digit on: constants cut short, functions by approximations, cancellation."""

from __future__ import annotations

from hostile.pair import Family, Pair, every

ROW = "x fp32 8 64"

FAMILIES = (
    Family(
        "constant_cut",
        ROW,
        "x * {p}",
        "x * {q}",
        "",
        "p q",
        [
            (1.0, 1.0001),
            (0.08838834764831845, 0.0884),
            (0.3333333333333333, 0.3333),
            (1.4142135623730951, 1.4142),
            (0.7978845608028654, 0.798),
        ],
    ),
    Family(
        "epsilon_of_a_norm",
        ROW,
        "F.rms_norm(x, (64,), None, {p})",
        "F.rms_norm(x, (64,), None, {q})",
        "x.mul_(0.01)",
        "p q",
        [(1e-5, 1e-6), (1e-6, 1e-8), (1e-3, 1e-5)],
    ),
    Family("gelu_by_tanh", ROW, "F.gelu(x)", "F.gelu(x, approximate='tanh')"),
    Family("gelu_by_sigmoid", ROW, "F.gelu(x)", "x * torch.sigmoid(1.702 * x)"),
    Family("base_two", ROW, "x.exp()", "torch.exp2(x * 1.4427)", "x.mul_(8)"),
    Family(
        "variance_by_moments", ROW, "x.var(-1, correction=0)", "(x * x).mean(-1) - x.mean(-1) ** 2", "x.add_(1000.0)"
    ),
    Family(
        "layer_norm_by_moments",
        ROW,
        "F.layer_norm(x, (64,))",
        "(x - x.mean(-1, keepdim=True)) * torch.rsqrt((x * x).mean(-1, keepdim=True) - x.mean(-1, keepdim=True) ** 2 + 1e-5)",
        "x.add_(300.0)",
    ),
    Family("unbiased_or_not", "x fp32 2 4096", "x.var(-1)", "x.var(-1, correction=0)"),
    Family("logarithm_near_one", ROW, "torch.log1p(x)", "torch.log(1 + x)", "x.fill_(1e-5)"),
    Family("exponential_near_zero", ROW, "torch.expm1(x)", "torch.exp(x) - 1", "x.fill_(1e-5)"),
    Family(
        "difference_of_squares",
        "x fp32 8 16, y fp32 8 16",
        "(x - y) * (x + y)",
        "x * x - y * y",
        "x.fill_(1000.1); y.fill_(1000.0)",
    ),
    Family("one_minus_cosine", ROW, "2 * torch.sin(x / 2) ** 2", "1 - torch.cos(x)", "x.fill_(1e-3)"),
    Family("added_and_taken", ROW, "x + 1e6 - 1e6", "x * 1.0"),
    Family("lost_by_a_large_shift", ROW, "torch.softmax(x + 1e5, -1)", "torch.softmax(x, -1)"),
    Family("mean_over_one_less", "x fp32 2 4096", "x.mean(-1)", "x.sum(-1) / 4095"),
    Family("tanh_by_a_fraction", ROW, "torch.tanh(x)", "x * (27 + x * x) / (27 + 9 * x * x)"),
    Family("exponential_by_a_series", ROW, "x.exp()", "1 + x + x * x / 2 + x ** 3 / 6 + x ** 4 / 24"),
    Family(
        "distance_expanded",
        ROW,
        "(x - x.roll(1, 0)).square().sum(-1)",
        "x.square().sum(-1) - 2 * (x * x.roll(1, 0)).sum(-1) + x.roll(1, 0).square().sum(-1)",
        "x.mul_(0.01).add_(100.0)",
    ),
    Family("root_with_an_epsilon", ROW, "x.abs().sqrt()", "(x.abs() + 1e-6).sqrt()", "x.mul_(1e-3)"),
    Family("tail_of_the_normal", ROW, "torch.erfc(x)", "1 - torch.erf(x)", "x.fill_(4.0)"),
)

PAIRS: tuple[Pair, ...] = every("precision", "differ", FAMILIES)

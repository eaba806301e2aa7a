"""Functions that differ in digits: constants cut or rounded, approximations, counts off by one, differences of nearly equal numbers."""

from __future__ import annotations

from hostile.pair import Family, Pair, every, product

TWO = "x fp32 8 64, y fp32 8 64"
# A constant and what it is not.
CONSTANTS = [
    (0.125, 0.12505),
    (1.4426950408889634, 1.443),
    (0.08838834764831845, 0.0885),
    (0.044715, 0.045),
    (0.7978845608028654, 0.798),
    (3.141592653589793, 3.1425),
    (1.702, 1.7),
    (0.6931471805599453, 0.6935),
]
CONSTANT_USES = [
    ("factor", "x * {c} + 0.01 * y"),
    ("scores", "torch.softmax(2 * {c} * (x @ y.T), -1)"),
    ("gate", "x * torch.sigmoid({c} * y * 4)"),
    ("product", "(x * {c}) @ y.T"),
    ("scaled_sum", "(x + y).sum(-1) * {c}"),
    ("slope", "torch.where(x > 0, x, {c} * x)"),
    ("quotient", "x / ({c} + x.square())"),
    ("exponent", "torch.exp({c} * x) - y"),
    ("cap", "{c} * torch.tanh(x / {c}) + 0.01 * y"),
]
# A function and an approximation of it.
APPROXIMATIONS = [
    ("exp_series", "torch.exp({x})", "1 + {x} + {x} ** 2 / 2 + {x} ** 3 / 6 + {x} ** 4 / 24 + {x} ** 5 / 120"),
    ("exp_by_power", "torch.exp({x})", "(1 + {x} / 256) ** 256"),
    ("exp_by_cut_base", "torch.exp({x})", "2.718 ** {x}"),
    ("tanh_fraction", "torch.tanh({x})", "{x} * (15 + {x} ** 2) / (15 + 6 * {x} ** 2)"),
    ("tanh_clamped", "torch.tanh({x})", "({x} - {x} ** 3 / 3 + 2 * {x} ** 5 / 15).clamp(-1, 1)"),
    ("sigmoid_series", "torch.sigmoid({x})", "0.5 + {x} / 4 - {x} ** 3 / 48 + {x} ** 5 / 480"),
    ("sigmoid_hard", "torch.sigmoid({x})", "F.hardsigmoid({x})"),
    ("silu_hard", "F.silu({x})", "F.hardswish({x})"),
    ("sin_series", "torch.sin({x})", "{x} - {x} ** 3 / 6 + {x} ** 5 / 120"),
    ("cos_series", "torch.cos({x})", "1 - {x} ** 2 / 2 + {x} ** 4 / 24"),
    ("log1p_series", "torch.log1p({x}.abs())", "{x}.abs() - {x} ** 2 / 2 + {x}.abs() ** 3 / 3"),
    ("erf_by_tanh", "torch.erf({x})", "torch.tanh(1.1284 * {x} + 0.1009 * {x} ** 3)"),
    ("gelu_tanh", "F.gelu({x})", "F.gelu({x}, approximate='tanh')"),
    ("gelu_silu", "F.gelu({x})", "{x} * torch.sigmoid(1.702 * {x})"),
    ("softplus_series", "F.softplus({x})", "math.log(2) + {x} / 2 + {x} ** 2 / 8 - {x} ** 4 / 192"),
    ("root_newton", "torch.sqrt(1 + {x} ** 2)", "1 + {x} ** 2 / 2 - {x} ** 4 / 8"),
    ("inverse_newton", "1 / (1 + {x} ** 2 / 8)", "(2 - (1 + {x} ** 2 / 8)) * (1 + (1 - (1 + {x} ** 2 / 8)) ** 2)"),
    ("inverse_root_series", "torch.rsqrt(1 + {x} ** 2 / 8)", "1 - {x} ** 2 / 16 + 3 * {x} ** 4 / 512"),
    ("softplus_relu", "F.softplus({x})", "F.relu({x}) + math.log(2) * torch.exp(-{x}.abs())"),
]
APPROXIMATED = [
    ("of_x", "{f} + y", "x"),
    ("of_y_scaled", "x * {f}", "(0.5 * y)"),
    ("of_the_largest", "{f} * y", "x.amax(-1, keepdim=True)"),
]
# Two forms that differ where large parts cancel: {m} is how far the values are from zero.
CANCELLING = [
    ("variance", "x.var(-1, correction=0)", "(x * x).mean(-1) - x.mean(-1) ** 2"),
    (
        "covariance",
        "((x - x.mean(-1, keepdim=True)) * (y - y.mean(-1, keepdim=True))).mean(-1)",
        "(x * y).mean(-1) - x.mean(-1) * y.mean(-1)",
    ),
    ("squares", "(x - y) * (x + y) / {m}", "(x * x - y * y) / {m}"),
    ("distance", "(x - y).square().sum(-1)", "x.square().sum(-1) - 2 * (x * y).sum(-1) + y.square().sum(-1)"),
    (
        "third_moment",
        "(x - x.mean(-1, keepdim=True)) ** 3",
        "x ** 3 - 3 * x * x * x.mean(-1, keepdim=True) + 3 * x * x.mean(-1, keepdim=True) ** 2 - x.mean(-1, keepdim=True) ** 3",
    ),
    ("reassociated", "(x - y) + 0.001 * y / {m}", "(x + 0.001 * y / {m}) - y"),
    ("inverse_difference", "(y - x) / (x * y) * {m} * {m}", "(1 / x - 1 / y) * {m} * {m}"),
    ("difference_of_roots", "(x - y) / (x.sqrt() + y.sqrt())", "x.sqrt() - y.sqrt()"),
    ("difference_of_logs", "torch.log1p((x - y) / y)", "torch.log(x) - torch.log(y)"),
    ("scaled_squares", "((x - y) ** 2).mean(-1)", "x.square().mean(-1) + y.square().mean(-1) - 2 * (x * y).mean(-1)"),
]
FAR = [(300.0, "{}"), (2000.0, "-2 * ({})")]
# A count over 64 columns that is off.
COUNTS = [
    ("mean", "x.mean(-1)", "x.sum(-1) / 63"),
    ("mean_of_more", "x.mean(-1)", "x.sum(-1) / 65"),
    ("variance", "x.var(-1)", "x.var(-1, correction=0)"),
    ("deviation", "x.std(-1)", "x.std(-1, correction=2)"),
    ("norm", "F.rms_norm(x, (64,))", "x * torch.rsqrt(x.square().sum(-1, keepdim=True) / 63)"),
    ("layer_norm", "F.layer_norm(x, (64,))", "(x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)"),
    ("scale", "torch.softmax(x @ y.T / 8, -1)", "torch.softmax(x @ y.T / 63 ** 0.5, -1)"),
    ("mean_left_out", "x.mean(-1)", "x[:, :63].mean(-1)"),
    ("mean_of_all", "x.mean((0, 1))", "x.mean(0)[:63].mean(0)"),
]
COUNT_USES = [("alone", "{}"), ("inside", "torch.tanh({})"), ("scaled", "({}) * 7 - 1")]
EPSILONS = [(1e-5, 1e-6), (1e-6, 0.0), (1e-3, 9e-4), (1e-5, 2e-5)]
EPSILON_USES = [
    ("rms", "F.rms_norm(x, (64,), None, {e})", "x.mul_(0.003)"),
    ("layer", "F.layer_norm(x, (64,), None, None, {e})", "x.mul_(0.003)"),
    ("deviation", "x / (x.std(-1, keepdim=True) + {e})", "x.mul_(0.0003)"),
    ("sum", "x.abs() / (x.abs().sum(-1, keepdim=True) + {e})", "x.mul_(1e-5)"),
    ("length", "x / (x.norm(dim=-1, keepdim=True) + {e})", "x.mul_(1e-4)"),
]

FAMILIES = (
    *(
        Family(f"{use}_{p}_or_{q}", TWO, form.format(c=p), form.format(c=q))
        for (use, form), (p, q) in product(*([(row,) for row in rows] for rows in (CONSTANT_USES, CONSTANTS)))
    ),
    *(
        Family(f"{name}_{where}", TWO, form.format(f=a.format(x=x)), form.format(f=b.format(x=x)))
        for name, a, b in APPROXIMATIONS
        for where, form, x in APPROXIMATED
    ),
    *(
        Family(f"cancelling_{name}_at_{m}",
            TWO, form.format(a.format(m=m)), form.format(b.format(m=m)), f"x.mul_(0.01).add_({m}); y.mul_(0.01).add_({m})")
        for name, a, b in CANCELLING
        for m, form in FAR
    ),
    *(Family(f"count_{name}_{where}", TWO, form.format(a), form.format(b)) for name, a, b in COUNTS for where, form in COUNT_USES),
    *(
        Family(f"epsilon_{name}_{p}_or_{q}", TWO, form.format(e=p), form.format(e=q), witness)
        for name, form, witness in EPSILON_USES
        for p, q in EPSILONS
    ),
)  # fmt: skip

PAIRS: tuple[Pair, ...] = every("precision", "differ", FAMILIES)

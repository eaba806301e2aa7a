"""Functions of which one is NaN or infinite where the other is a number, on finite inputs; and on infinite or NaN inputs."""

from __future__ import annotations

from hostile.pair import Family, Pair, every

ROW = "x fp32 8 16"
TWO = "x fp32 8 16, y fp32 8 16"
ZERO, NEGATIVE = "x[2, 3] = 0.0", "x[2, 3] = -2.0"
BOTH_NEGATIVE = "x.fill_(-2.0); y.fill_(-3.0)"
AROUND = [("{}",), ("({}).sum(-1)",), ("torch.exp({})",), ("torch.tanh({}) + x",)]


def around(
    name: str, inputs: str, a: str, b: str, witness: str, forms: list[tuple[str]] = AROUND
) -> tuple[Family, ...]:
    """The pair alone, and as a part of something larger."""
    kinds = ("alone", "summed", "below_exp", "in_a_sum")
    return tuple(
        Family(f"{name}_{kind}", inputs, form.replace("{}", a), form.replace("{}", b), witness)
        for kind, (form,) in zip(kinds, forms)
    )


ALGEBRA = (
    ("quotient_of_itself", ROW, "x / x", "torch.ones_like(x)", ZERO),
    ("root_squared", ROW, "torch.sqrt(x) ** 2", "x * 1.0", NEGATIVE),
    ("exp_of_log", ROW, "torch.exp(torch.log(x))", "x * 1.0", NEGATIVE),
    ("log_of_product", TWO, "torch.log(x) + torch.log(y)", "torch.log(x * y)", BOTH_NEGATIVE),
    ("root_of_product", TWO, "torch.sqrt(x) * torch.sqrt(y)", "torch.sqrt(x * y)", BOTH_NEGATIVE),
    ("factor_cancelled", TWO, "y * x / x", "y * 1.0", ZERO),
    ("log_cancelled", TWO, "y + torch.log(x) - torch.log(x)", "y * 1.0", NEGATIVE),
    ("inverse_roots", ROW, "torch.rsqrt(x) * torch.sqrt(x)", "torch.ones_like(x)", ZERO),
    ("root_of_quotient", TWO, "torch.sqrt(x) / torch.sqrt(y)", "torch.sqrt(x / y)", BOTH_NEGATIVE),
    ("square_by_logs", ROW, "torch.exp(2 * torch.log(x))", "x * x", NEGATIVE),
)
SCORES = "x fp32 8 16, m fp32 8 16"
MASKED = "x.masked_fill(m > 0, float('-inf'))"
ALL_MASKED = "m[1] = 1.0"
MASKED_ROWS = (
    ("softmax", f"torch.softmax({MASKED}, -1)", f"torch.nan_to_num(torch.softmax({MASKED}, -1))"),
    ("log_softmax", f"torch.log_softmax({MASKED}, -1).exp()", f"torch.nan_to_num(torch.softmax({MASKED}, -1))"),
    (
        "exponentials",
        f"torch.softmax({MASKED}, -1)",
        "x.exp() * (m <= 0) / (x.exp() * (m <= 0)).sum(-1, keepdim=True).clamp(min=1e-30)",
    ),
    ("finite_mask", f"torch.softmax({MASKED}, -1)", "torch.softmax(x.masked_fill(m > 0, -1e9), -1)"),
    ("maximum", f"{MASKED}.amax(-1)", "x.masked_fill(m > 0, -1e30).amax(-1)"),
    ("logsumexp", f"{MASKED}.logsumexp(-1)", "(x.exp() * (m <= 0)).sum(-1).clamp(min=1e-30).log()"),
    (
        "mean_of_kept",
        "(x * (m <= 0)).sum(-1) / (m <= 0).sum(-1)",
        "(x * (m <= 0)).sum(-1) / (m <= 0).sum(-1).clamp(min=1)",
    ),
)
FILLED = [("float('-inf')", "-1e9"), ("float('-inf')", "-1e4")]
FAMILIES = (
    *(f for row in ALGEBRA for f in around(*row)),
    *(Family(f"row_all_masked_{n}", SCORES, a, b, ALL_MASKED) for n, a, b in MASKED_ROWS),
    Family(
        "attention_of_a_masked_row",
        "q fp32 8 16, k fp32 8 16, m fp32 8 8",
        "torch.softmax((q @ k.T).masked_fill(m > 0, {p}), -1) @ k",
        "torch.softmax((q @ k.T).masked_fill(m > 0, {q}), -1) @ k",
        ALL_MASKED,
        "p q",
        FILLED,
    ),
    Family("selected_after_division", TWO, "torch.where(x != 0, y / x, 0.0)", "y / x * (x != 0).float()", ZERO),
    Family(
        "selected_after_log", ROW, "torch.where(x > 0, torch.log(x), 0.0)", "torch.log(x) * (x > 0).float()", NEGATIVE
    ),
    Family("selected_after_root", ROW, "torch.where(x > 0, torch.sqrt(x), 0.0)", "torch.sqrt(x) * (x > 0)", NEGATIVE),
    Family(
        "infinite_mask_times_zero", SCORES, "torch.where(m > 0, x, 0.0)", "x * (m > 0)", "x[2, 3] = inf; m[2, 3] = -1.0"
    ),
    Family("root_of_a_clamped", ROW, "torch.sqrt(x.clamp(min=0))", "torch.sqrt(x)", NEGATIVE),
    Family("log_of_a_clamped", ROW, "torch.log(x.clamp(min=1e-6))", "torch.log(x)", ZERO),
    Family("epsilon_in_a_quotient", TWO, "y / x.abs().clamp(min={e})", "y / x.abs()", ZERO, "e", [(1e-6,), (1e-12,)]),
    Family(
        "epsilon_in_a_norm",
        ROW,
        "x * torch.rsqrt((x * x).mean(-1, keepdim=True) + {e})",
        "x * torch.rsqrt((x * x).mean(-1, keepdim=True))",
        "x[1] = 0.0",
        "e",
        [(1e-5,), (1e-12,)],
    ),
    Family(
        "epsilon_in_a_deviation",
        ROW,
        "(x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6)",
        "(x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)",
        "x[1] = 0.0",
    ),
    Family("normalised_zero_row", ROW, "F.normalize(x, dim=-1)", "x / x.norm(dim=-1, keepdim=True)", "x[1] = 0.0"),
    Family("real_power", ROW, "x ** {p}", "x.abs() ** {p}", NEGATIVE, "p", [(0.5,), (1.5,), (-0.5,)]),
    Family("power_by_logs", ROW, "x ** 3", "torch.exp(3 * torch.log(x))", NEGATIVE),
    Family("zero_power", TWO, "y * x ** 0", "y * (x / x)", ZERO),
    Family("quotient_of_products", TWO, "(x * y) / (x * y)", "x / x", "y[2, 3] = 0.0"),
    Family("sum_of_quotients", TWO, "(x + y) / (x + y)", "torch.ones_like(x)", "y.copy_(-x)"),
    Family("logarithm_of_square", ROW, "torch.log(x * x)", "2 * torch.log(x)", NEGATIVE),
    Family("sigmoid_by_quotient", ROW, "x.abs() / (1 + x.abs())", "1 / (1 + 1 / x.abs()) + 0 / x", ZERO),
)
NOT_FINITE = (
    Family("difference_of_itself", ROW, "x - x", "torch.zeros_like(x)", "x[2, 3] = inf"),
    Family("times_zero", ROW, "x * 0", "torch.zeros_like(x)", "x[2, 3] = inf"),
    Family("added_and_taken_away", TWO, "x + y - y", "x * 1.0", "y[2, 3] = inf"),
    Family("not_below_or_above", TWO, "torch.where(x < 0, y, -y)", "torch.where(x >= 0, -y, y)", "x[2, 3] = nan"),
    Family("equal_to_itself", ROW, "(x == x).float()", "torch.ones_like(x)", "x[2, 3] = nan"),
    Family(
        "clamp_by_where",
        ROW,
        "x.clamp(-1, 1)",
        "torch.where(x > 1, 1.0, torch.where(x > -1, x, -1.0))",
        "x[2, 3] = nan",
    ),
    Family(
        "distributed",
        "x fp32 8 16, y fp32 8 16, z fp32 8 16",
        "x * (y - z)",
        "x * y - x * z",
        "x[2, 3] = inf; y[2, 3] = 2.0; z[2, 3] = 1.0",
    ),
    Family(
        "silu_as_product", ROW, "x * torch.sigmoid(x) * 0.5", "0.5 * x - 0.5 * x * torch.sigmoid(-x)", "x[2, 3] = inf"
    ),
    Family(
        "softmax_of_an_infinity", ROW, "torch.softmax(x, -1)", "torch.nan_to_num(torch.softmax(x, -1))", "x[2, 3] = inf"
    ),
    Family("twice_inverted", ROW, "x - 1 / (1 / x)", "torch.zeros_like(x)", "x[2, 3] = inf"),
)

PAIRS: tuple[Pair, ...] = (
    *every("definedness", "differ", FAMILIES),
    *every("infinite inputs", "differ", NOT_FINITE),
)

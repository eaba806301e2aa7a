"""Functions that differ in a constant that values are compared with, in a strict or a weak order, or in a kind of rounding."""

from __future__ import annotations

from hostile.pair import Family, Pair, every

ROW = "x fp32 8 16"
THREE = "x fp32 8 16, y fp32 8 16, z fp32 8 16"
BETWEEN = "x.uniform_({p} + 0.25 * ({q} - {p}), {q} - 0.25 * ({q} - {p}))"
CLOSE = [(2, 3), (0, 0.01), (-1.5, 1), (100, 101), (0.5, 0.75)]
ABOVE_ZERO = [(2, 3), (0.25, 0.36), (100, 144)]
ON = [(0.0,), (2.0,), (-0.5,)]

FAMILIES = (
    Family("where_above", THREE, "torch.where(x > {p}, y, z)", "torch.where(x > {q}, y, z)", BETWEEN, "p q", CLOSE),
    Family("clamp_min", ROW, "x.clamp(min={p}) * 2", "x.clamp(min={q}) * 2", BETWEEN, "p q", CLOSE),
    Family("clamp_max", ROW, "x.exp().log().clamp(max={p})", "x.exp().log().clamp(max={q})", BETWEEN, "p q", CLOSE[:3]),
    Family("shifted_relu", ROW, "F.relu(x - {p})", "F.relu(x - {q})", BETWEEN, "p q", CLOSE),
    Family("threshold", ROW, "F.threshold(x, {p}, -7.0)", "F.threshold(x, {q}, -7.0)", BETWEEN, "p q", CLOSE[:4]),
    Family(
        "maximum_with_full",
        ROW,
        "torch.maximum(x, torch.full_like(x, {p}))",
        "torch.maximum(x, torch.full_like(x, {q}))",
        BETWEEN,
        "p q",
        CLOSE[:4],
    ),
    Family(
        "masked_fill",
        ROW,
        "x.masked_fill(x >= {p}, 500.0)",
        "x.masked_fill(x >= {q}, 500.0)",
        BETWEEN,
        "p q",
        CLOSE[:4],
    ),
    Family(
        "gate_of_row_maximum",
        THREE,
        "torch.where(x.amax(-1, keepdim=True) > {p}, y, z)",
        "torch.where(x.amax(-1, keepdim=True) > {q}, y, z)",
        BETWEEN,
        "p q",
        CLOSE[:4],
    ),
    Family(
        "gate_of_row_mean",
        THREE,
        "(x.mean(-1, keepdim=True) > {p}).float() * y + z",
        "(x.mean(-1, keepdim=True) > {q}).float() * y + z",
        BETWEEN,
        "p q",
        CLOSE[:4],
    ),
    Family(
        "gate_of_square",
        THREE,
        "torch.where(x * x < {p}, y, z)",
        "torch.where(x * x < {q}, y, z)",
        "x.fill_((({p} + {q}) / 2) ** 0.5)",
        "p q",
        ABOVE_ZERO,
    ),
    Family(
        "squares_clamped",
        ROW,
        "(x * x).clamp(min={p})",
        "x * x",
        "x.fill_({p} ** 0.5 / 2)",
        "p",
        [(1,), (0.01,), (1e-4,)],
    ),
    Family(
        "strict_or_weak", THREE, "torch.where(x > {p}, y, z)", "torch.where(x >= {p}, y, z)", "x.fill_({p})", "p", ON
    ),
    Family(
        "below_or_not_above",
        THREE,
        "torch.where(x < {p}, y, z)",
        "torch.where(x <= {p}, y, z)",
        "x.fill_({p})",
        "p",
        ON,
    ),
    Family("equal_or_never", THREE, "torch.where(x == {p}, y, z)", "z * 1.0", "x.fill_({p})", "p", ON),
    Family(
        "largest_or_above_it",
        ROW,
        "torch.where(x >= x.amax(-1, keepdim=True), x, 0.0)",
        "torch.where(x > x.amax(-1, keepdim=True), x, 0.0)",
    ),
    Family(
        "one_of_equal_largest",
        ROW,
        "torch.where(x == x.amax(-1, keepdim=True), x, 0.0)",
        "torch.where(torch.arange(16) == x.argmax(-1, keepdim=True), x, 0.0)",
        "x.fill_(2.0)",
    ),
    Family(
        "crossed_ends",
        ROW,
        "x.clamp(min=3, max=1)",
        "torch.maximum(torch.minimum(x, torch.ones_like(x)), torch.full_like(x, 3))",
    ),
    Family(
        "running_largest",
        ROW,
        "torch.cummax(x, -1).values[:, -1].clamp(min=2)",
        "x.amax(-1).clamp(min=2.5)",
        "x.fill_(2.25)",
    ),
    Family(
        "mean_or_median",
        ROW,
        "torch.where(x > x.mean(-1, keepdim=True), x, 0.0)",
        "torch.where(x > x.median(-1, keepdim=True).values, x, 0.0)",
        "x[:, 0] = 100.0",
    ),
    Family("tie_of_two", THREE, "torch.where(x > y, z, -z)", "torch.where(x >= y, z, -z)", "y.copy_(x)"),
    Family(
        "relu_at_a_cap", ROW, "F.relu6(x)", "x.clamp(0, {p})", "x.fill_({w})", "p w", [(5, 5.9), (5.5, 5.9), (7, 6.5)]
    ),
    Family(
        "capped_by_sigmoid",
        THREE,
        "torch.where(torch.sigmoid(x) > 0.5, y, z)",
        "torch.where(x > {p}, y, z)",
        "x.fill_({p} / 2)",
        "p",
        [(0.1,), (-0.1,), (1,)],
    ),
    Family(
        "softmax_gate",
        THREE,
        "torch.where(torch.softmax(x, -1) > {p}, y, z)",
        "torch.where(torch.softmax(x, -1) > {q}, y, z)",
        "x.zero_()",
        "p q",
        [(0.05, 0.07), (0.06, 0.1)],
    ),
    Family("sign_at_zero", ROW, "torch.sign(x)", "torch.where(x >= 0, 1.0, -1.0)", "x.zero_()"),
    Family("floor_or_trunc", ROW, "torch.floor(x)", "torch.trunc(x)", "x.fill_(-1.5)"),
    Family("ceil_or_floor_plus", ROW, "torch.ceil(x)", "torch.floor(x) + 1", "x.fill_(2.0)"),
    Family("round_or_floor_half", ROW, "torch.round(x)", "torch.floor(x + 0.5)", "x.fill_(2.5)"),
    Family("remainder_or_fmod", ROW, "torch.remainder(x, 3.0)", "torch.fmod(x, 3.0)", "x.fill_(-1.0)"),
    Family("heaviside_at_zero", ROW, "(x > 0).float()", "torch.heaviside(x, torch.full_like(x, 0.5))", "x.zero_()"),
    Family("leaky_slope", ROW, "F.leaky_relu(x, 0.01)", "torch.maximum(x, 0.02 * x)", "x.fill_(-3.0)"),
    Family("hard_sigmoid_cap", ROW, "(x / 6 + 0.5).clamp(0, 1)", "(x / 6 + 0.5).clamp(0, 0.9)", "x.fill_(3.0)"),
    Family(
        "softshrink", ROW, "torch.where(x.abs() > 0.5, x, 0.0)", "torch.where(x.abs() > 0.6, x, 0.0)", "x.fill_(0.55)"
    ),
    Family("two_sided", THREE, "torch.where((x > -1) & (x < 1), y, z)", "torch.where(x < 1, y, z)", "x.fill_(-2.0)"),
    Family("either_side", THREE, "torch.where((x > 1) | (x < -1), y, z)", "torch.where(x > 1, y, z)", "x.fill_(-2.0)"),
    Family(
        "relu_dropped_after_square_root", ROW, "F.relu(x.abs().sqrt() - 0.5)", "x.abs().sqrt() - 0.5", "x.fill_(0.01)"
    ),
    Family(
        "clamped_denominator",
        ROW,
        "x / x.abs().sum(-1, keepdim=True).clamp(min=1.0)",
        "x / x.abs().sum(-1, keepdim=True)",
        "x.fill_(0.01)",
    ),
    Family(
        "clamped_norm", ROW, "F.normalize(x, dim=-1, eps=1e-2)", "F.normalize(x, dim=-1, eps=1e-12)", "x.fill_(1e-4)"
    ),
    Family("absolute_dropped", ROW, "(x.exp() - 1).abs()", "x.exp() - 1", "x.fill_(-1.0)"),
    Family("min_for_max", ROW, "torch.minimum(x, x * x)", "x * x", "x.fill_(2.0)"),
    Family("cap_above_usual", "x fp32 8 16, w fp32 16 4", "x.clamp(max=1000) @ w", "x @ w", "x.fill_(2000.0)"),
    Family(
        "cap_of_scores",
        "q fp32 8 16, k fp32 8 16",
        "torch.softmax((q @ k.T).clamp(max=30), -1)",
        "torch.softmax(q @ k.T, -1)",
        "q.fill_(4.0); k.copy_(torch.arange(8.0)[:, None].expand(8, 16))",
    ),
    Family(
        "last_step_of_stairs",
        ROW,
        "(x > 0).float() + (x > 1).float() + (x > 2).float()",
        "(x > 0).float() + (x > 1).float() + (x > 3).float()",
        "x.fill_(2.5)",
    ),
)

PAIRS: tuple[Pair, ...] = every("threshold", "differ", FAMILIES)

"""Functions that are equal by laws of order: minima and maxima, clamps, absolute values, comparisons, sorts of `where`."""

from __future__ import annotations

from hostile.pair import Family, Pair, every

ROW = "x fp32 8 16"
TWO = "x fp32 8 16, y fp32 8 16"
THREE = "x fp32 8 16, y fp32 8 16, z fp32 8 16"
CONSTANTS = [(0,), (2,), (-1.5,), (1e-3,)]

FAMILIES = (
    Family("relu_as_maximum", ROW, "F.relu(x)", "torch.maximum(x, torch.zeros_like(x))"),
    Family("relu_as_clamp", ROW, "F.relu(x)", "x.clamp(min=0)"),
    Family("relu_as_where", ROW, "F.relu(x)", "torch.where(x > 0, x, 0.0)"),
    Family("relu_as_mean", ROW, "F.relu(x)", "(x + x.abs()) / 2"),
    Family("relu_twice", ROW, "F.relu(F.relu(x))", "F.relu(x)"),
    Family("relu_difference", ROW, "F.relu(x) - F.relu(-x)", "x * 1.0"),
    Family("relu_sum", ROW, "F.relu(x) + F.relu(-x)", "x.abs()"),
    Family("relu_of_a_square", ROW, "F.relu(x * x)", "x * x"),
    Family("relu_of_a_softmax", ROW, "F.relu(torch.softmax(x, -1))", "torch.softmax(x, -1)"),
    Family("relu_scaled", ROW, "F.relu(3 * x)", "3 * F.relu(x)"),
    Family("relu6_as_clamp", ROW, "F.relu6(x)", "x.clamp(0, 6)"),
    Family("relu6_as_minimum", ROW, "F.relu6(x)", "torch.minimum(F.relu(x), torch.full_like(x, 6))"),
    Family("leaky_as_maximum", ROW, "F.leaky_relu(x, 0.1)", "torch.maximum(x, 0.1 * x)"),
    Family("leaky_as_where", ROW, "F.leaky_relu(x, 0.01)", "torch.where(x >= 0, x, x * 0.01)"),
    Family("hardtanh_as_clamp", ROW, "F.hardtanh(x)", "x.clamp(-1, 1)"),
    Family("hard_sigmoid", ROW, "F.hardsigmoid(x)", "(x + 3).clamp(0, 6) / 6"),
    Family("hard_swish", ROW, "F.hardswish(x)", "x * F.relu6(x + 3) / 6"),
    Family("absolute_of_product", TWO, "(x * y).abs()", "x.abs() * y.abs()"),
    Family("absolute_as_maximum", ROW, "x.abs()", "torch.maximum(x, -x)"),
    Family("absolute_as_where", ROW, "x.abs()", "torch.where(x < 0, -x, x)"),
    Family("absolute_of_negative", ROW, "(-x).abs()", "x.abs()"),
    Family("absolute_of_difference", TWO, "(x - y).abs()", "torch.maximum(x, y) - torch.minimum(x, y)"),
    Family("square_of_absolute", ROW, "x.abs() * x.abs()", "x * x"),
    Family("sum_of_extremes", TWO, "torch.maximum(x, y) + torch.minimum(x, y)", "x + y"),
    Family("product_of_extremes", TWO, "torch.maximum(x, y) * torch.minimum(x, y)", "x * y"),
    Family("maximum_by_absolute", TWO, "torch.maximum(x, y)", "(x + y + (x - y).abs()) / 2"),
    Family("maximum_by_relu", TWO, "torch.maximum(x, y)", "y + F.relu(x - y)"),
    Family("maximum_by_where", TWO, "torch.maximum(x, y)", "torch.where(x > y, x, y)"),
    Family("maximum_commutes", TWO, "torch.maximum(x, y)", "torch.maximum(y, x)"),
    Family(
        "maximum_associates", THREE, "torch.maximum(torch.maximum(x, y), z)", "torch.maximum(x, torch.maximum(y, z))"
    ),
    Family("maximum_shifted", THREE, "torch.maximum(x + z, y + z)", "torch.maximum(x, y) + z"),
    Family("maximum_absorbs", TWO, "torch.maximum(x, torch.minimum(x, y))", "x * 1.0"),
    Family(
        "maximum_distributes",
        THREE,
        "torch.maximum(x, torch.minimum(y, z))",
        "torch.minimum(torch.maximum(x, y), torch.maximum(x, z))",
    ),
    Family("maximum_of_exponentials", TWO, "torch.maximum(x.exp(), y.exp())", "torch.maximum(x, y).exp()"),
    Family("maximum_of_itself", ROW, "torch.maximum(x, x)", "x * 1.0"),
    Family("minimum_by_negatives", TWO, "torch.minimum(x, y)", "-torch.maximum(-x, -y)"),
    Family("least_by_negatives", ROW, "x.amin(-1)", "-(-x).amax(-1)"),
    Family("largest_of_halves", ROW, "x.amax(-1)", "torch.maximum(x[:, :8].amax(-1), x[:, 8:].amax(-1))"),
    Family("largest_of_uneven_parts", ROW, "x.amax(-1)", "torch.maximum(x[:, :5].amax(-1), x[:, 5:].amax(-1))"),
    Family("largest_scaled", ROW, "(x * 3).amax(-1)", "x.amax(-1) * 3"),
    Family("largest_shifted", ROW, "(x + 5).amax(-1)", "x.amax(-1) + 5"),
    Family("largest_in_two_steps", ROW, "x.amax((0, 1))", "x.amax(0).amax(0)"),
    Family("largest_of_relu", ROW, "F.relu(x).amax(-1)", "F.relu(x.amax(-1))"),
    Family("clamp_twice", ROW, "x.clamp(-2, 2).clamp(-1, 1)", "x.clamp(-1, 1)"),
    Family("clamp_in_two", ROW, "x.clamp(-1, 2)", "x.clamp(max=2).clamp(min=-1)"),
    Family("clamp_scaled", ROW, "x.clamp(-1, 1) * 2", "(x * 2).clamp(-2, 2)"),
    Family("clamp_negated", ROW, "-x.clamp(-1, 2)", "(-x).clamp(-2, 1)"),
    Family("clamp_of_a_sigmoid", ROW, "torch.sigmoid(x).clamp(0, 1)", "torch.sigmoid(x)"),
    Family("clamp_of_a_cosine", ROW, "torch.cos(x).clamp(-2, 2)", "torch.cos(x)"),
    Family("clamp_of_a_square", ROW, "(x * x).clamp(min={c})", "x * x", "", "c", [(0,), (-1,), (-1e-6,)]),
    Family("clamp_as_where", ROW, "x.clamp(min={c})", "torch.where(x < {c}, {c}, x)", "", "c", CONSTANTS),
    Family("clamp_as_relu", ROW, "x.clamp(min={c})", "F.relu(x - {c}) + {c}", "", "c", CONSTANTS),
    Family("where_negated", THREE, "torch.where(x > {c}, y, z)", "torch.where(x <= {c}, z, y)", "", "c", CONSTANTS),
    Family("where_by_not", THREE, "torch.where(x > {c}, y, z)", "torch.where(~(x > {c}), z, y)", "", "c", CONSTANTS),
    Family(
        "where_moved", THREE, "torch.where(x - {c} > 0, y, z)", "torch.where(x > {c}, y, z)", "", "c", CONSTANTS[:3]
    ),
    Family("where_flipped", THREE, "torch.where(x > {c}, y, z)", "torch.where(-x < -({c}), y, z)", "", "c", CONSTANTS),
    Family(
        "where_as_factor", THREE, "torch.where(x > {c}, y, z)", "y * (x > {c}) + z * (x <= {c})", "", "c", CONSTANTS
    ),
    Family("where_of_a_sum", THREE, "torch.where(x > 0, y + 1, z + 1)", "torch.where(x > 0, y, z) + 1"),
    Family("where_of_an_exponential", THREE, "torch.where(x > 0, y.exp(), z.exp())", "torch.where(x > 0, y, z).exp()"),
    Family("where_alike", THREE, "torch.where(x > 0, y, y) + z", "y + z"),
    Family("where_nested", THREE, "torch.where(x > 0, torch.where(x > 0, y, z), z)", "torch.where(x > 0, y, z)"),
    Family(
        "where_nested_in_order", THREE, "torch.where(x > 2, torch.where(x > 1, y, z), z)", "torch.where(x > 2, y, z)"
    ),
    Family(
        "where_both",
        THREE,
        "torch.where((x > 0) & (y > 0), z, 0.0)",
        "torch.where(x > 0, torch.where(y > 0, z, 0.0), 0.0)",
    ),
    Family(
        "where_either",
        THREE,
        "torch.where((x > 0) | (y > 0), z, 0.0)",
        "torch.where(x > 0, z, torch.where(y > 0, z, 0.0))",
    ),
    Family(
        "where_by_de_morgan",
        THREE,
        "torch.where(~((x > 0) & (y > 0)), z, 0.0)",
        "torch.where((x <= 0) | (y <= 0), z, 0.0)",
    ),
    Family("where_filled", TWO, "torch.where(y > 0, x, 0.0)", "x.masked_fill(y <= 0, 0.0)"),
    Family("where_both_thresholds", THREE, "torch.where((x > 1) & (x > 3), y, z)", "torch.where(x > 3, y, z)"),
    Family("never_true", THREE, "torch.where(x * x < 0, y, z)", "z * 1.0"),
    Family("always_true", THREE, "torch.where(x.exp() >= 0, y, z)", "y * 1.0"),
    Family("squares_against_one", THREE, "torch.where(x * x > 1, y, z)", "torch.where(x.abs() > 1, y, z)"),
    Family(
        "nested_interval",
        THREE,
        "torch.where((x > 0) & (x < 1), y, z)",
        "torch.where(x < 1, torch.where(x > 0, y, z), z)",
    ),
    Family("comparison_swapped", THREE, "torch.where(x < y, z, -z)", "torch.where(y > x, z, -z)"),
    Family(
        "sorted_pair",
        TWO,
        "torch.where(x < y, x, y), torch.where(x < y, y, x)",
        "torch.minimum(x, y), torch.maximum(x, y)",
    ),
    Family(
        "middle_of_three",
        THREE,
        "torch.maximum(torch.minimum(x, y), torch.minimum(torch.maximum(x, y), z))",
        "x + y + z - torch.maximum(x, torch.maximum(y, z)) - torch.minimum(x, torch.minimum(y, z))",
    ),
    Family("sign_by_comparisons", ROW, "torch.sign(x)", "(x > 0).float() - (x < 0).float()"),
    Family("sign_times_absolute", ROW, "torch.sign(x) * x.abs()", "x * 1.0"),
    Family("floor_by_ceil", ROW, "torch.floor(x)", "-torch.ceil(-x)"),
    Family("floor_of_a_shift", ROW, "torch.floor(torch.round(x) + 3)", "torch.round(x) + 3"),
    Family("heads_of_a_soft_cap", ROW, "(30 * torch.tanh(x / 30)).clamp(-30, 30)", "30 * torch.tanh(x / 30)"),
    Family("count_above", ROW, "(x > 1).float().sum(-1)", "16 - (x <= 1).float().sum(-1)"),
    Family("quotient_clamped", TWO, "y / x.abs().clamp(min=1)", "y / torch.maximum(x.abs(), torch.ones_like(x))"),
    Family("elu_as_where", ROW, "F.elu(x)", "torch.where(x > 0, x, torch.expm1(x.clamp(max=0)))"),
    Family("threshold_as_where", ROW, "F.threshold(x, 0.5, -1.0)", "torch.where(x > 0.5, x, -1.0)"),
)

PAIRS: tuple[Pair, ...] = every("equal: order", "equal", FAMILIES)

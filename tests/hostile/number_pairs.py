"""Functions that differ, or are equal, by the rules of numbers: promotion of Python's, whole quotients, NaN, order, truth, wrapping."""

from __future__ import annotations

from hostile.pair import Family, Pair, every

ROW = "x fp32 8 16"
TWO = "x fp32 8 16, y fp32 8 16"
THREE = "x fp32 8 16, y fp32 8 16, z fp32 8 16"
WHOLE = "x fp32 8 16, n int64 8 16"
WHOLES = "n int64 8 16, m int64 8 16"
SMALL = "x fp32 8 16, n int32 8 16"
HALF = "x fp16 8 16"
SIGNED = "n.copy_((torch.arange(128) - 64).reshape(8, 16))"
FLOATS = "x.copy_(torch.linspace(-4.9, 4.8, 128).reshape(8, 16))"

DIFFER = (
    # whole quotients and rests of what is negative
    ("floor_or_trunc_quotient", WHOLE, "x * (n // {c})", "x * torch.div(n, {c}, rounding_mode='trunc')", SIGNED, "c", [(2,), (3,), (7,)]),
    ("rest_or_fmod", WHOLE, "x * (n % {c})", "x * torch.fmod(n, {c})", SIGNED, "c", [(2,), (3,), (7,)]),
    ("sign_of_the_divisor", WHOLE, "x * (n % {c})", "x * (n % -{c})", SIGNED, "c", [(2,), (3,), (5,)]),
    ("quotient_of_a_negative", WHOLE, "x * (-n // {c})", "x * -(n // {c})", SIGNED, "c", [(2,), (3,), (5,)]),
    ("shift_or_quotient_up", WHOLE, "x * ((n + {d}) // {c})", "x * (n // {c} + 1)", SIGNED, "c d", [(4, 3), (3, 2)]),
    ("quotient_of_floats", ROW, "torch.floor(x / {c})", "torch.trunc(x / {c})", FLOATS, "c", [(2,), (0.5,)]),
    ("rest_of_floats", ROW, "torch.remainder(x, {c})", "torch.fmod(x, {c})", FLOATS, "c", [(2,), (1.5,)]),
    ("index_quotient", ROW, "x * ((torch.arange(16) - 8) // {c})", "x * -((8 - torch.arange(16)) // {c})", "", "c", [(3,), (5,)]),
    ("round_or_floor", ROW, "torch.round(x)", "torch.floor(x)", FLOATS),
    ("round_or_half_away", ROW, "torch.round(x)", "torch.sign(x) * torch.floor(x.abs() + 0.5)", "x.fill_(2.5)"),
    ("round_twice", ROW, "torch.round(2 * x) / 2", "torch.round(x)", FLOATS),
    # truth
    ("flags_added", TWO, "((x > 0) | (y > 0)).float()", "(x > 0).float() + (y > 0).float()", "x.abs_(); y.abs_()"),
    ("flags_multiplied", TWO, "((x > 0) & (y > 0)).float()", "((x > 0) | (y > 0)).float()"),
    ("flags_unlike", TWO, "((x > 0) ^ (y > 0)).float()", "((x > 0) | (y > 0)).float()", "x.abs_(); y.abs_()"),
    ("flags_taken_away", TWO, "(x > 0).float() - (y > 0).float()", "((x > 0) & ~(y > 0)).float()"),
    ("flags_in_order", TWO, "((x > 0).float() < (y > 0).float()).float()", "((x > 0).float() <= (y > 0).float()).float()"),
    ("any_or_all", ROW, "(x > 0).any(-1).float()", "(x > 0).all(-1).float()"),
    ("counted_or_any", ROW, "(x > 0).float().sum(-1)", "(x > 0).any(-1).float()"),
    ("negation_of_a_number", WHOLE, "x * (n == 0)", "x * (n != 0)"),
    # integers in place of their products
    ("product_of_wholes", WHOLES, "n * m", "n * (m + 1)"),
    ("sum_in_wholes", SMALL, "x * (n + 2147483647 - 2147483647)", "x * (n + 1)"),
    ("wholes_wrapped", SMALL, "x * (n * 65536 * 65536)", "x * n * 65536.0 * 65536.0"),
    ("long_or_int", SMALL, "x * (n.long() * 3000000000)", "x * (n * 1294967296)", "n.fill_(1)"),
    # the dtype of a sum
    ("sum_in_half", HALF, "x.sum(-1).float()", "x.float().sum(-1)", "x.fill_(1000.0); x[:, 0] = 1001.0"),
    ("mean_in_half", HALF, "(x * x).mean(-1).float()", "(x.float() * x.float()).mean(-1)", "x.fill_(300.0)"),
    ("half_before_the_number", "x fp16 8 16, y fp32 8 16", "(x * 3.0) * y", "x * (3.0 * y)", "x.fill_(0.1)"),
    # Python's numbers beside tensors
    ("whole_power", ROW, "x ** {p}", "x ** {q}", "", "p q", [(2, 2.5), (3, 2), (-1, 1)]),
    ("negated_power", ROW, "-x ** 2", "(-x) ** 2"),
    ("number_power", ROW, "2 ** x", "x ** 2"),
    ("number_first", ROW, "1 - x", "x - 1"),
    ("number_divided", ROW, "2 / (x.abs() + 1)", "(x.abs() + 1) / 2"),
    # in place, through a view
    ("view_changed", ROW, "y = x.clone()\ny[:, :8].mul_(2)\nreturn y", "y = x.clone()\ny[:, :8].mul(2)\nreturn y"),
    ("row_changed", ROW, "y = x.clone()\ny[0] += 1\nreturn y", "y = x.clone()\ny[:, 0] += 1\nreturn y"),
    ("turned_view_changed", "x fp32 8 8", "y = x.clone()\ny.T[0].zero_()\nreturn y", "y = x.clone()\ny[0].zero_()\nreturn y"),
    ("changed_before_read", ROW, "y = x * 2\nz = y[:, :8]\ny.add_(1)\nreturn z", "y = x * 2\nz = y[:, :8] * 1.0\ny.add_(1)\nreturn z"),
    ("part_filled", ROW, "y = x * 1.0\ny[2:4] = 0.0\nreturn y", "y = x * 1.0\ny[2:5] = 0.0\nreturn y"),
    # order and its ends
    ("largest_or_largest_size", ROW, "x.amax(-1)", "x.abs().amax(-1)", "x.neg_(); x.clamp_(max=-0.5)"),
    ("ends_crossed", ROW, "x.clamp(1, -1)", "x.clamp(-1, 1)"),
    ("median_or_mean", ROW, "x.median(-1).values", "x.mean(-1)"),
    ("lower_or_upper_median", ROW, "x.median(-1).values", "x.sort(-1).values[:, 8]"),
    ("sorted_or_not", ROW, "x.sort(-1).values[:, 3]", "x[:, 3]"),
    ("kth_from_the_other_end", ROW, "x.kthvalue({k}, -1).values", "x.topk({k}, -1).values[:, -1]", "", "k", [(1,), (3,), (8,)]),
    ("sum_of_the_largest", ROW, "x.topk({k}, -1).values.sum(-1)", "x.topk({l}, -1).values.sum(-1)", "", "k l", [(2, 3), (7, 8), (15, 16)]),
    ("sorted_differences", ROW, "torch.diff(x.sort(-1).values)", "torch.diff(x).abs()"),
    ("gathered_twice", ROW, "x[:, torch.arange(16) // 2]", "x[:, torch.arange(16) % 8]"),
    ("gathered_one_off", ROW, "x[:, (torch.arange(16) + 1) % 16]", "x.roll(1, -1)"),
    ("gathered_less", ROW, "x[:, torch.arange(15)].sum(-1)", "x.sum(-1)"),
    # functions beside their neighbours
    ("log_of_other_bases", ROW, "torch.log2(x.abs() + 1)", "torch.log10(x.abs() + 1)"),
    ("log_in_a_wrong_base", ROW, "torch.log2(x.abs() + 1) * {p}", "torch.log(x.abs() + 1)", "", "p", [(0.6931,), (0.6932,), (0.7,)]),
    ("exponential_and_number", ROW, "torch.exp(-x.abs()) * {p}", "torch.exp(-x.abs() - 2)", "", "p", [(0.1353,), (0.1354,), (0.135,)]),
    ("hyperbolic_swapped", ROW, "torch.cosh(x) - torch.sinh(x)", "torch.exp(x)"),
    ("elu_of_a_part", ROW, "F.elu(x)", "torch.where(x > 0, x, torch.expm1(x) * 0.99)"),
    ("elu_at_one", ROW, "F.elu(x)", "torch.where(x > 1, x, torch.expm1(x))"),
    ("selu_or_elu", ROW, "F.selu(x)", "1.0507 * F.elu(x, 1.6733)"),
    ("log_of_sums", TWO, "torch.logaddexp(x, y)", "torch.maximum(x, y)"),
    ("log_of_sums_halved", TWO, "torch.logaddexp(x, y)", "torch.logaddexp(x, y) - math.log(2)"),
    ("parts_of_a_logsumexp", ROW, "x.logsumexp(-1)", "torch.logaddexp(x[:, :5].logsumexp(-1), x[:, 6:].logsumexp(-1))"),
    ("parts_of_a_softmax", ROW, "torch.softmax(x, -1)[:, :8].sum(-1)",
     "torch.sigmoid(x[:, :7].logsumexp(-1) - x[:, 7:].logsumexp(-1))"),
    ("sine_of_a_double", ROW, "torch.sin(2 * x)", "2 * torch.sin(x) * torch.cos(x).abs()"),
    ("cosine_of_a_double", ROW, "torch.cos(2 * x)", "1 - torch.sin(x) ** 2"),
    ("falling_under_a_maximum", TWO, "torch.maximum(torch.exp(-x), torch.exp(-y))", "torch.exp(-torch.maximum(x, y))"),
    ("not_monotone_under_a_maximum", TWO, "torch.maximum(torch.cos(x), torch.cos(y))", "torch.cos(torch.maximum(x, y))"),
    ("bump_under_a_maximum", ROW, "F.silu(x).amax(-1)", "F.silu(x.amax(-1))", "x.neg_(); x.clamp_(max=-0.5)"),
    ("clamped_inside_a_sine", ROW, "torch.sin(3 * x).clamp(-0.9, 0.9)", "torch.sin(3 * x)", FLOATS),
    ("narrowed_twice_otherwise", ROW, "x.half().float().bfloat16().float()", "x.bfloat16().float()", "x.fill_(1.00390625 + 2 ** -13)"),
)  # fmt: skip
EQUAL = (
    ("quotient_and_rest", WHOLE, "x * (n // {c} * {c} + n % {c})", "x * n", "", "c", [(2,), (3,), (-5,)]),
    ("quotient_of_quotients", WHOLE, "x * (n // 2 // 3)", "x * (n // 6)"),
    ("rest_shifted", WHOLE, "x * ((n + 12) % 4)", "x * (n % 4)"),
    ("rest_negated", WHOLE, "x * (n % -3)", "x * -((-n) % 3)"),
    ("flags_by_products", TWO, "((x > 0) & (y > 0)).float()", "(x > 0).float() * (y > 0).float()"),
    ("flags_by_a_largest", TWO, "((x > 0) | (y > 0)).float()", "torch.maximum((x > 0).float(), (y > 0).float())"),
    ("flags_unlike", TWO, "((x > 0) ^ (y > 0)).float()", "((x > 0) != (y > 0)).float()"),
    ("flags_negated", ROW, "(~(x > 0)).float()", "1 - (x > 0).float()"),
    ("view_changed", ROW, "y = x.clone()\ny[:, :8].mul_(2)\nreturn y", "torch.cat([x[:, :8] * 2, x[:, 8:]], -1)"),
    ("row_changed", ROW, "y = x.clone()\ny[0] += 1\nreturn y", "torch.cat([x[:1] + 1, x[1:]])"),
    ("turned_view_changed", "x fp32 8 8", "y = x.clone()\ny.T[0].zero_()\nreturn y",
     "torch.cat([torch.zeros_like(x[:, :1]), x[:, 1:]], 1)"),
    ("changed_after_a_copy", ROW, "y = x * 2\nz = y[:, :8] * 1.0\ny.add_(1)\nreturn z", "x[:, :8] * 2"),
    ("negated_power", ROW, "-x ** 2", "-(x * x)"),
    ("kth_of_a_sort", ROW, "x.kthvalue(3, -1).values", "x.sort(-1).values[:, 2]"),
    ("median_of_a_sort", ROW, "x.median(-1).values", "x.sort(-1).values[:, 7]"),
    ("largest_of_a_sort", ROW, "x.topk(3, -1).values.sum(-1)", "x.sort(-1).values[:, 13:].sum(-1)"),
    ("sort_of_a_permuted", ROW, "x.flip(-1).sort(-1).values", "x.sort(-1).values"),
    ("sort_of_a_sort", ROW, "x.sort(-1).values.sort(-1).values", "x.sort(-1).values"),
    ("squares_of_a_sort", ROW, "x.sort(-1).values.square().sum(-1)", "x.square().sum(-1)"),
    ("least_of_a_sort", ROW, "x.sort(-1, descending=True).values[:, -1]", "x.amin(-1)"),
    ("gathered_evens", ROW, "x[:, torch.arange(8) * 2]", "x[:, ::2]"),
    ("gathered_in_halves", ROW, "x[:, (torch.arange(16) + 8) % 16]", "torch.cat([x[:, 8:], x[:, :8]], -1)"),
    ("gathered_sum", ROW, "x[:, 15 - torch.arange(16)].sum(-1)", "x.sum(-1)"),
    ("gathered_from_the_end", ROW, "x[:, -1 - torch.arange(4)]", "x[:, 12:].flip(-1)"),
    ("log_ten", ROW, "torch.log10(x.abs() + 1)", "torch.log(x.abs() + 1) / math.log(10)"),
    ("sinh_by_exponentials", ROW, "torch.cosh(x) + torch.sinh(x)", "torch.exp(x)"),
    ("hyperbolic_one", ROW, "torch.cosh(x.clamp(-1, 1)) ** 2 - torch.sinh(x.clamp(-1, 1)) ** 2", "x * 0.0 + 1.0"),
    ("celu_as_elu", ROW, "F.celu(x, 1.0)", "F.elu(x, 1.0)"),
    ("logaddexp_of_a_difference", TWO, "torch.logaddexp(x, y)", "y + F.softplus(x - y)"),
    ("logaddexp_commutes", TWO, "torch.logaddexp(x, y)", "torch.logaddexp(y, x)"),
    ("logsumexp_of_two", TWO, "torch.logaddexp(x, y)", "torch.stack([x, y]).logsumexp(0)"),
    ("sigmoids_under_a_maximum", TWO, "torch.maximum(torch.sigmoid(x), torch.sigmoid(y))", "torch.sigmoid(torch.maximum(x, y))"),
    ("root_under_a_maximum", ROW, "(x * x + 1).sqrt().amax(-1)", "(x * x + 1).amax(-1).sqrt()"),
    ("sine_and_cosine", ROW, "torch.sin(x) ** 2 + torch.cos(x) ** 2 + x", "x + 1"),
    ("cosine_of_a_double", ROW, "torch.cos(2 * x)", "2 * torch.cos(x) ** 2 - 1"),
    ("ends_crossed", ROW, "x.clamp(1, -1)", "x.clamp(max=-1) * 0.0 - 1.0"),
)  # fmt: skip

PAIRS: tuple[Pair, ...] = (
    *every("numbers", "differ", [Family(*row) for row in DIFFER]),
    *every("equal: numbers", "equal", [Family(*row) for row in EQUAL]),
)

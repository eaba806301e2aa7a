"""Functions of which one is undefined where the other is a number: logarithms, roots, quotients, powers, inverse functions."""

from __future__ import annotations

from hostile.pair import Family, Pair, every

TWO = "x fp32 8 16, y fp32 8 16"
ZERO, NEGATIVE, BEYOND, ONE = "x[2, 3] = 0.0", "x[2, 3] = -2.0", "x[2, 3] = 1.5", "x[2, 3] = 1.0"
BOTH_NEGATIVE = "x[2, 3] = -2.0; y[2, 3] = -3.0"
BOTH_ZERO = "x[2, 3] = 0.0; y[2, 3] = 0.0"
# Two expressions that agree where both are defined.
LAWS = (
    ("log_of_quotient", "torch.log(x) - torch.log(y)", "torch.log(x / y)", "x.fill_(-2.0); y.fill_(-3.0)"),
    ("log_beyond_a_pole", "torch.log(x.clamp(min=0.1) - 0.2)", "torch.log(x.clamp(min=0.3) - 0.2)", "x.fill_(-2.0)"),
    ("log_of_even_power", "torch.log(x ** 4)", "4 * torch.log(x)", NEGATIVE),
    ("log_of_root", "torch.log(x.abs().sqrt())", "0.5 * torch.log(x)", NEGATIVE),
    ("log_base_two", "torch.log2(x.abs())", "torch.log(x) / math.log(2)", NEGATIVE),
    ("root_of_square", "torch.sqrt(x * x)", "torch.sqrt(x) * torch.sqrt(x)", NEGATIVE),
    ("root_of_fourth_power", "torch.sqrt(x ** 4)", "torch.sqrt(x) ** 4", NEGATIVE),
    ("root_of_three", "torch.sqrt(x * y * y)", "torch.sqrt(x) * torch.sqrt(y) * torch.sqrt(y)", "x.fill_(2.0); y.fill_(-1.0)"),
    ("root_of_a_difference", "torch.sqrt((x + y) * (x - y))", "torch.sqrt(x + y) * torch.sqrt(x - y)", "x.fill_(-2.0); y.fill_(1.0)"),
    ("quotient_of_squares", "x / (x * x + 1)", "x * x / (x ** 3 + x)", ZERO),
    ("common_factor", "y + x", "(x * y + x * x) / x", ZERO),
    ("common_divisor", "(y * y + 1) / (y * y + 2)", "((y * y + 1) / x) / ((y * y + 2) / x)", ZERO),
    ("inverse_of_a_quotient", "x * y", "y / (1 / x) * (x / x)", ZERO),
    ("inverse_of_a_product", "1 / x", "y / (x * y)", "y[2, 3] = 0.0"),
    ("geometric_series", "1 + x + x * x + x ** 3", "(1 - x ** 4) / (1 - x)", ONE),
    ("difference_quotient", "x + 1", "(x * x - 1) / (x - 1)", ONE),
    ("inverse_of_a_sine", "torch.cos(x) * y", "torch.sin(x) * y / torch.tan(x)", ZERO),
    ("sinc", "torch.special.sinc(x / math.pi)", "torch.sin(x) / x", ZERO),
    ("exponential_quotient", "torch.where(x == 0, 1.0, torch.expm1(x) / torch.where(x == 0, 1.0, x))", "torch.expm1(x) / x", ZERO),
    ("inverse_sine", "torch.asin(x.clamp(-1, 1))", "torch.asin(x)", BEYOND),
    ("inverse_cosine", "torch.acos(x.clamp(-1, 1))", "math.pi / 2 - torch.asin(x)", BEYOND),
    ("inverse_hyperbolic", "torch.atanh(x.clamp(-0.9, 0.9))", "0.5 * torch.log((1 + x.clamp(-0.9)) / (1 - x.clamp(-0.9)))", BEYOND),
    ("inverse_hyperbolic_cosine", "torch.acosh(x.clamp(min=1))", "torch.acosh(x)", ZERO),
    ("hyperbolic_cosine_of_its_inverse", "torch.cosh(torch.acosh(x))", "x * 1.0", ZERO),
    ("logit", "torch.logit(x, 0.01)", "torch.log(x / (1 - x))", BEYOND),
    ("softplus_inverse", "torch.log(torch.expm1(x.clamp(min=0.01)))", "torch.log(torch.expm1(x))", NEGATIVE),
    ("cube_root", "torch.sign(x) * x.abs() ** (1 / 3)", "x ** (1 / 3)", NEGATIVE),
    ("power_of_power", "(x * x) ** 0.75", "x ** 1.5", NEGATIVE),
    ("power_of_sum", "(x + y) ** 2", "torch.exp(2 * torch.log(x + y))", BOTH_NEGATIVE),
    ("power_of_itself", "x.abs() ** y.abs()", "torch.exp(y.abs() * torch.log(x.abs()))", BOTH_ZERO),
    ("xlogy", "torch.xlogy(y, x.abs())", "y * torch.log(x.abs())", BOTH_ZERO),
    ("entropy_term", "torch.special.entr(x.abs())", "-x.abs() * torch.log(x.abs())", ZERO),
    ("product_by_logarithms", "x * y", "torch.exp(torch.log(x) + torch.log(y))", "x.fill_(-2.0); y.fill_(-3.0)"),
    ("row_scale", "x / x.abs().amax(-1, keepdim=True).clamp(min=1e-9)", "x / x.abs().amax(-1, keepdim=True)", "x[2] = 0.0"),
    ("row_share", "x.abs() / x.abs().sum(-1, keepdim=True).clamp(min=1e-9)", "x.abs() / x.abs().sum(-1, keepdim=True)", "x[2] = 0.0"),
    ("row_deviation", "x / x.std(-1, keepdim=True).clamp(min=1e-9)", "x / x.std(-1, keepdim=True)", "x[2] = 4.0"),
    ("cosine", "y * F.cosine_similarity(x, y, -1)[:, None]",
     "y * (x * y).sum(-1, keepdim=True) / (x.norm(dim=-1, keepdim=True) * y.norm(dim=-1, keepdim=True))", "x[2] = 0.0"),
    ("softmax_of_logarithms", "x.abs() / x.abs().sum(-1, keepdim=True)", "torch.exp(torch.log(x) - torch.log(x.sum(-1, keepdim=True)))",
     "x.abs_().neg_()"),
    ("whole_part", "y - torch.remainder(y, 1.0) + torch.remainder(y, x.abs() + 1)",
     "y - torch.remainder(y, 1.0) + torch.remainder(y * x, (x.abs() + 1) * x) / x", ZERO),
    ("selected_before", "torch.where(x > 0, y * y, 0.0)", "torch.where(x > 0, y * y * x, 0.0) / x", ZERO),
)  # fmt: skip
WITHIN = (
    ("alone", "{}"),
    ("mean", "({}).mean(-1)"),
    ("largest", "({}).amax(-1)"),
    ("product", "({}) @ y.T"),
    ("cosine", "torch.cos({}) * y"),
)

FAMILIES = tuple(
    Family(f"{name}_{where}", TWO, form.format(a), form.format(b), witness)
    for name, a, b, witness in LAWS
    for where, form in WITHIN
)

PAIRS: tuple[Pair, ...] = every("definedness", "differ", FAMILIES)

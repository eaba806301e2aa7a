"""Functions of which one passes the largest number of its dtype, or falls below the least, on inputs that the other takes."""

from __future__ import annotations

from hostile.pair import Family, Pair, every

TWO = "x {d} 8 16, y {d} 8 16"
# The dtype, an exponent that overflows, a number whose square does, and a power of two whose square is zero.
SIZES = [
    ("fp16", 12.0, 300.0, 2.0**-13),
    ("bf16", 100.0, 1e25, 2.0**-80),
    ("fp32", 100.0, 1e25, 2.0**-80),
    ("fp64", 800.0, 1e200, 2.0**-600),
]
# A function, the same in an order that overflows, and what shows it.
LARGE = (
    ("softmax", "torch.softmax(x, -1) + y", "x.exp() / x.exp().sum(-1, keepdim=True) + y", "x[1, 2] = {e}; x[1, 3] = {e} - 1"),
    ("softmax_shifted_by_the_mean", "torch.softmax(x, -1) + y",
     "e = (x - x.mean(-1, keepdim=True)).exp()\nreturn e / e.sum(-1, keepdim=True) + y", "x[1, 2] = {e} * 1.5"),
    ("softmax_shifted_by_the_first", "torch.softmax(x, -1) + y",
     "e = (x - x[:, :1]).exp()\nreturn e / e.sum(-1, keepdim=True) + y", "x[1, 2] = {e} + 3; x[1, 0] = 0.0"),
    ("softmax_shifted_by_the_smallest", "torch.softmax(x, -1) + y",
     "e = (x - x.amin(-1, keepdim=True)).exp()\nreturn e / e.sum(-1, keepdim=True) + y", "x[1, 2] = {e}; x[1, 3] = -1.0"),
    ("logsumexp", "x.logsumexp(-1, keepdim=True) + y", "x.exp().sum(-1, keepdim=True).log() + y", "x[1, 2] = {e}"),
    ("log_add", "torch.logaddexp(x, y)", "(x.exp() + y.exp()).log()", "x[1, 2] = {e}"),
    ("sigmoid", "torch.sigmoid(x) * y", "x.exp() / (1 + x.exp()) * y", "x[1, 2] = {e}"),
    ("sigmoid_of_double", "torch.sigmoid(2 * x) * y", "x.exp() ** 2 / (1 + x.exp() ** 2) * y", "x[1, 2] = {e}"),
    ("silu", "F.silu(x) + y", "x * x.exp() / (1 + x.exp()) + y", "x[1, 2] = {e}"),
    ("tanh", "torch.tanh(x) * y", "(x.exp() - (-x).exp()) / (x.exp() + (-x).exp()) * y", "x[1, 2] = {e}"),
    ("softplus", "F.softplus(x) + y", "torch.log(1 + x.exp()) + y", "x[1, 2] = {e}"),
    ("log_sigmoid", "F.logsigmoid(x) + y", "torch.log(x.exp() / (1 + x.exp())) + y", "x[1, 2] = {e}"),
    ("quotient_of_exponentials", "torch.exp(x - y) * 2", "x.exp() / y.exp() * 2", "x.fill_({e}); y.fill_({e} - 1)"),
    ("product_of_exponentials", "torch.exp(x + y) - 1", "x.exp() * y.exp() - 1", "x.fill_({e}); y.fill_(-{e})"),
    ("exponential_of_a_sum", "torch.exp((x - y).sum(-1))", "torch.exp(x.sum(-1)) / torch.exp(y.sum(-1))",
     "x.fill_({e} / 8); y.fill_({e} / 8)"),
    ("weighted_exponentials", "(x + y).exp().sum(-1)", "(x.exp() * y.exp()).sum(-1)", "x.fill_({e}); y.fill_(-{e})"),
    ("mish", "x * torch.tanh(F.softplus(x)) + y", "e = (1 + x.exp()) ** 2\nreturn x * (e - 1) / (e + 1) + y", "x[1, 2] = {e}"),
    ("root_of_squares", "x.abs() + y", "(x * x).sqrt() + y", "x.fill_({s})"),
    ("hypotenuse", "m = torch.maximum(x.abs(), y.abs())\nreturn m * ((x / m) ** 2 + (y / m) ** 2).sqrt()", "(x * x + y * y).sqrt()",
     "x.fill_({s}); y.fill_({s} / 2)"),
    ("log_of_a_product", "x.abs().log() + y.abs().log() + 1", "(x * y).abs().log() + 1", "x.fill_({s}); y.fill_({s})"),
    ("root_of_a_product", "x.abs().sqrt() * y.abs().sqrt() / 2", "(x * y).abs().sqrt() / 2", "x.fill_({s}); y.fill_({s})"),
    ("quotient_then_product", "y - x / y * x", "y - x * x / y", "x.fill_({s}); y.fill_({s})"),
    ("norm", "m = x.abs().amax(-1, keepdim=True)\nreturn x / m / (x / m).norm(dim=-1, keepdim=True) + 0.01 * y",
     "x / x.square().sum(-1, keepdim=True).sqrt() + 0.01 * y", "x.fill_({s})"),
    ("mean_of_squares", "(x / {s}).square().mean(-1) + y[:, 0]", "x.square().mean(-1) / {s} / {s} + y[:, 0]", "x.fill_({s})"),
    ("cosine", "(x / x.abs().amax(-1, keepdim=True) * y).sum(-1)",
     "(x * y * x.abs().amax(-1, keepdim=True)).sum(-1) / x.abs().amax(-1) / x.abs().amax(-1)",
     "x.fill_({s}); y.fill_({s} / 8)"),
    ("product_of_three", "x * (y / {s}) * x.sign()", "x * y * x.sign() / {s}", "x.fill_({s}); y.fill_({s})"),
    ("product_with_a_weight", "(x / {s}) @ y.T", "(x @ y.T) / {s}", "x.fill_({s}); y.fill_({s})"),
    ("cube_of_a_quotient", "(x / {s}) ** 3 + y", "x ** 3 / {s} / {s} / {s} + y", "x.fill_({s})"),
    ("gate_by_squares", "y * torch.where(x.abs() > 1, x.sign(), x)", "y * torch.where(x * x > 1, x * x.abs() / (x * x), x)",
     "x.fill_({s})"),
    ("log_softmax", "torch.log_softmax(x, -1) + y", "x - x.exp().sum(-1, keepdim=True).log() + y", "x[1, 2] = {e}"),
    ("square_of_a_difference", "((x - y) / {s}) ** 2 + 1", "(x - y) ** 2 / {s} / {s} + 1", "x.fill_({s} * 2); y.fill_({s} / 2)"),
    ("polynomial", "x * (x / {s} + 1) / 4", "(x * x / {s} + x) / 4", "x.fill_({s})"),
    ("weighted_mean", "(x * (y / y.sum(-1, keepdim=True))).sum(-1)", "(x * y).sum(-1) / y.sum(-1)", "x.fill_({s}); y.fill_({s})"),
    ("difference_of_squares", "(x - y) / 2", "(x * x - y * y) / (x + y) / 2", "x.fill_({s}); y.fill_({s} / 2)"),
)  # fmt: skip
SMALL = (
    ("root_of_small_squares", "x.abs() * 1024 + y", "(x * x).sqrt() * 1024 + y", "x.fill_({t}); y.zero_()"),
    ("quotient_by_a_square", "1 / x", "x / (x * x)", "x.fill_({t})"),
    ("small_norm", "x / x.abs().amax(-1, keepdim=True)", "x * x.abs() / x.square().amax(-1, keepdim=True)", "x.fill_({t})"),
    ("small_product_of_three", "x * (y / {t})", "x * y / {t}", "x.fill_({t}); y.fill_({t})"),
    ("share_of_small", "x / x.sum(-1, keepdim=True)", "x * x / (x * x.sum(-1, keepdim=True))", "x.fill_({t})"),
    ("log_of_small_squares", "2 * x.abs().log() + y", "(x * x).log() + y", "x.fill_({t})"),
    ("exponentials_that_vanish", "x.logsumexp(-1) - y[:, 0]", "x.exp().sum(-1).log() - y[:, 0]", "x.fill_(-{e} * 2)"),
    ("softmax_that_vanishes", "torch.softmax(x, 0) - y", "x.exp() / x.exp().sum(0) - y", "x.fill_(-{e} * 2)"),
    ("sigmoid_that_vanishes", "torch.exp(F.logsigmoid(x) - x)", "torch.sigmoid(x) / x.exp()", "x.fill_(-{e} * 2)"),
    ("ratio_of_vanishing", "torch.exp(x - y)", "torch.exp(x) * torch.exp(-y)", "x.fill_(-{e} * 2); y.fill_(-{e} * 2)"),
    ("distance_to_one", "torch.log(torch.sigmoid(-x)) - torch.log(torch.sigmoid(-y))",
     "torch.log(1 - torch.sigmoid(x)) - torch.log(1 - torch.sigmoid(y))",
     "x.fill_({e} * 0.7); y.fill_(0.0)"),
)  # fmt: skip

FAMILIES = tuple(
    Family(f"{name}_of_{d}", TWO.replace("{d}", d), *(text.format(e=e, s=s, t=t) for text in (a, b)), witness.format(e=e, s=s, t=t))
    for name, a, b, witness in (*LARGE, *SMALL)
    for d, e, s, t in SIZES
)  # fmt: skip

PAIRS: tuple[Pair, ...] = every("finiteness", "differ", FAMILIES)

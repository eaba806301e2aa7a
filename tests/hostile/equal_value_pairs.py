"""Functions that are equal by arithmetic: sums in another order, shifts of a softmax, casts that lose nothing, several outputs."""

from __future__ import annotations

from hostile.pair import Family, Pair, every
from hostile.trace_pairs import EQUAL as SIZES_AS_NUMBERS

ROW = "x fp32 8 16"
TWO = "x fp32 8 16, y fp32 8 16"
THREE = "x fp32 8 16, y fp32 8 16, z fp32 8 16"
HALF = "x fp16 8 16"
ATTENTION = "q fp32 8 16, k fp32 8 16, v fp32 8 4"

SUMS = (
    Family("sum_reassociated", THREE, "(x + y) + z", "x + (y + z)"),
    Family("sum_commuted", THREE, "x + y + z", "z + y + x"),
    Family("product_distributed", THREE, "x * (y + z)", "x * y + x * z"),
    Family("rows_then_all", ROW, "x.sum((0, 1))", "x.sum(0).sum(0)"),
    Family("mean_as_sum", ROW, "x.mean(-1)", "x.sum(-1) / 16"),
    Family("mean_of_means", ROW, "x.mean((0, 1))", "x.mean(-1).mean(0)"),
    Family("sum_as_product", ROW, "x.sum(-1)", "(x @ torch.ones(16, 1))[:, 0]"),
    Family("scale_before_or_after", "x fp32 8 16, w fp32 16 4", "(x * 0.25) @ w", "(x @ w) * 0.25"),
    Family("row_scale_moved", "x fp32 8 16, w fp32 16 4, s fp32 8 1", "(x * s) @ w", "(x @ w) * s"),
    Family("products_reassociated", "x fp32 8 16, a fp32 16 4, b fp32 4 8", "(x @ a) @ b", "x @ (a @ b)"),
    Family("product_of_sums", "x fp32 8 16, a fp32 16 4, b fp32 16 4", "x @ (a + b)", "x @ a + x @ b"),
    Family(
        "product_in_parts",
        "x fp32 8 16, w fp32 16 4",
        "x @ w",
        "x[:, :{p}] @ w[:{p}] + x[:, {p}:] @ w[{p}:]",
        "",
        "p",
        [(8,), (5,), (15,)],
    ),
    Family(
        "product_by_joining",
        "x fp32 8 16, y fp32 8 16, a fp32 16 4, b fp32 16 4",
        "x @ a + y @ b",
        "torch.cat([x, y], -1) @ torch.cat([a, b])",
    ),
    Family("product_as_sum", "x fp32 8 16, w fp32 16 4", "x @ w", "(x[:, :, None] * w).sum(1)"),
    Family("linear_by_product", "x fp32 8 16, w fp32 4 16, b fp32 4", "F.linear(x, w, b)", "x @ w.T + b"),
    Family("einsum_by_product", "x fp32 8 16, w fp32 16 4", "torch.einsum('ij,jk->ki', x, w)", "(x @ w).T"),
    Family("low_rank", "x fp32 8 16, w fp32 16 8, a fp32 16 2, b fp32 2 8", "x @ w + (x @ a) @ b", "x @ (w + a @ b)"),
    Family("double_negation", TWO, "x - (-y)", "x + y"),
    Family("square_of_a_sum", TWO, "(x + y) * (x + y)", "x * x + 2 * x * y + y * y"),
    Family("quotient_by_product", ROW, "x / 4", "x * 0.25"),
    Family("centred_sum", ROW, "x - x.mean(-1, keepdim=True)", "x - x.sum(-1, keepdim=True) * 0.0625"),
    Family("running_total", ROW, "x.cumsum(-1)[:, -1]", "x.sum(-1)"),
    Family(
        "power_by_products",
        ROW,
        "x ** {n}",
        "{b}",
        "",
        "n b",
        [(2, "x * x"), (3, "x * x * x"), (4, "(x * x) * (x * x)")],
    ),
    Family("lerp", THREE, "torch.lerp(x, y, z)", "x * (1 - z) + y * z"),
    Family("squared_norm", ROW, "(x * x).sum(-1)", "(x[:, None] @ x[:, :, None])[:, 0, 0]"),
    Family(
        "rms_norm_written_out",
        "x fp32 8 16, g fp32 16",
        "F.rms_norm(x, (16,), g, 1e-6)",
        "x / (x * x).mean(-1, keepdim=True).add(1e-6).sqrt() * g",
    ),
    Family(
        "norm_by_a_scale_after",
        "x fp32 8 16, w fp32 16 4",
        "F.rms_norm(x, (16,), None, 1e-6) @ w",
        "(x @ w) * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)",
    ),
    Family(
        "layer_norm_written_out",
        ROW,
        "F.layer_norm(x, (16,))",
        "(x - x.mean(-1, keepdim=True)) * torch.rsqrt((x - x.mean(-1, keepdim=True)).square().mean(-1, keepdim=True) + 1e-5)",
    ),
    Family("variance_written_out", ROW, "x.var(-1)", "(x - x.mean(-1, keepdim=True)).square().sum(-1) / 15"),
    Family("product_of_roots", TWO, "(x * x + 1).sqrt() * (y * y + 1).sqrt()", "((x * x + 1) * (y * y + 1)).sqrt()"),
    Family("inverse_of_a_root", ROW, "torch.rsqrt(x * x + 1)", "1 / (x * x + 1).sqrt()"),
)
SOFTMAX = (
    Family("shift_by_the_largest", ROW, "torch.softmax(x, -1)", "torch.softmax(x - x.amax(-1, keepdim=True), -1)"),
    Family(
        "shift_by_a_constant", ROW, "torch.softmax(x + {c}, -1)", "torch.softmax(x, -1)", "", "c", [(1,), (-0.5,), (2,)]
    ),
    Family("shift_by_the_mean", ROW, "torch.softmax(x - x.mean(-1, keepdim=True), -1)", "torch.softmax(x, -1)"),
    Family("shift_by_a_row", "x fp32 8 16, b fp32 8 1", "torch.softmax(x + b, -1)", "torch.softmax(x, -1)"),
    Family(
        "written_out",
        ROW,
        "torch.softmax(x, -1)",
        "e = torch.exp(x - x.amax(-1, keepdim=True))\nreturn e / e.sum(-1, keepdim=True)",
    ),
    Family(
        "written_with_an_inverse",
        ROW,
        "torch.softmax(x, -1)",
        "e = torch.exp(x - x.amax(-1, keepdim=True))\nreturn e * (1 / e.sum(-1, keepdim=True))",
    ),
    Family("of_a_logarithm", ROW, "torch.softmax(x, -1)", "torch.exp(torch.log_softmax(x, -1))"),
    Family("by_logsumexp", ROW, "torch.softmax(x, -1)", "torch.exp(x - torch.logsumexp(x, -1, keepdim=True))"),
    Family("log_by_logsumexp", ROW, "torch.log_softmax(x, -1)", "x - torch.logsumexp(x, -1, keepdim=True)"),
    Family(
        "division_after_the_product",
        ATTENTION,
        "torch.softmax(q @ k.T, -1) @ v",
        "s = q @ k.T\ne = torch.exp(s - s.amax(-1, keepdim=True))\nreturn (e @ v) / e.sum(-1, keepdim=True)",
    ),
    Family(
        "scale_of_the_queries",
        ATTENTION,
        "torch.softmax((q @ k.T) * 0.25, -1) @ v",
        "torch.softmax((q * 0.25) @ k.T, -1) @ v",
    ),
    Family("sums_to_one", ROW, "torch.softmax(x, -1).sum(-1)", "torch.ones(8)"),
    Family(
        "of_two_parts",
        ATTENTION,
        "torch.softmax(q @ k.T, -1) @ v",
        "s = q @ k.T\nm = s.amax(-1, keepdim=True)\na, b = torch.exp(s[:, :4] - m), torch.exp(s[:, 4:] - m)\n"
        "return (a @ v[:4] + b @ v[4:]) / (a.sum(-1, keepdim=True) + b.sum(-1, keepdim=True))",
    ),
    Family("logsumexp_shifted", ROW, "torch.logsumexp(x + 2, -1)", "torch.logsumexp(x, -1) + 2"),
    Family(
        "library_attention",
        "q fp32 2 8 16, k fp32 2 8 16, v fp32 2 8 16",
        "F.scaled_dot_product_attention(q, k, v)",
        "torch.softmax(q @ k.transpose(1, 2) * 0.25, -1) @ v",
    ),
    Family(
        "sigmoid_as_softmax",
        ROW,
        "torch.sigmoid(x)",
        "torch.softmax(torch.stack([x, torch.zeros_like(x)], -1), -1)[:, :, 0]",
    ),
    Family("sigmoid_by_tanh", ROW, "torch.sigmoid(x)", "0.5 * torch.tanh(0.5 * x) + 0.5"),
    Family("sigmoid_of_negative", ROW, "1 - torch.sigmoid(x)", "torch.sigmoid(-x)"),
    Family("silu", ROW, "F.silu(x)", "x * torch.sigmoid(x)"),
    Family("silu_by_quotient", ROW, "F.silu(x)", "x / (1 + torch.exp(-x))"),
    Family("gelu_written_out", ROW, "F.gelu(x)", "0.5 * x * (1 + torch.erf(x / math.sqrt(2)))"),
    Family("tanh_by_sigmoid", ROW, "torch.tanh(x)", "2 * torch.sigmoid(2 * x) - 1"),
)
LOSSLESS = (
    Family("half_through_float", HALF, "x.float().half()", "x * 1.0"),
    Family("half_through_double", HALF, "x.double().float()", "x.float()"),
    Family("bfloat_through_float", "x bf16 8 16", "x.float().bfloat16()", "x * 1.0"),
    Family("float_through_double", ROW, "x.double().float()", "x * 1.0"),
    Family("narrowed_twice", ROW, "x.half().float().half()", "x.half()"),
    Family("comparison_in_float", HALF, "torch.where(x > 0.5, x, -x)", "torch.where(x.float() > 0.5, x, -x)"),
    Family(
        "maximum_in_float",
        "x fp16 8 16, y fp16 8 16",
        "torch.maximum(x, y)",
        "torch.maximum(x.float(), y.float()).half()",
    ),
    Family("absolute_in_float", HALF, "x.abs()", "x.float().abs().half()"),
    Family("negative_in_float", HALF, "-x", "(-x.float()).half()"),
    Family("relu_in_float", HALF, "F.relu(x)", "F.relu(x.float()).half()"),
    Family("largest_in_float", HALF, "x.amax(-1)", "x.float().amax(-1).half()"),
    Family("doubled_in_float", HALF, "(x + x).float()", "x.float() * 2"),
    Family("moved_before_the_cast", HALF, "x.T.float()", "x.float().T"),
    Family("sliced_before_the_cast", HALF, "x[:, 3:7].float()", "x.float()[:, 3:7]"),
    Family("masked_before_the_cast", HALF, "torch.tril(x).float()", "torch.tril(x.float())"),
    Family("promoted", "x fp16 8 16, y fp32 8 16", "x * y", "x.float() * y"),
    Family("promoted_sum", "x fp16 8 16, y fp32 8 16", "x + y", "y + x.float()"),
    Family("truth_through_numbers", TWO, "torch.where((x > 0).float() > 0.5, x, y)", "torch.where(x > 0, x, y)"),
    Family("truth_as_half", ROW, "(x > 0).half().float()", "(x > 0).float()"),
    Family("truth_as_integer", ROW, "(x > 0).int().float()", "(x > 0).float()"),
    Family(
        "small_index_in_half", "x fp32 2 600", "x * torch.arange(600).half().float()", "x * torch.arange(600).float()"
    ),
    Family(
        "index_as_integer_or_float",
        "x fp32 2 600",
        "x + torch.arange(600)",
        "x + torch.arange(600, dtype=torch.float32)",
    ),
    Family("constant_of_two", HALF, "(x * 0.5).float()", "(x.float() * 0.5).half().float()"),
    Family("accumulated_in_float", "x fp16 8 32, w fp16 32 4", "x @ w", "(x.float() @ w.float()).half()"),
)
OUTPUTS = (
    Family("both_extremes", ROW, "x.amax(-1), x.amin(-1)", "-(-x).amin(-1), -(-x).amax(-1)"),
    Family("sum_and_difference", TWO, "x + y, x - y", "y + x, -(y - x)"),
    Family(
        "softmax_and_its_sum",
        ROW,
        "torch.softmax(x, -1), torch.logsumexp(x, -1)",
        "m = x.amax(-1, keepdim=True)\ns = torch.exp(x - m).sum(-1, keepdim=True)\nreturn torch.exp(x - m) / s, (m + s.log())[:, 0]",
    ),
    Family(
        "residual_and_norm",
        TWO,
        "h = x + y\nreturn h, F.rms_norm(h, (16,), None, 1e-6)",
        "h = y + x\nreturn h, h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6)",
    ),
    Family("halves", ROW, "a, b = x.chunk(2, -1)\nreturn a * 2, b * 3", "return x[:, :8] * 2, x[:, 8:] * 3"),
    Family(
        "extremes_clamped",
        TWO,
        "torch.where(x > y, x, y), torch.where(x > y, y, x)",
        "torch.maximum(x, y), torch.minimum(x, y)",
    ),
)

PAIRS: tuple[Pair, ...] = (
    *every("equal: sums", "equal", SUMS),
    *every("equal: softmax", "equal", SOFTMAX),
    *every("equal: lossless casts", "equal", LOSSLESS),
    *every("equal: several outputs", "equal", OUTPUTS),
    *SIZES_AS_NUMBERS,
)

"""Functions that differ in a dtype in between: a narrowing lost, added, moved or of another kind, sums in half precision."""

from __future__ import annotations

from hostile.pair import Family, Pair, every, product

ROW = "x fp32 8 16"
TWO = "x fp32 8 16, y fp32 8 16"
HALF = [("half()",), ("bfloat16()",)]
EIGHT_BIT = [("to(torch.float8_e4m3fn)",), ("to(torch.float8_e5m2)",)]
UNARY = [
    ("exp()",),
    ("abs()",),
    ("sin()",),
    ("sigmoid()",),
    ("square()",),
    ("softmax(-1)",),
    ("sum(-1)",),
    ("amax(-1)",),
    ("mean(0)",),
]
BINARY = [("*",), ("+",), ("-",), ("/",)]
MIXED = "x fp16 8 16, y fp32 8 16"

FAMILIES = (
    Family("narrowed_operand", ROW, "x.{c}.float().{u}", "x.{u}", "", "u c", product(UNARY, HALF)),
    Family("narrowed_to_eight_bits", ROW, "x.{c}.float().{u}", "x.{u}", "", "u c", product(UNARY[:4], EIGHT_BIT)),
    Family("narrowed_factor", TWO, "x.{c}.float() {o} y", "x {o} y", "", "o c", product(BINARY, HALF)),
    Family("narrowed_result", TWO, "(x {o} y).{c}.float()", "x {o} y", "", "o c", product(BINARY, HALF)),
    Family("one_half_or_the_other", TWO, "(x {o} y).half().float()", "(x {o} y).bfloat16().float()", "", "o", BINARY),
    Family("half_in_mixed", MIXED, "(x * y.half()).float()", "x * y"),
    Family("half_left_in_mixed", MIXED, "x.float() * y.half().float() + 1", "x * y + 1"),
    Family(
        "half_sum",
        "x fp32 4 600",
        "x.half().sum(-1, dtype={d}).float()",
        "x.half().float().sum(-1)",
        "x.fill_(1.001)",
        "d",
        [("torch.float16",)],
    ),
    Family(
        "running_half_sum",
        "x fp32 4 64",
        "s = x[:, 0].{c}\nfor i in range(1, 64):\n    s = s + x[:, i].{c}\nreturn s.float()",
        "return x.{c}.float().sum(-1)",
        "x.fill_(1.37)",
        "c",
        HALF,
    ),
    Family(
        "partial_sums_in_half",
        "x fp32 4 256",
        "(x[:, :128].sum(-1).{c} + x[:, 128:].sum(-1).{c}).float()",
        "x.sum(-1)",
        "",
        "c",
        HALF,
    ),
    Family("narrow_product", "x fp32 8 32, w fp32 32 4", "(x.{c} @ w.{c}).float()", "x @ w", "", "c", HALF),
    Family("narrow_weights_alone", "x fp32 8 32, w fp32 32 4", "x @ w.{c}.float()", "x @ w", "", "c", HALF),
    Family(
        "scores_in_half",
        "q fp32 8 16, k fp32 8 16, v fp32 8 4",
        "torch.softmax((q @ k.T).{c}.float(), -1) @ v",
        "torch.softmax(q @ k.T, -1) @ v",
        "q.mul_(3)",
        "c",
        HALF,
    ),
    Family(
        "probabilities_in_half",
        "q fp32 8 16, k fp32 8 16, v fp32 8 4",
        "torch.softmax(q @ k.T, -1).{c}.float() @ v",
        "torch.softmax(q @ k.T, -1) @ v",
        "",
        "c",
        HALF,
    ),
    Family(
        "normalised_in_half", "x fp32 8 64", "F.rms_norm(x.{c}, (64,)).float()", "F.rms_norm(x, (64,))", "", "c", HALF
    ),
    Family(
        "through_integers",
        ROW,
        "x.to({d}).float()",
        "x * 1.0",
        "",
        "d",
        [("torch.int32",), ("torch.int64",), ("torch.int8",)],
    ),
    Family("integers_or_floor", ROW, "x.to(torch.int32).float()", "torch.floor(x)", "x.fill_(-1.5)"),
    Family("integers_or_round", ROW, "x.long().float()", "torch.round(x)", "x.fill_(1.75)"),
    Family(
        "bytes_wrap", ROW, "x.to(torch.int32).to(torch.int8).float()", "x.to(torch.int32).float()", "x.fill_(300.0)"
    ),
    Family("through_bool", ROW, "x.bool().float()", "{b}", "x.fill_(2.0)", "b", [("x * 1.0",), ("x.clamp(0, 3)",)]),
    Family("bool_of_half", ROW, "x.half().bool().float()", "x.bool().float()", "x.fill_(1e-9)"),
    Family("order_of_cast_and_compare", ROW, "(x.half() > 1).float()", "(x > 1).float()", "x.fill_(1.0001)"),
    Family(
        "cast_before_difference",
        TWO,
        "(x.half() - y.half()).float()",
        "(x - y).half().float()",
        "x.fill_(1000.3); y.fill_(1000.0)",
    ),
    Family("cast_before_exponential", ROW, "x.half().exp().float()", "x.exp()", "x.fill_(9.3)"),
    Family("constant_in_half", "x fp16 8 16", "(x * 0.1).float() * 10", "x.float() * 0.1 * 10"),
    Family("big_constant_in_half", "x fp32 8 16", "(x.half() + 2048).float() - 2048", "x.half().float()"),
    Family(
        "index_in_half",
        "x fp32 2 4096",
        "x * torch.arange(4096).half().float()",
        "x * torch.arange(4096).float()",
        "x.fill_(1.0)",
    ),
    Family(
        "index_in_bfloat",
        "x fp32 2 600",
        "x + torch.arange(600).bfloat16().float()",
        "x + torch.arange(600).float()",
        "x.fill_(1.0)",
    ),
    Family(
        "index_wraps",
        "x fp32 2 600",
        "x + torch.arange(600).to({d}).float()",
        "x + torch.arange(600).float()",
        "x.fill_(1.0)",
        "d",
        [("torch.int8",), ("torch.uint8",)],
    ),
    Family(
        "products_of_indices_wrap",
        "x fp32 2 600",
        "i = torch.arange(600).to(torch.int16)\nreturn x + (i * i).float()",
        "i = torch.arange(600)\nreturn x + (i * i).float()",
        "x.fill_(1.0)",
    ),
    Family(
        "count_in_bfloat",
        "x fp32 2 4095",
        "(x > 0).bfloat16().sum(-1).float()",
        "(x > 0).float().sum(-1)",
        "x.fill_(1.0)",
    ),
    Family("double_lost", "x fp64 8 16", "x.float().double()", "x * 1.0", "x.div_(3)"),
    Family("double_sum_lost", "x fp64 8 64", "x.float().sum(-1).double()", "x.sum(-1)"),
    Family("twice_narrowed", ROW, "x.half().bfloat16().float()", "x.half().float()"),
    Family("residual_in_half", "x fp32 8 16, r fp32 8 16", "(r.half() + x.half()).float()", "r + x", "r.fill_(100.0)"),
)

PAIRS: tuple[Pair, ...] = every("cast", "differ", FAMILIES)

"""Functions that differ in the dtype of one value in the middle: of an intermediate result, of a sum, of one operand of several."""

from __future__ import annotations

from hostile.pair import Family, Pair, every, product

ROW = "x fp32 8 16"
THREE = "x fp32 8 16, y fp32 8 16, z fp32 8 16"
HALVES = [("half()",), ("bfloat16()",)]
FIRST = [("exp()",), ("sin()",), ("square()",), ("abs().sqrt()",), ("sigmoid()",), ("cumsum(-1)",), ("softmax(-1)",),
         ("tanh()",)]  # fmt: skip
SECOND = [("cos()",), ("sum(-1)",), ("mul(3).add(1)",)]
# Three values, of which one is narrowed.
PLACES = [
    ("(x.{c}.float() * y + z)", "x * y + z"),
    ("x * y.{c}.float() + z", "x * y + z"),
    ("(x * y).{c}.float() + z", "x * y + z"),
    ("x * y + z.{c}.float()", "x * y + z"),
    ("torch.where(x.{c}.float() > 0, y.{c}.float(), z)", "torch.where(x > 0, y, z)"),
    ("(x - y).{c}.float() * z", "(x - y) * z"),
    ("x / (1 + y.square()).{c}.float() - z", "x / (1 + y.square()) - z"),
    ("torch.maximum(x, y).{c}.float() + z", "torch.maximum(x, y) + z"),
    ("(x.{c} @ y.T.{c}).float() @ z", "x @ y.T @ z"),
    ("(x @ y.T).{c}.float() @ z", "x @ y.T @ z"),
    ("x @ y.T @ z.{c}.float()", "x @ y.T @ z"),
    ("torch.lerp(x, y, z.{c}.float())", "torch.lerp(x, y, z)"),
]
# The parts of larger functions.
PARTS = (
    ("norm_squares", "x * torch.rsqrt(x.square(){c}.mean(-1, keepdim=True) + 1e-6)"),
    ("norm_mean", "x * torch.rsqrt(x.square().mean(-1, keepdim=True){c} + 1e-6)"),
    ("norm_scale", "x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6){c}"),
    ("norm_result", "(x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)){c} * y"),
    ("centred", "(x - x.mean(-1, keepdim=True){c}) / x.std(-1, keepdim=True)"),
    ("deviation", "(x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True){c}"),
    ("shifted", "torch.exp((x - x.amax(-1, keepdim=True)){c}) * y"),
    ("exponentials", "e = torch.exp(x - x.amax(-1, keepdim=True)){c}\nreturn e / e.sum(-1, keepdim=True)"),
    ("their_sum", "e = torch.exp(x - x.amax(-1, keepdim=True))\nreturn e / e.sum(-1, keepdim=True){c}"),
    ("gate", "F.silu(x){c} * y"),
    ("gate_inside", "x * torch.sigmoid(x){c} * y"),
    ("scores", "torch.softmax((x @ y.T){c}, -1) @ z"),
    ("scaled_scores", "torch.softmax((x @ y.T * 0.25){c}, -1) @ z"),
    ("attention", "torch.softmax(x @ y.T, -1){c} @ z"),
    ("weights_of_three", "x + y * torch.softmax(z, -1){c}"),
    ("distance", "(x - y).square(){c}.sum(-1).sqrt()"),
    ("cosine", "(x * y).sum(-1) / (x.norm(dim=-1){c} * y.norm(dim=-1))"),
    ("residual", "x + torch.tanh(x + y){c}"),
    ("rotated", "torch.cat([-x[:, 8:], x[:, :8]], -1) * torch.sin(y){c} + x * torch.cos(y)"),
    ("entropy", "p = torch.softmax(x, -1)\nreturn -(p * torch.log(p){c}).sum(-1)"),
)
TO = [(".half().float()",), (".bfloat16().float()",)]
# Reductions with a dtype of their own.
REDUCED = [("sum(-1, dtype={d})",), ("mean(-1, dtype={d})",), ("cumsum(-1, dtype={d})",), ("prod(-1, dtype={d})",),
    ("sum((0, 1), dtype={d})",)]  # fmt: skip
DTYPES = [("torch.float16",), ("torch.bfloat16",)]
# An integer dtype that cannot hold what goes in, and a value that shows it.
INTEGERS = (
    ("torch.int8", "torch.int32", 200.0),
    ("torch.uint8", "torch.int32", -3.0),
    ("torch.int16", "torch.int32", 40000.0),
    ("torch.uint8", "torch.int8", 130.0),
    ("torch.int16", "torch.int8", 129.0),
)
INTEGER_USES = (
    ("value", "x.to({d}).float() + y", ""),
    ("sum", "(x.to({d}) + 1).float() * y", ""),
    ("compared", "torch.where(x.to({d}) > 100, y, z) + x.to({d})", ""),
)

FAMILIES = (
    Family(
        "between_two",
        ROW,
        "x.{f}.{c}.float().{s}",
        "x.{f}.{s}",
        "",
        "f c s",
        product(FIRST, HALVES, SECOND),
    ),
    Family("one_of_three", THREE, "{a}", "{b}", "", "c a b", [(c, a.format(c=c), b) for a, b in PLACES for (c,) in HALVES]),
    *(
        Family(f"part_{name}_{to}", THREE, text.format(c=to), text.format(c=""))
        for name, text in PARTS
        for (to,) in TO
    ),
    *(
        Family(f"part_{name}_half_or_bfloat", THREE, text.format(c=TO[0][0]), text.format(c=TO[1][0]))
        for name, text in PARTS[:10]
    ),
    *(
        Family(f"reduced_{form}_{d}", "x fp32 4 64", f"x.{form.format(d=d)}.float()", f"x.{form.format(d='torch.float32')}",
            "x.mul_(0.05).add_(1.0)")
        for (form,) in REDUCED
        for (d,) in DTYPES
    ),
    *(
        Family(f"integer_{a}_or_{b}_{use}", THREE, form.format(d=a), form.format(d=b), f"x.fill_({value})")
        for a, b, value in INTEGERS
        for use, form, _ in INTEGER_USES
    ),
    Family("eight_bits", THREE, "x.to({d}).float() {o} y", "x.half().float() {o} y", "", "d o",
           product([("torch.float8_e4m3fn",), ("torch.float8_e5m2",)], [("*",), ("+",), ("@ z.T @",)])),
    Family("one_eight_bits_or_the_other", THREE, "x.to(torch.float8_e4m3fn).float() {o} y", "x.to(torch.float8_e5m2).float() {o} y",
           "", "o", [("*",), ("-",), ("@ z.T @",)]),
    Family("narrowed_then_subtracted", THREE, "x.{c}.float() - y.{c}.float()", "(x - y).{c}.float()",
           "x.add_(100.0); y.add_(100.0)", "c", HALVES),
    Family("narrowed_then_summed", THREE, "x.{c}.float().sum(-1)", "x.sum(-1).{c}.float()", "", "c", HALVES),
    Family("narrowed_then_multiplied", THREE, "(x.{c} * y.{c} * z.{c}).float()", "(x * y * z).{c}.float()", "", "c", HALVES),
    Family("narrowed_then_divided", THREE, "(x.{c} / (y.{c}.abs() + 1)).float()", "(x / (y.abs() + 1)).{c}.float()", "", "c", HALVES),
    Family("bools_added", THREE, "((x > 0) + (y > 0)).float() * z", "((x > 0).float() + (y > 0).float()) * z", "x.abs_(); y.abs_()"),
    Family("bools_multiplied", THREE, "x.bool().float() * y", "x * y"),
    Family("half_output", ROW, "x.{u}.half().double().float()", "x.{u}.double().float()", "", "u", FIRST),
)  # fmt: skip

PAIRS: tuple[Pair, ...] = every("cast", "differ", FAMILIES)

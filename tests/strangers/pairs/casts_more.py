"""Wrong pairs: narrower dtypes on the way."""

from strangers.pair import Pair

PAIRS = (
    Pair("half_mid", "x fp32 8x64", "x * 1.5 + 0.25", "(x.half() * 1.5 + 0.25).float()", "fp16 in the middle"),
    Pair("bf16_mid", "x fp32 8x64", "x.exp()", "x.bfloat16().float().exp()", "bf16 of the argument"),
    Pair("bf16_mm", "x fp32 16x64; y fp32 64x32", "x @ y", "(x.bfloat16() @ y.bfloat16()).float()", "bf16 product"),
    Pair("half_acc", "x fp32 8x64", "x.sum(-1)", "x.half().sum(-1).float()", "half sum"),
    Pair(
        "u8_clamp",
        "x fp32 8x64",
        "(x * 100).clamp(-128, 127).to(torch.int8)",
        "(x * 100).round().clamp(-128, 127).to(torch.int8)",
        "truncation or rounding",
    ),
    Pair("e4_scale", "x fp32 8x64", "x.half().float() + x", "x.bfloat16().float() + x", "another cast"),
    Pair("double_round", "x fp32 64x4096", "x.bfloat16().float()", "x.half().bfloat16().float()", "double rounding"),
)

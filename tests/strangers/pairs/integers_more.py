"""Wrong pairs: integers, their ends, signs and divisions."""

from strangers.pair import Pair

PAIRS = (
    Pair(
        "floor_trunc",
        "x int32 8x64",
        "x // 3",
        "torch.div(x, 3, rounding_mode='trunc')",
        "negatives",
        "x = torch.randint(-2147483648, 2147483648, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "rem_fmod",
        "x int32 8x64",
        "torch.remainder(x, 7)",
        "torch.fmod(x, 7)",
        "sign",
        "x = torch.randint(-2147483648, 2147483648, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair("rem_fmod_f", "x fp32 8x64", "torch.remainder(x, 0.5)", "torch.fmod(x, 0.5)", "sign"),
    Pair(
        "shift_div",
        "x int32 8x64",
        "x >> 2",
        "torch.div(x, 4, rounding_mode='trunc')",
        "negatives",
        "x = torch.randint(-2147483648, 2147483648, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "i8_wrap",
        "x int8 8x64; y int8 8x64",
        "(x + y).int()",
        "x.int() + y.int()",
        "int8 wraps",
        """
x = torch.randint(-128, 128, x.shape, generator=torch.Generator().manual_seed(1))
y = torch.randint(-128, 128, y.shape, generator=torch.Generator().manual_seed(2))
""",
    ),
    Pair(
        "i8_mul",
        "x int8 8x64; y int8 8x64",
        "(x * y).to(torch.int16)",
        "x.to(torch.int16) * y.to(torch.int16)",
        "int8 wraps",
        """
x = torch.randint(-128, 128, x.shape, generator=torch.Generator().manual_seed(1))
y = torch.randint(-128, 128, y.shape, generator=torch.Generator().manual_seed(2))
""",
    ),
    Pair(
        "u8_sub",
        "x uint8 8x64; y uint8 8x64",
        "(x - y).int()",
        "x.int() - y.int()",
        "uint8 wraps",
        """
x = torch.randint(0, 256, x.shape, generator=torch.Generator().manual_seed(1))
y = torch.randint(0, 256, y.shape, generator=torch.Generator().manual_seed(2))
""",
    ),
    Pair(
        "u8_neg",
        "x uint8 8x64",
        "(-x).float()",
        "-(x.float())",
        "uint8 negation",
        "x = torch.randint(0, 256, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "i32_mul",
        "x int32 8x64; y int32 8x64",
        "(x * y).long()",
        "x.long() * y.long()",
        "int32 wraps",
        """
x = torch.randint(-2147483648, 2147483648, x.shape, generator=torch.Generator().manual_seed(1))
y = torch.randint(-2147483648, 2147483648, y.shape, generator=torch.Generator().manual_seed(2))
""",
    ),
    Pair(
        "i32_shl",
        "x int32 8x64",
        "(x << 8).long()",
        "x.long() << 8",
        "int32 wraps",
        "x = torch.randint(-2147483648, 2147483648, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "i8_abs",
        "x int8 64x64",
        "x.abs().int()",
        "x.int().abs()",
        "abs(-128)",
        "x = torch.randint(-128, 128, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "i64_f32",
        "x int64 8x64",
        "(x.float() + 1).long()",
        "x + 1",
        "float32 loses digits",
        "x = torch.randint(0, 2000000000, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair("bool_sum", "x bool 8x64", "x.sum(-1)", "x.any(-1).long()", "count or any"),
    Pair("bool_add", "x bool 8x64; y bool 8x64", "(x + y).int()", "x.int() + y.int()", "bool sum saturates"),
    Pair("xor_or", "x bool 8x64; y bool 8x64", "x ^ y", "x | y", "xor"),
    Pair("nand", "x bool 8x64; y bool 8x64", "~(x & y)", "~x & ~y", "De Morgan wrong"),
    Pair("implies", "x bool 8x64; y bool 8x64", "~x | y", "x | ~y", "converse"),
    Pair(
        "i8_sum",
        "x int8 8x64",
        "x.sum(-1)",
        "x.sum(-1, dtype=torch.int8).long()",
        "sum's dtype",
        "x = torch.randint(-128, 128, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "div_float",
        "x int64 8x64; y int64 8x64",
        "x // (y + 1)",
        "(x / (y + 1)).round().long()",
        "rounding",
        """
x = torch.randint(0, 1000, x.shape, generator=torch.Generator().manual_seed(1))
y = torch.randint(0, 10, y.shape, generator=torch.Generator().manual_seed(2))
""",
    ),
    Pair("trunc_long", "x fp32 8x64", "x.long()", "x.floor().long()", "negatives"),
    Pair(
        "round_half",
        "x int32 8x64",
        "(x / 2).round()",
        "(x / 2 + 0.5).floor()",
        "half to even",
        "x = torch.randint(0, 100, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "ceil_floor1",
        "x int32 8x64",
        "(x / 4).ceil()",
        "(x / 4).floor() + 1",
        "whole numbers",
        "x = torch.randint(0, 100, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair("trunc_floor", "x fp32 8x64", "(x * 3).trunc()", "(x * 3).floor()", "negatives"),
    Pair("frac_mod1", "x fp32 8x64", "x.frac()", "x % 1", "negatives"),
    Pair("sign_heav", "x fp32 8x64", "x.sign()", "torch.where(x >= 0.1, 1.0, -1.0)", "threshold"),
    Pair(
        "sign_zero",
        "x int32 8x64",
        "x.sign()",
        "(x >= 0).int() * 2 - 1",
        "zero",
        "x = torch.randint(0, 3, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "quant_clamp", "x fp32 8x64", "(x * 64).round().clamp(-128, 127)", "(x * 64).round().clamp(-127, 127)", "-128"
    ),
    Pair(
        "int4_pack",
        "x uint8 8x64",
        "torch.stack([x & 15, x >> 4], -1).flatten(-2)",
        "torch.stack([x >> 4, x & 15], -1).flatten(-2)",
        "nibbles",
        "x = torch.randint(0, 256, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "int4_sign",
        "x uint8 8x64",
        "(x & 15).to(torch.int8) - 8",
        "((x & 15) << 4).to(torch.int8) >> 4",
        "offset or two's complement",
        "x = torch.randint(0, 256, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "parity",
        "x int32 8x64",
        "x % 2 == 1",
        "torch.fmod(x, 2) == 1",
        "negative odd",
        "x = torch.randint(-2147483648, 2147483648, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "popcount2",
        "x uint8 8x64",
        "(x & 1) + ((x >> 1) & 1) + ((x >> 7) & 1)",
        "(x & 1) + ((x >> 1) & 1) + ((x >> 6) & 1)",
        "bit",
        "x = torch.randint(0, 256, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "pow2mod",
        "x int64 8x64",
        "x & 31",
        "x % 31",
        "mask or modulus",
        "x = torch.randint(0, 1000, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "lcg",
        "x int64 8x64",
        "(x * 1103515245 + 12345) % 2147483648",
        "(x * 1103515245 + 12345) % 2147483647",
        "modulus",
        "x = torch.randint(0, 1000, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "clamp_order",
        "x fp32 8x64",
        "x.clamp(max=0.5).clamp(min=1.0)",
        "x.clamp(min=1.0).clamp(max=0.5)",
        "crossed bounds",
    ),
    Pair("relu6", "x fp32 8x64", "F.relu6(x * 10)", "F.relu(x * 10)", "upper bound"),
    Pair("relu_abs", "x fp32 8x64", "x.relu()", "(x + x.abs()) / 2.001", "2.001"),
    Pair("hardtanh", "x fp32 8x64", "F.hardtanh(x)", "x.clamp(-1, 1.05)", "bound"),
    Pair("shrink", "x fp32 8x64", "F.hardshrink(x)", "F.softshrink(x)", "hard or soft"),
    Pair(
        "where_ge",
        "x int32 8x64",
        "torch.where(x > 5, x, 0)",
        "torch.where(x >= 5, x, 0)",
        "at 5",
        "x = torch.randint(0, 10, x.shape, generator=torch.Generator().manual_seed(1))",
    ),
    Pair(
        "far40",
        "x fp32 8x64",
        "torch.where(x > 40, x, 0.0)",
        "torch.where(x > 42, x, 0.0)",
        "far threshold (inputs times 20)",
        "x = x * 20",
    ),
    Pair("far6e4", "x fp32 8x64", "x.clamp(max=6e4)", "x.clamp(max=6.1e4)", "inputs times 4e4", "x = x * 40000"),
    Pair(
        "near0", "x fp32 64x4096", "torch.where(x.abs() < 1e-4, torch.zeros_like(x), 1 / x)", "1 / x", "1e-4 about zero"
    ),
    Pair("huber_d", "x fp32 8x64; y fp32 8x64", "F.huber_loss(x, y)", "F.huber_loss(x, y, delta=1.02)", "delta"),
    Pair(
        "smooth_huber",
        "x fp32 8x64; y fp32 8x64",
        "F.smooth_l1_loss(x, y, beta=0.5)",
        "F.huber_loss(x, y, delta=0.5)",
        "over beta",
    ),
)

"""Wrong pairs: casts, mixed dtypes, promotion rules and the dtype of what accumulates."""

from strangers.pair import Pair

PAIRS = (
    Pair("narrowed_before_a_product", "x fp32 8x1000; y fp32 8x1000", "x * y", "x.half().float() * y", "ten bits of x are left"),
    Pair("narrowed_before_a_sum", "x fp32 8x1000", "x.sum(-1)", "x.half().sum(-1).float()", "a sum rounded to half"),
    Pair("square_in_half", "x fp16 8x1000", "x.float().square().sum(-1)", "(x * x).float().sum(-1)", "squares round to half, and overflow at 256", "x = x * 100"),
    Pair("mean_by_a_half_sum", "x fp16 4x4096", "x.mean(-1)", "x.sum(-1) / 4096", "the sum overflows half", "x = x.abs() * 40"),
    Pair("softmax_in_bfloat", "x fp32 16x1000", "torch.softmax(x, -1)", "torch.softmax(x.bfloat16(), -1).float()", "8 bits of scores and of weights"),
    Pair("labels_divided_as_integers", "i int32 64", "i.float() / 3", "(i // 3).float()", "the remainder is lost"),
    Pair("truncated_for_floored", "x fp32 8x1000", "torch.floor(x)", "x.int().float()", "negative numbers", "x = x * 3"),
    Pair("truth_for_sign", "x fp32 8x1000", "(x > 0).float()", "x.bool().float()", "negative numbers are true"),
    Pair("bfloat_through_half", "x bf16 8x1000", "x.float() * 2", "x.half().float() * 2", "bfloat16 reaches further than half", "x = x * 3e4"),
    Pair("scaled_up_and_down", "x fp16 8x1000", "(x.float() * 1e5 * 1e-5).half()", "(x * 1e5) * 1e-5", "1e5 x overflows half"),
    Pair("weights_in_half", "s fp32 8x256; v fp32 256x64", "torch.softmax(s, -1) @ v", "torch.softmax(s, -1).half().to(v.dtype) @ v", "weights of ten bits"),
    Pair("operands_in_half", "x fp32 16x512; w fp32 512x64", "x @ w", "(x.half() @ w.half()).float()", "operands and result of ten bits"),
    Pair("operands_in_bfloat", "x fp32 16x512; w fp32 512x64", "x @ w", "x.bfloat16().float() @ w.bfloat16().float()", "operands of eight bits"),
    Pair("counted_in_half", "x fp32 8x8192", "(x > 0).float().sum(-1)", "(x > 0).half().sum(-1).float()", "half holds only even counts above 2048"),
    Pair("residual_in_half", "x fp32 8x1000; y fp32 8x1000; z fp32 8x1000", "x + y + z", "(x + y).half().float() + z", "a sum of ten bits"),
    Pair("exponential_of_a_half", "x fp32 8x1000", "torch.exp(x)", "torch.exp(x.half()).float()", "x rounds before it is an exponent", "x = x * 4"),
    Pair("positions_in_half", "x fp32 4x4096", "x * torch.arange(4096).float()", "x * torch.arange(4096).half().float()", "odd positions above 2048"),
    Pair("positions_in_bfloat", "x fp32 4x1000", "torch.sin(x * torch.arange(1000).float() * 1e-2)", "torch.sin(x * torch.arange(1000).bfloat16().float() * 1e-2)",
         "positions above 256 round"),
    Pair("norm_narrowed_midway", "x fp32 16x1000; g fp32 1000", "F.rms_norm(x, (1000,), g, 1e-6)", "F.rms_norm(x, (1000,), None, 1e-6).bfloat16().float() * g",
         "the normalized row has eight bits"),
    Pair("half_result_of_floats", "x fp16 16x512; g fp32 512", "(x.float() * g)", "(x * g.half()).float()", "the product is rounded, and g"),
    Pair("bias_rounded", "x fp32 16x64; b fp32 64", "x + b", "x + b.bfloat16().float()", "b has eight bits"),
    Pair("sum_of_squares_in_bfloat", "x bf16 16x1000", "x.float().square().mean(-1)", "x.square().mean(-1).float()", "each square and the mean have eight bits"),
)

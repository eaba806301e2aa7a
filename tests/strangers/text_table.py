"""What each kernel of `texts/` is to compute, and one subtle fault in it: an edit that makes its wrong twin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from strangers.pair import Pair, source

FOLDER = Path(__file__).parent / "texts"


@dataclass(frozen=True)
class Text:
    """`inputs`, `wanted` and `setup` as a `Pair`'s; `old` becomes `new` in the twin (every occurrence); `why`: what then differs."""

    name: str
    inputs: str
    wanted: str
    old: str
    new: str
    why: str
    setup: str = ""

    @property
    def pair(self) -> Pair:
        return Pair(self.name, self.inputs, self.wanted, self.wanted, self.why, self.setup)

    @property
    def function(self) -> str:
        """The file with the function that says what is wanted."""
        return source(self.pair, "a")

    @property
    def right(self) -> str:
        return (FOLDER / f"{self.name}.py").read_text("utf-8")

    @property
    def wrong(self) -> str:
        """The twin's text."""
        text = self.right
        if self.old not in text:
            raise ValueError(f"{self.name} does not hold {self.old!r}")
        return text.replace(self.old, self.new)


QKV = "q fp16 2x{0}x32; k fp16 2x{0}x32; v fp16 2x{0}x32"
ATTEND = "F.scaled_dot_product_attention(q[None], k[None], v[None]{0})[0]"
WINDOW = """
i = torch.arange(64)
d = i[:, None] - i[None, :]
s = (q @ k.mT) * 32 ** -0.5
return torch.softmax(s.masked_fill(~((d >= 0) & (d < 20)), float("-inf")), -1) @ v
"""
DECODE = """
kk = k.repeat_interleave(4, 0)
vv = v.repeat_interleave(4, 0)
s = (q[:, None, :] @ kk.mT) * 64 ** -0.5
return (torch.softmax(s, -1) @ vv).squeeze(1)
"""
CONVOLVED = """
p = torch.cat([x.new_zeros(8, 3), x], 1)
y = p[:, :100] * w[:, :1] + p[:, 1:101] * w[:, 1:2] + p[:, 2:102] * w[:, 2:3] + p[:, 3:] * w[:, 3:]
return F.silu(y)
"""
TEXTS = (
    Text(
        "softmax_rows",
        "x fp32 64x781",
        "torch.softmax(x, -1)",
        'other=-float("inf")',
        "other=0.0",
        "the padding counts in the sum",
    ),
    Text(
        "softmax_online",
        "x fp16 16x1000",
        "torch.softmax(x, -1)",
        "d = d * tl.exp(m - m_new) +",
        "d = d +",
        "the sum is not rescaled when the maximum grows",
    ),
    Text(
        "layer_norm",
        "x fp16 16x1000; w fp16 1000; b fp16 1000",
        "F.layer_norm(x, (1000,), w, b)",
        "x = tl.where(cols < N, x - mean, 0.0)",
        "x = x - mean",
        "24 padded elements count in the variance",
        "x = x + 1",
    ),
    Text(
        "rms_norm",
        "x fp16 16x1000; g fp16 1000",
        "F.rms_norm(x, (1000,), g, 1e-6)",
        "/ n_cols\n",
        "/ BLOCK\n",
        "the block's size in the row's place",
    ),
    Text(
        "matmul_grouped",
        "a fp16 160x64; b fp16 64x64",
        "a @ b",
        "min(num_pid_m - first_pid_m, GROUP_M)",
        "GROUP_M",
        "the last group is smaller: tiles out of place",
    ),
    Text(
        "matmul_tail",
        "a fp16 48x100; b fp16 100x64",
        "a @ b",
        "mask=offs_k[None, :] < K - k * BK",
        "mask=offs_k[None, :] < K",
        "the next row's elements meet zeros, and at the end what lies behind",
        "a = a",
    ),
    Text(
        "split_k",
        "a fp16 16x200; b fp16 200x64",
        "a @ b",
        "triton.cdiv(K, split), BM",
        "K // split, BM",
        "the last two of 200 are lost",
    ),
    Text(
        "attention",
        QKV.format(50),
        ATTEND.format(""),
        'qk = tl.where(offs_n[None, :] < N, qk, -float("inf"))',
        "qk = qk + 0.0",
        "14 padded keys count with exp(0)",
    ),
    Text(
        "attention_causal",
        QKV.format(64),
        ATTEND.format(", is_causal=True"),
        "offs_m[:, None] >= offs_n[None, :]",
        "offs_m[:, None] + 1 >= offs_n[None, :]",
        "each query sees the next key, but at the end of a block",
    ),
    Text(
        "rotary",
        "x fp32 16x4x64; c fp32 16x32; s fp32 16x32",
        "torch.cat([x[..., :32] * c[:, None] - x[..., 32:] * s[:, None], x[..., 32:] * c[:, None] + x[..., :32] * s[:, None]], -1)",
        "pid // HEADS",
        "pid % 16",
        "another position's angle",
    ),
    Text(
        "cross_entropy",
        "x fp16 32x1000; y int64 32",
        "torch.logsumexp(x.float(), -1) - x.float().gather(1, y[:, None]).squeeze(1)",
        "lse = m + tl.log(tl.sum(tl.exp(x - m), 0))",
        "lse = m + tl.log(tl.sum(tl.exp((x - m).to(tl.float16).to(tl.float32)), 0))",
        "differences rounded to half before the exponential",
    ),
    Text("gelu_erf", "x fp32 16x1000", "F.gelu(x)", "0.7071067811865476", "0.707", "1.5e-4 of the argument"),
    Text(
        "swiglu",
        "g fp16 3x1000; u fp16 3x1000",
        "F.silu(g) * u",
        "mask=mask, other=0.0).to(tl.float32)\n    u",
        "mask=offs < n - 1, other=0.0).to(tl.float32)\n    u",
        "the last element is 0",
    ),
    Text(
        "residual_norm",
        "x fp32 16x300; r fp32 16x300; g fp32 300",
        "x + r, F.rms_norm(x + r, (300,), g, 1e-6)",
        "tl.sum(h * h, 0)",
        "tl.sum(x * x, 0)",
        "the norm of x alone",
    ),
    Text(
        "embedding",
        "ids int64 33; table fp32 100x72",
        "F.embedding(ids, table)",
        "out_ptr + pid * D + d, x, mask=d < D",
        "out_ptr + pid * D + d, x, mask=d < D - 1",
        "the last column is not written",
    ),
    Text(
        "column_sum",
        "x fp32 100x200",
        "x.sum(0)",
        "range(0, M, BM)",
        "range(0, M - BM + 1, BM)",
        "the last four rows are left out",
    ),
    Text(
        "weighted_prefix",
        "x fp32 32x64",
        "torch.exp(x) / torch.exp(x).cumsum(-1)",
        "tl.exp(x), axis=1)",
        "tl.exp(x), axis=1) - tl.exp(x) * (i == N - 1)[None, :]",
        "the last sum lacks its own element",
    ),
    Text(
        "batched_product",
        "a fp16 3x20x64; b fp16 3x64x40",
        "torch.bmm(a, b)",
        "b_ptr += batch * stride_bb",
        "b_ptr += batch * stride_ab",
        "another batch's block of b",
    ),
    Text(
        "dequantized_product",
        "x fp16 16x64; w int8 64x64; s fp16 64",
        "x @ (w.to(x.dtype) * s)",
        "acc = acc * scale[None, :]",
        "acc = acc * tl.load(s_ptr + rm).to(tl.float32)[:, None]",
        "the scale of the row",
    ),
    Text(
        "descriptors",
        "a fp16 64x96; b fp16 64x96",
        "a @ b.T",
        "[off_n, k]",
        "[off_n, k // 64 * 64]",
        "every second block of b's depth",
    ),
    Text(
        "autotuned", "x fp32 16x1000", "x * torch.sigmoid(1.702 * x)", "1.702 * x)", "1.7 * x)", "a tenth of a percent"
    ),
    Text(
        "heuristics",
        "x fp32 16x1000",
        "x.sum(-1)",
        'args["n"] % 256 == 0',
        'args["n"] % 8 == 0',
        "no mask where there is a tail",
    ),
    Text(
        "static_range",
        "x fp32 16x256; y fp32 16x256",
        "(x * y).sum(-1)",
        "tl.static_range(0, CHUNKS)",
        "tl.static_range(0, CHUNKS - 1)",
        "the last quarter",
    ),
    Text(
        "transpose_scale",
        "x fp32 70x40; s fp32 70",
        "(x * s[:, None]).T",
        "tl.load(s_ptr + rm, mask=rm < M)",
        "tl.load(s_ptr + rm, mask=rm < M - M % 32, other=1.0)",
        "the last rows are not scaled",
    ),
    Text(
        "swizzled",
        "x fp32 64x96; y fp32 64x96",
        "x + y",
        "rows = i * BM",
        "rows = tl.program_id(0) * BM",
        "rows are not swizzled with their columns: tiles twice and never",
    ),
    Text(
        "persistent",
        "x fp32 16x1000",
        "F.leaky_relu(x, 0.01)",
        "range(tl.program_id(0), tiles, tl.num_programs(0))",
        "range(tl.program_id(0), tiles - 1, tl.num_programs(0))",
        "the last tile",
    ),
    Text(
        "two_pass_sum",
        "x fp32 20x1000",
        "x.square().sum()",
        "BLOCK=triton.next_power_of_2(parts))",
        "BLOCK=32)",
        "partial sums beyond 32",
    ),
    Text(
        "l2_normalize",
        "x fp32 16x100",
        "F.normalize(x, dim=-1)",
        "tl.maximum(norm, 1e-12)",
        "(norm + 1e-4)",
        "a hundred-thousandth",
    ),
    Text("logsumexp", "x fp32 16x1000", "torch.logsumexp(x, -1)", "1.4426950408889634", "1.4427", "3e-6 of x"),
    Text(
        "group_norm",
        "x fp32 2x24x20; w fp32 24; b fp32 24",
        "F.group_norm(x, 4, w, b)",
        "channel = group * GROUP + offs // L",
        "channel = group * GROUP + offs % GROUP",
        "weights go round with positions",
    ),
    Text(
        "causal_convolution",
        "x fp32 8x100; w fp32 8x4",
        CONVOLVED,
        "(src >= 0) & (src < T)",
        "(src > -2) & (src < T)",
        "the channel before it, one element",
    ),
    Text(
        "bias_relu",
        "x fp32 40x40; b fp32 40",
        "torch.relu(x + b)",
        "tl.load(b_ptr + rn, mask=rn < N)",
        "tl.load(b_ptr + rm, mask=rm < M)",
        "the bias of the row of a square",
    ),
    Text(
        "absolute_maximum",
        "x fp32 16x300",
        "x.abs().amax(-1) / 127",
        "tl.maximum(best, tl.abs(x))",
        "tl.maximum(best, x)",
        "rows whose largest magnitude is negative",
    ),
    Text(
        "divergence",
        "x fp32 16x100; y fp32 16x100",
        "(torch.softmax(y, -1) * (torch.log_softmax(y, -1) - torch.log_softmax(x, -1))).sum(-1)",
        "tl.exp(log_q) * (log_q - log_p)",
        "tl.exp(log_p) * (log_q - log_p)",
        "weighed by the other one",
    ),
    Text(
        "geglu",
        "x fp32 16x200",
        "F.gelu(x[:, :100], approximate='tanh') * x[:, 100:]",
        "0.044715",
        "0.0447",
        "3e-4 of the cube",
    ),
    Text(
        "decode_attention",
        "q fp16 8x64; k fp16 2x100x64; v fp16 2x100x64",
        DECODE,
        "kv = head // GROUP",
        "kv = head % 2",
        "heads take turns",
    ),
    Text(
        "window_attention",
        QKV.format(64),
        WINDOW,
        "tl.maximum(start - W + 1, 0) // BN * BN",
        "tl.maximum(start - W + 1 + BN, 0) // BN * BN",
        "the window's first block is left out",
    ),
    Text(
        "soft_capped_scores",
        "q fp16 32x64; k fp16 40x64",
        "torch.softmax(30 * torch.tanh(q @ k.T * 0.125 / 30), -1)",
        "s = 30.0 * (2.0 *",
        "s = 30.0 * (1.9 *",
        "a twentieth of the cap",
        "q = q * 4",
    ),
    Text(
        "linear_epilogue",
        "x fp16 20x100; w fp16 48x100; b fp16 48",
        "torch.relu(F.linear(x, w, b))",
        "tl.maximum(acc + bias[None, :], 0.0)",
        "tl.maximum(acc, 0.0) + bias[None, :]",
        "the bias comes after",
    ),
    Text(
        "float_product",
        "a fp32 32x256; b fp32 256x64",
        "a @ b",
        'acc = tl.dot(a, b, acc, input_precision="ieee")',
        "acc = tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16), acc)",
        "operands of eight bits",
    ),
    Text(
        "moments_norm",
        "x fp32 8x300",
        "F.layer_norm(x, (300,))",
        "tl.sum(c * c, 0) + delta * delta * count * n / total",
        "tl.sum(c * c, 0) + delta * delta * count * n / N",
        "the count so far in the total's place",
        "x[:, :128] = x[:, :128] + 2",
    ),
    Text(
        "pooled",
        "x fp32 8x400",
        "x.reshape(8, 100, 4).mean(-1)",
        "o[:, None] * 4 + k[None, :]",
        "o[:, None] * 4 + k[None, :] * (o[:, None] < 99)",
        "the last window repeats its first element",
    ),
    Text(
        "scaled_fp8_product",
        "a fp8e4m3 32x64; b fp8e4m3 64x64; sa fp32 32; sb fp32 64",
        "(a.float() @ b.float().T) * sa[:, None] * sb[None, :]",
        "sb = tl.load(sb_ptr + rn)",
        "sb = tl.load(sb_ptr + rn // 2 * 2)",
        "neighbours share a scale",
    ),
)

"""Large products and long attention, as text that a user would write: the points of `large.py`.

Products of M rows (512 to 4,096) by N x K weights: with bias and GELU, after an RMS norm, as the two of a gate. Attention of 32 heads,
d 64 and 128, over 512 to 8,192 tokens: all of them, causal, in a window of 1,024, with a soft cap, with an additive mask. Grouped
queries: 256 rows, d 64, 4,096 keys.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = "import torch\nimport torch.nn.functional as F\n\nimport mirage\n\n\n"
ROWS = (512, 1024, 2048, 4096)
WEIGHTS = ((4096, 4096), (14336, 4096), (8192, 8192))  # N, K
TOKENS, HEADS, DIMS, WINDOW = (512, 1024, 2048, 4096, 8192), 32, (64, 128), 1024
DTYPES = ("fp16", "bf16")
Shape = tuple[int, ...]


@dataclass(frozen=True)
class LargePoint:
    """`group`: products, attention, unfused (attention that no fused call of PyTorch computes without its scores or a mask in memory), gqa.
    `name`: KIND/SIZES/DTYPE."""

    group: str
    name: str
    inputs: tuple[Shape, ...]
    arguments: str
    body: tuple[str, ...]

    @property
    def function(self) -> str:
        return self.name.partition("/")[0]

    @property
    def text(self) -> str:
        dtype = self.name.rpartition("/")[2]
        given = ", ".join(f'({shape}, "{dtype}")' for shape in self.inputs)
        lines = "".join(f"    {line}\n" for line in self.body)
        return f"{HEAD}@mirage.optimize(inputs=[{given}])\ndef {self.function}({self.arguments}):\n{lines}"


def products(m: int, n: int, k: int, dtype: str) -> list[LargePoint]:
    at = f"{m}x{n}x{k}/{dtype}"
    x, w = (m, k), (n, k)
    return [
        LargePoint("products", f"bias_gelu/{at}", (x, w, (n,)), "x, w, b", ("return F.gelu(F.linear(x, w, b))",)),
        LargePoint(
            "products", f"norm/{at}", (x, (k,), w), "x, g, w",
            (f"return F.linear(F.rms_norm(x, ({k},), g, 1e-6), w)",),
        ),
        LargePoint(
            "products", f"gate/{at}", (x, w, w), "x, w1, w2", ("return F.silu(F.linear(x, w1)) * F.linear(x, w2)",)
        ),
    ]  # fmt: skip


def attentions(n: int, d: int, dtype: str) -> list[LargePoint]:
    at = f"{n}x{d}/{dtype}"
    qkv = ((1, HEADS, n, d),) * 3
    window = (
        "i = torch.arange(q.shape[-2], device=q.device)",
        f"seen = (i[:, None] >= i) & (i[:, None] - i < {WINDOW})",
        "return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)",
    )
    cap = (
        "scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5",
        "scores = 50.0 * torch.tanh(scores / 50.0)",
        "return torch.softmax(scores, dim=-1) @ v",
    )
    found = [
        LargePoint("attention", f"full/{at}", qkv, "q, k, v", ("return F.scaled_dot_product_attention(q, k, v)",)),
        LargePoint(
            "attention", f"causal/{at}", qkv, "q, k, v",
            ("return F.scaled_dot_product_attention(q, k, v, is_causal=True)",),
        ),
        LargePoint("unfused", f"cap/{at}", qkv, "q, k, v", cap),
        LargePoint(
            "unfused", f"mask/{at}", (*qkv, (n, n)), "q, k, v, mask",
            ("return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)",),
        ),
    ]  # fmt: skip
    if n > WINDOW:
        found.append(LargePoint("attention", f"window/{at}", qkv, "q, k, v", window))
    return found


def grouped(batch: int, dtype: str) -> LargePoint:
    """Grouped queries as their 256 rows a key head."""
    shapes = ((2 * batch, 1, 256, 64), *((2 * batch, 1, 4096, 64),) * 2)
    body = ("return F.scaled_dot_product_attention(q, k, v)",)
    return LargePoint("gqa", f"gqa_rows/bs{batch}/{dtype}", shapes, "q, k, v", body)


def every_point() -> list[LargePoint]:
    """All points, those of a dtype together and small ones first."""
    found: list[LargePoint] = []
    for dtype in DTYPES:
        found += [p for m in ROWS for n, k in WEIGHTS for p in products(m, n, k, dtype)]
        found += [p for n in TOKENS for d in DIMS for p in attentions(n, d, dtype)]
        found += [grouped(b, dtype) for b in (8, 16)]
    return found

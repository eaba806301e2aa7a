"""The points of the GPU benchmark: seven workloads at batch 1, 8 and 16, as text that a user would write.

Shapes: RMSNorm+Linear, gated MLP and LoRA (rank 16) at 4096x4096; decoding with grouped queries (2 KV heads, 8 query heads
each, d 128, 8192 keys); 256 query rows (d 64, 4096 keys); QK-norm attention (32 heads, d 128, 4096 keys); nTrans
(8 rows a batch of 4096). `library` is the same with PyTorch's fused attention, called with each of its backends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BATCHES = (1, 8, 16)
HEAD = "import torch\nimport torch.nn.functional as F\n\nimport mirage\n\n\n"


@dataclass(frozen=True)
class Workload:
    """`shapes` of the inputs: a number of rows for each element of the batch is negative (-2: twice the batch).
    `attention`: whether the backends of SDPA apply."""

    shapes: tuple[tuple[int, ...], ...]
    arguments: str
    body: tuple[str, ...]
    attention: bool = False

    def inputs(self, batch: int) -> list[tuple[int, ...]]:
        return [tuple(-n * batch if n < 0 else n for n in shape) for shape in self.shapes]

    def text(self, name: str, batches: tuple[int, ...], dtype: str = "fp16") -> str:
        """A module with the decorated function; several batches are rows of `inputs=`."""
        rows = [", ".join(f'({shape}, "{dtype}")' for shape in self.inputs(b)) for b in batches]
        given = f"[{rows[0]}]" if len(rows) == 1 else "[" + ", ".join(f"[{r}]" for r in rows) + "]"
        lines = "".join(f"    {line}\n" for line in self.body)
        return f"{HEAD}@mirage.optimize(inputs={given})\ndef {name}({self.arguments}):\n{lines}"


WORKLOADS = {
    "rmsnorm_linear": Workload(
        ((-1, 4096), (4096,), (4096, 4096)), "x, g, w", ("return F.linear(F.rms_norm(x, (4096,), g, 1e-6), w)",)
    ),
    "gated_mlp": Workload(
        ((-1, 4096), (4096, 4096), (4096, 4096)), "x, w1, w2", ("return F.silu(x @ w1) * (x @ w2)",)
    ),
    "lora": Workload(
        ((-1, 4096), (4096, 4096), (4096, 16), (16, 4096)), "x, w, a, b", ("return x @ w + (x @ a) @ b",)
    ),
    "gqa_decode": Workload(
        ((-2, 1, 8, 128), (-2, 1, 8192, 128), (-2, 1, 8192, 128)), "q, k, v",
        ("return F.scaled_dot_product_attention(q, k, v)",), True,
    ),
    "gqa_rows": Workload(
        ((-2, 1, 256, 64), (-2, 1, 4096, 64), (-2, 1, 4096, 64)), "q, k, v",
        ("return F.scaled_dot_product_attention(q, k, v)",), True,
    ),
    "qknorm_attention": Workload(
        ((-1, 32, 1, 128), (-1, 32, 4096, 128), (-1, 32, 4096, 128), (128,), (128,)), "q, k, v, gq, gk",
        ("q, k = F.rms_norm(q, (128,), gq, 1e-6), F.rms_norm(k, (128,), gk, 1e-6)",
         "return F.scaled_dot_product_attention(q, k, v)"), True,
    ),
    "ntrans": Workload(
        ((-8, 4096), (-8, 4096), (-8, 4096)), "x, h, a",
        ("def unit(t):",
         "    return t / t.float().pow(2).sum(-1, keepdim=True).sqrt().to(t.dtype)",
         "",
         "return unit(x + a * (unit(h) - x))"),
    ),
}  # fmt: skip


def fastest(report: dict[str, Any]) -> dict[str, str]:
    """Of each point of what `gpu.py --out` wrote: the text of the variant with the least time with cold caches."""
    timed = sorted((v for v in report["variants"] if "text" in v), key=lambda v: -float(v["cold"]))
    return {v["point"]: v["text"] for v in timed}

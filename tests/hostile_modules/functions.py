"""Functions whose modules are edited: loops, split sums, partial results, counters, several kernels and outputs, sizes with a rest.

The text is a file as a user writes it; `mirage optimize` makes a module of each function at run time, and none is stored.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """import torch
import torch.nn.functional as F

import mirage
"""


@dataclass(frozen=True)
class Function:
    """A function by its name, the inputs ("x fp16 13 600, w fp16 520 600") and the lines of its body."""

    name: str
    inputs: str
    body: str

    @property
    def text(self) -> str:
        """The decorated definition."""
        rows = [row.split() for row in self.inputs.split(",")]
        shapes = ", ".join(f'(({"".join(size + ", " for size in sizes)}), "{dtype}")' for _, dtype, *sizes in rows)
        lines = "".join(f"    {line}\n" for line in self.body.splitlines())
        return f"@mirage.optimize(inputs=[{shapes}])\ndef {self.name}({', '.join(row[0] for row in rows)}):\n{lines}"

    @property
    def file(self) -> str:
        """A file with this function alone."""
        return f"{HEAD}\n\n{self.text}"


FUNCTIONS = (
    Function("softmax_rows", "x fp16 12 700", "return torch.softmax(x, -1)"),
    Function(
        "norm_product",
        "x fp16 13 600, g fp16 600, w fp16 520 600",
        "return F.linear(F.rms_norm(x, (600,), g, 1e-5), w)",
    ),
    Function(
        "attention",
        "q fp16 2 40 32, k fp16 2 200 32, v fp16 2 200 32",
        "return torch.softmax(q @ k.transpose(1, 2) * 32 ** -0.5, -1) @ v",
    ),
    Function(
        "causal",
        "q fp16 2 72 32, k fp16 2 72 32, v fp16 2 72 32",
        "return F.scaled_dot_product_attention(q, k, v, is_causal=True)",
    ),
    Function(
        "gated",
        "x fp16 8 1024, u fp16 1024 512, w fp16 1024 512",
        "return F.silu(x @ u) * (x @ w)",
    ),
    Function(
        "adapter",
        "x fp16 16 512, w fp16 512 320, a fp16 512 16, b fp16 16 320",
        "return x @ w + (x @ a) @ b",
    ),
    Function(
        "decode",
        "q fp16 2 8 64, k fp16 2 2000 64, v fp16 2 2000 64",
        "return torch.softmax(q @ k.transpose(1, 2) * 0.125, -1) @ v",
    ),
    Function(
        "layer_norm_product",
        "x fp16 16 384, g fp16 384, b fp16 384, w fp16 256 384",
        "return F.linear(F.layer_norm(x, (384,), g, b, 1e-5), w)",
    ),
    Function("two_statistics", "x fp32 24 900", "return x.amax(-1), x.square().mean(-1)"),
    Function("long_sums", "x fp32 2 40000", "return x.exp().sum(-1)"),
    Function("column_sums", "x fp32 600 70", "return (x * x).sum(0)"),
    Function("log_normalizer", "x fp16 20 1500", "return torch.logsumexp(x.float(), -1)"),
    Function(
        "residual_norm",
        "x fp16 9 512, r fp16 9 512, g fp16 512",
        "h = x + r\nreturn h, F.rms_norm(h, (512,), g, 1e-6)",
    ),
    Function(
        "normalized_decode",
        "q fp16 4 1 64, k fp16 4 1500 64, v fp16 4 1500 64, g fp16 64",
        "q = F.rms_norm(q, (64,), g, 1e-6)\nreturn torch.softmax(q @ k.transpose(1, 2) * 0.125, -1) @ v",
    ),
    Function(
        "normalized_step",
        "x fp16 16 768, h fp16 16 768, a fp16 16 768",
        "h = h / h.float().norm(dim=-1, keepdim=True)\nreturn (x + a * (h - x)).half()",
    ),
    Function(
        "activated_product",
        "x fp32 8 256, w fp32 256 96, b fp32 96",
        "return F.gelu(x) @ w + b",
    ),
    Function("centred_rows", "x bf16 10 1000", "return x - x.mean(-1, keepdim=True)"),
    Function(
        "weighted_mean",
        "x fp32 300 40, w fp32 300 1",
        "p = torch.softmax(w, 0)\nreturn (p * x).sum(0)",
    ),
)

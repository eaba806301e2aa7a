"""Edits of emitted modules, as a colleague who means no good would make them: each changes lines of one module of `emitted/`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from strangers.edited import attention, gated, layer_norm, rms_linear, softmax
from strangers.edited.edit import Edit
from strangers.pair import Pair, source

FOLDER = Path(__file__).parent / "emitted"
MUGRAPH = ("# mirage:begin mugraph\n", "# mirage:end mugraph\n")


@dataclass(frozen=True)
class Base:
    """A function that a module was emitted for, and the edits of the module."""

    pair: Pair
    edits: tuple[Edit, ...]

    @property
    def text(self) -> str:
        """The module as it was emitted."""
        return (FOLDER / f"{self.pair.name}.txt").read_text("utf-8")

    @property
    def function(self) -> str:
        return source(self.pair, "a")


def without_mugraph(text: str) -> str:
    """The module without the µGraph that it carries: it is judged by its text alone."""
    before, _, rest = text.partition(MUGRAPH[0])
    return before + rest.partition(MUGRAPH[1])[2]


BASES = tuple(
    Base(Pair(name, inputs, wanted, wanted, "emitted"), edits)
    for name, inputs, wanted, edits in (
        ("softmax", "x fp16 64x1000", "torch.softmax(x, -1)", softmax.EDITS),
        (
            "rms_linear",
            "x fp16 16x512; g fp16 512; w fp16 256x512",
            "F.linear(F.rms_norm(x, (512,), g, 1e-6), w)",
            rms_linear.EDITS,
        ),
        (
            "attention",
            "q fp16 4x16x64; k fp16 4x256x64; v fp16 4x256x64",
            "torch.softmax(q @ k.mT * 0.125, -1) @ v",
            attention.EDITS,
        ),
        (
            "layer_norm",
            "x fp16 32x1000; w fp16 1000; b fp16 1000",
            "F.layer_norm(x, (1000,), w, b, 1e-5)",
            layer_norm.EDITS,
        ),
        ("gated", "x fp16 8x512; a fp16 512x256; b fp16 512x256", "F.silu(x @ a) * (x @ b)", gated.EDITS),
    )
)

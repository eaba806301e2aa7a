"""Functions that ask of their tensors or of PyTorch how far, along which axis or with which factor they go; the other one asks not."""

from __future__ import annotations

from hostile.pair import Pair
from hostile.trace_pairs import QUESTIONS, SIZED, SQUARE

# What the answer decides: the function that asks, and what it is for yes and for no.
DECIDED = (
    ("factor", "return x * (2.0 if {q} else 3.0) + y", "x * 2.0 + y", "x * 3.0 + y"),
    ("columns", "n = 4 if {q} else 8\nreturn x[:, :n].sum(-1) + y[:, 0]", "x[:, :4].sum(-1) + y[:, 0]", "x.sum(-1) + y[:, 0]"),
    ("axis", "return x.cumsum(0 if {q} else 1) + y", "x.cumsum(0) + y", "x.cumsum(1) + y"),
    ("steps", "s = y\nfor _ in range(2 if {q} else 3):\n    s = torch.tanh(s + x)\nreturn s",
     "torch.tanh(torch.tanh(y + x) + x)", "torch.tanh(torch.tanh(torch.tanh(y + x) + x) + x)"),
    ("operator", "g = torch.exp if {q} else torch.sin\nreturn g(x) * y", "torch.exp(x) * y", "torch.sin(x) * y"),
    ("constant", "c = 1.5\nif {q}:\n    c = -0.5\nreturn x.clamp(min=c) - y", "x.clamp(min=-0.5) - y", "x.clamp(min=1.5) - y"),
    ("sign", "return (y - x) * (1 - 2 * int({q}))", "x - y", "y - x"),
    ("threshold", "return torch.where(x > (0.0 if {q} else 0.5), 5.0, y)",
     "torch.where(x > 0.0, 5.0, y)", "torch.where(x > 0.5, 5.0, y)"),
)  # fmt: skip
# Questions that a size or a dtype answers: at the declared ones the other answer is wrong.
FACTS = (
    ("dimensions", "x.ndim == 2"), ("dimensions_called", "x.dim() > 1"), ("rows", "len(x) == 16"),
    ("element_bytes", "x.element_size() == 4"), ("bytes", "x.nbytes == 8192"), ("dtype", "x.dtype == torch.float32"),
    ("floating", "x.is_floating_point()"), ("signed", "x.is_signed()"), ("last_size", "x.shape[-1] % 64 == 0"),
    ("product_of_sizes", "math.prod(x.shape) == 2048"), ("power_of_two", "x.numel() & (x.numel() - 1) == 0"),
    ("wider_than_high", "x.size(1) // x.size(0) == 8"), ("real", "not x.is_complex()"),
)  # fmt: skip
FACT_FORMS = (
    ("chosen", "return x * 2 if {q} else x * 3", "x * 2", "x * 3"),
    ("branch", "if {q}:\n    return x.sum(-1)\nreturn x.amax(-1)", "x.sum(-1)", "x.amax(-1)"),
)


def decided(index: int, turn: int) -> list[Pair]:
    """The function that asks against what it is for one answer, shown where the answer is the other."""
    name, word, question, yes, no = QUESTIONS[index]
    title, asks, then, other = DECIDED[(index * 3 + turn * 5) % len(DECIDED)]
    a = asks.format(q=question)
    found = []
    for label, b, place in (("yes_alone", then, no), ("no_alone", other, yes)):
        if place is not None:
            witness, under = place
            found.append(Pair(f"{title}_by_{name}_{label}", "trace", "differ", SQUARE, a, b, witness, under, word))
    return found


PAIRS: tuple[Pair, ...] = (
    *(pair for turn in range(2) for i in range(len(QUESTIONS)) for pair in decided(i, turn)),
    *(
        Pair(f"{title}_by_{name}_wrong", "trace", "differ", SIZED, form.format(q=question), wrong)
        for name, question in FACTS
        for title, form, _, wrong in FACT_FORMS
    ),
)
EQUAL: tuple[Pair, ...] = tuple(
    Pair(f"{title}_by_{name}_right", "sizes as numbers", "equal", SIZED, form.format(q=question), right)
    for name, question in FACTS
    for title, form, right, _ in FACT_FORMS
)

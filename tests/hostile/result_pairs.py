"""Functions of several outputs of which one is wrong: a fault of each kind in each place, two exchanged, one given twice."""

from __future__ import annotations

from itertools import combinations

from hostile.pair import Family, Pair, every

TWO = "x fp32 8 16, y fp32 8 16"
# A fault: the right output, the wrong one and what shows it.
FAULTS = (
    ("scale", "x * 0.125", "x * 0.1251", ""),
    ("threshold", "torch.where(x > 0.5, x, y)", "torch.where(x > 0.75, x, y)", "x.uniform_(0.5, 0.75)"),
    ("strictness", "torch.where(x >= 1, y, x)", "torch.where(x > 1, y, x)", "x.fill_(1.0)"),
    ("diagonal", "torch.triu(x, 2)", "torch.triu(x, 3)", ""),
    ("last_column", "x.sum(-1)", "x[:, :15].sum(-1)", ""),
    ("axis", "torch.softmax(x, 0)", "torch.softmax(x, 1)", ""),
    ("cast", "(x * y).half().float()", "x * y", ""),
    ("sign", "x - y", "y - x", ""),
    ("epsilon", "F.rms_norm(x, (16,), None, 1e-5)", "F.rms_norm(x, (16,), None, 1e-6)", "x.mul_(0.003)"),
    ("shift", "torch.roll(x, 1, -1)", "torch.roll(x, 2, -1)", ""),
    ("clamp", "x.clamp(max=2)", "x * 1.0", "x.fill_(3.0)"),
    ("undefined", "torch.sqrt(x.clamp(min=0))", "torch.sqrt(x)", "x.fill_(-1.0)"),
    ("overflow", "torch.sigmoid(x)", "x.exp() / (1 + x.exp())", "x.fill_(100.0)"),
    ("mean", "x.mean(-1)", "x.sum(-1) / 15", ""),
    ("operand", "x @ y.T", "x @ x.T", ""),
    ("largest", "x.amax(-1)", "x.abs().amax(-1)", "x.fill_(-1.0)"),
)
PLACES = (
    ("before_a_sum", "{}, (x + y).sum(0)"),
    ("after_a_sum", "(x + y).sum(0), {}"),
    ("after_a_norm", "F.rms_norm(x + y, (16,)), {}"),
    ("between", "x * y, {}, x + 2 * y"),
    ("last_of_four", "x * y, x + y, x.exp(), {}"),
    ("with_its_double", "h = {}\nreturn h * 2, y"),
)
# Outputs of one shape, any two of which may be taken for each other.
SAME = (
    "x + y", "x * y", "torch.tanh(x)", "torch.softmax(x, -1)", "F.relu(y)", "x.cumsum(-1)", "torch.maximum(x, y)", "x.flip(-1)",
)  # fmt: skip
ROWS = ("x.sum(-1)", "x.amax(-1)", "x.amin(-1)", "x.square().mean(-1)", "x.logsumexp(-1)", "x[:, 0] * 1.0")


def exchanged(title: str, texts: tuple[str, ...]) -> list[Family]:
    """Each two outputs in the other order, and the first of them twice."""
    found = []
    for (i, a), (j, b) in combinations(enumerate(texts), 2):
        found.append(Family(f"{title}_{i}_{j}_exchanged", TWO, f"{a}, {b}", f"{b}, {a}"))
        found.append(Family(f"{title}_{i}_{j}_twice", TWO, f"{a}, {b}", f"{a}, {a}"))
    return found


FAMILIES = (
    *(
        Family(f"{fault}_{place}", TWO, form.format(a), form.format(b), witness)
        for fault, a, b, witness in FAULTS
        for place, form in PLACES
    ),
    *exchanged("wholes", SAME),
    *exchanged("rows", ROWS),
    *(
        Family(f"rotated_{i}_{j}_{k}", TWO, f"{a}, {b}, {c}", f"{b}, {c}, {a}")
        for (i, a), (j, b), (k, c) in list(combinations(enumerate(SAME), 3))[::2]
    ),
)

PAIRS: tuple[Pair, ...] = every("several outputs", "differ", FAMILIES)

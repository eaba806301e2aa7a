"""Functions gated by a quantity of their input that is compared with another constant, more or less strictly, or not at all."""

from __future__ import annotations

from hostile.pair import Family, Pair, every, product

THREE = "x fp32 8 16, y fp32 8 16, z fp32 8 16"
# A quantity of x, and what fills x so that the quantity is {t}.
QUANTITIES = [
    ("x.neg()", "-({t})"),
    ("x.abs()", "-({t})"),
    ("x.square()", "({t}) ** 0.5"),
    ("x.exp()", "math.log({t})"),
    ("torch.sigmoid(x)", "math.log({t} / (1 - {t}))"),
    ("torch.tanh(x)", "math.atanh({t})"),
    ("F.softplus(x)", "math.log(math.expm1({t}))"),
    ("x.sum(-1, keepdim=True)", "({t}) / 16"),
    ("x.mean(0, keepdim=True)", "{t}"),
    ("x.amax(-1, keepdim=True)", "{t}"),
    ("x.amin(-1, keepdim=True)", "{t}"),
    ("x.square().mean(-1, keepdim=True)", "({t}) ** 0.5"),
    ("x.logsumexp(-1, keepdim=True)", "{t} - math.log(16)"),
    ("x.norm(dim=-1, keepdim=True)", "({t}) / 4"),
]
# What a body does with the quantity {g} and the constant {c}.
USES = [
    ("select", "torch.where({g} > {c}, y, z)"),
    ("raise", "torch.maximum({g} * 1.0, torch.full_like({g}, {c})) * y"),
    ("cap", "({g}).clamp(max={c}) + 0.125 * y"),
    ("rectify", "F.relu({g} - {c}) * 50 + y"),
    ("fill", "y.masked_fill({g} <= {c}, 9.0)"),
    ("count", "({g} > {c}).float() + 0.125 * z"),
]
CONSTANTS = [(0.5, 0.625), (0.25, 0.26)]
# Quantities that reach the constant exactly, and where.
EXACT = [
    ("x", "{t}"),
    ("x.abs()", "-({t})"),
    ("x.amax(-1, keepdim=True)", "{t}"),
    ("x.mean(-1, keepdim=True)", "{t}"),
    ("(x - y)", "y + {t}"),
    ("F.relu(x)", "{t}"),
]
STRICT = [
    ("select_above", "torch.where({g} {o} {t}, y + 3, z)", ">", ">="),
    ("select_below", "torch.where({g} {o} {t}, z, y + 3)", "<", "<="),
    ("factor", "({g} {o} {t}).float() * 8 + z", ">=", ">"),
    ("equal_or_above", "torch.where({g} {o} {t}, y + 3, z)", "==", ">"),
]


def between(use: str, quantity: str, fill: str, low: float, high: float) -> Family:
    """One use of a quantity with two constants, shown where the quantity is between them."""
    title, form = next(row for row in USES if row[0] == use)
    name = f"{title}_by_{quantity}_{low}_{high}"
    witness = f"x.fill_({fill.format(t=(low + high) / 2)})"
    return Family(name, THREE, form.format(g=quantity, c=low), form.format(g=quantity, c=high), witness)


def at(row: tuple[str, str, str, str], quantity: str, fill: str, t: float) -> Family:
    """A strict and a weak comparison, shown where the quantity is the constant."""
    title, form, one, other = row
    bodies = [form.format(g=quantity, o=x, t=t) for x in (one, other)]
    return Family(
        f"{title}_at_{quantity}_{t}", THREE, bodies[0], bodies[1], f"x.copy_(torch.zeros_like(x) + {fill.format(t=t)})"
    )


FAMILIES = (
    *(
        between(use, quantity, fill, low, high)
        for use, _ in USES
        for quantity, fill in QUANTITIES
        for low, high in CONSTANTS
    ),
    *(at(row, quantity, fill, t) for row in STRICT for quantity, fill in EXACT for t in (1.5, 2.0)),
    Family(
        "dead_zone",
        THREE,
        "torch.where(x.abs() > {p}, x - {p} * torch.sign(x), 0.0)",
        "torch.where(x.abs() > {q}, x - {p} * torch.sign(x), 0.0)",
        "x.fill_(({p} + 2 * {q}) / 3)",
        "p q",
        [(0.5, 0.75), (1, 2), (0.5, 0.51)],
    ),
    Family(
        "window_of_values",
        THREE,
        "torch.where((x > {p}) & (x < {q}), y, z)",
        "torch.where((x > {p}) & (x < {r}), y, z)",
        "x.fill_(({q} + {r}) / 2)",
        "p q r",
        [(0, 1, 2), (-1, 1, 1.01), (0, 3, 2)],
    ),
    Family(
        "outliers",
        THREE,
        "torch.where(x.abs() > {p} * x.abs().mean(-1, keepdim=True), y, x)",
        "torch.where(x.abs() > {q} * x.abs().mean(-1, keepdim=True), y, x)",
        "x.fill_(1.0); x[:, 3] = {v}",
        "p q v",
        [(2, 3, 2.9), (4, 6, 6.5)],
    ),
    Family(
        "share_of_the_largest",
        THREE,
        "torch.where(x >= {p} * x.amax(-1, keepdim=True), x, 0.0)",
        "torch.where(x >= {q} * x.amax(-1, keepdim=True), x, 0.0)",
        "x.fill_(1.0); x[:, 3] = ({p} + {q}) / 2",
        "p q",
        [(0.5, 0.6), (0.9, 0.99)],
    ),
    Family(
        "second_gate_forgotten",
        THREE,
        "torch.where((x > 0) & (y > {p}), z, 0.0)",
        "torch.where(x > 0, z, 0.0)",
        "x.fill_(1.0); y.fill_({p} - 1)",
        "p",
        [(-3,), (0,), (5,)],
    ),
    Family("huber", THREE, "F.huber_loss(x, y, reduction='none', delta={p})", "F.huber_loss(x, y, reduction='none', delta={q})",
           "x.fill_(4.0); y.zero_()", "p q", product([(1,), (2,)], [(1.5,), (0.5,)])),
    Family("elu_scale", THREE, "F.elu(x, {p}) + y", "F.elu(x, {q}) + y", "x.fill_(-2.0)", "p q", [(1, 1.1), (0.5, 1)]),
    Family("steps", THREE, "torch.floor(x / {p}) + y", "torch.floor(x / {q}) + y", "x.fill_(7.0)", "p q", [(2, 3), (0.5, 0.6)]),
)  # fmt: skip

PAIRS: tuple[Pair, ...] = every("threshold", "differ", FAMILIES)

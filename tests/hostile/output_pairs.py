"""Functions of several outputs that differ in one of them: swapped, shifted by an index, of another constant, forgotten."""

from __future__ import annotations

from hostile.pair import Family, Pair, every, product

TWO = "x fp32 8 16, y fp32 8 16"
FAULTS = [
    ("x * 3", "x * 3.001", ""),
    ("torch.where(x > 2, x, y)", "torch.where(x > 3, x, y)", "x.uniform_(2, 3)"),
    ("torch.tril(x, 8)", "torch.tril(x, 12)", ""),
    ("x.half().float()", "x * 1.0", ""),
]
PLACES = [
    ("{}, x + y",),
    ("x + y, {}",),
    ("x + y, x - y, {}",),
    ("x + y, {}, x - y",),
    ("{}, ({}) + y",),
]


def placed() -> tuple[Family, ...]:
    """Each fault as each of the outputs."""
    rows = [(form, *fault) for form, fault in product(PLACES, [(f,) for f in FAULTS])]
    names = ("first", "second", "last_of_three", "middle", "twice")
    faults = ("constant", "threshold", "position", "cast")
    titles = [f"{place}_{fault}" for place in names for fault in faults]
    return tuple(
        Family(title, TWO, str(form).replace("{}", a), str(form).replace("{}", b), witness)
        for title, (form, a, b, witness) in zip(titles, rows, strict=True)
    )


FAMILIES = (
    Family("swapped", TWO, "x + y, x - y", "x - y, x + y"),
    Family("swapped_minimum_and_maximum", TWO, "x.amin(-1), x.amax(-1)", "x.amax(-1), x.amin(-1)"),
    Family("rotated", TWO, "x * 2, x * 3, x * 4", "x * 3, x * 4, x * 2"),
    Family("one_twice", TWO, "x.exp(), y.exp()", "x.exp(), x.exp()"),
    Family("variance_and_mean", TWO, "torch.var_mean(x, -1)", "x.var(-1, correction=0), x.mean(-1)"),
    Family(
        "norm_and_its_scale",
        TWO,
        "s = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)\nreturn x * s, s",
        "s = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)\nreturn x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6), s",
        "x.mul_(0.01)",
    ),
    Family(
        "residual_before_or_after",
        TWO,
        "h = x + y\nreturn h, F.rms_norm(h, (16,))",
        "h = x + y\nreturn x * 1.0, F.rms_norm(h, (16,))",
    ),
    Family(
        "largest_and_where",
        TWO,
        "v, i = x.max(-1)\nreturn v, i",
        "v, i = x.max(-1)\nreturn v, (x == v[:, None]).int().cumsum(-1).argmax(-1)",
        "x.fill_(1.0)",
    ),
    Family(
        "statistics_of_other_rows",
        TWO,
        "torch.softmax(x, -1), x.logsumexp(-1)",
        "torch.softmax(x, -1), y.logsumexp(-1)",
    ),
)

PAIRS: tuple[Pair, ...] = every("several outputs", "differ", (*placed(), *FAMILIES))

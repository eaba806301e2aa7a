"""Two sessions of one scenario: how what a way gives differs from eager, within the rounding that float64 shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

import torch

from strangers.modules.record import Record

SLACK = 8  # times eager's own error, and units in the last place of the largest value of its kind


@dataclass(frozen=True, order=True)
class Difference:
    """`what`: value, form, plain, shares, same, error or step; `name`: the tensor's or pair's; `said`: the two sides."""

    step: str
    what: str
    name: str
    said: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.step, self.what, self.name


def differences(eager: list[Record], wide: list[Record], got: list[Record], coarsest: float) -> list[Difference]:
    """What differs, step by step. `coarsest`: the largest spacing at 1 of a dtype that eager computed in."""
    found: list[Difference] = []
    for i, (a, b) in enumerate(zip_longest(eager, got)):
        if a is None or b is None:
            found.append(Difference((a or b).step, "step", "", f"{a is not None} {b is not None}"))
            break
        found += of_record(a, wide[i] if i < len(wide) else None, b, coarsest)
    return found


def of_record(a: Record, wide: Record | None, b: Record, coarsest: float) -> Iterator[Difference]:
    """What differs at one step."""
    if a.error != b.error:
        yield Difference(a.step, "error", "", f"{a.error or 'none'} / {b.error or 'none'}: {b.message or a.message}")
    for what, x, y in (("form", a.forms, b.forms), ("plain", a.plain, b.plain)):
        for name in x:
            if x[name] != y.get(name):
                yield Difference(a.step, what, name, f"{x[name]} / {y.get(name, 'none')}")
        for name in y.keys() - x.keys():
            yield Difference(a.step, what, name, f"none / {y[name]}")
    for what, p, q in (("shares", a.shares, b.shares), ("same", a.same, b.same)):
        for pair in sorted(p ^ q):
            yield Difference(a.step, what, " ".join(pair), f"{pair in p} / {pair in q}")
    exact = wide.values if wide is not None and comparable(a, wide) else {}
    largest: dict[str, float] = {}
    for name, x in a.values.items():
        kind = name.partition(".")[0]
        largest[kind] = max(largest.get(kind, 0.0), magnitude(x))
    for name, x in a.values.items():
        y = b.values.get(name)
        if y is not None and y.shape == x.shape and y.dtype == x.dtype:
            said = apart(x, exact.get(name), y, coarsest, largest[name.partition(".")[0]])
            if said:
                yield Difference(a.step, "value", name, said)


def comparable(a: Record, wide: Record) -> bool:
    """Did the wide session take the same way?"""
    return a.error == wide.error and a.values.keys() == wide.values.keys()


def magnitude(x: torch.Tensor) -> float:
    if not x.is_floating_point() or not x.numel():
        return 0.0
    return float(x.double().abs().nan_to_num(0.0, 0.0, 0.0).max())


def apart(x: torch.Tensor, exact: torch.Tensor | None, y: torch.Tensor, coarsest: float, largest: float) -> str:
    """How two tensors of one form differ by more than rounding; empty if they do not."""
    if not x.is_floating_point():
        return "" if torch.equal(x, y) else f"{int((x != y).sum())} of {x.numel()} elements differ"
    if not torch.equal(x.isnan(), y.isnan()) or not torch.equal(x.isinf(), y.isinf()):
        return "other elements are not finite"
    inf = x.isinf()
    if not torch.equal(x[inf], y[inf]):
        return "another sign of infinity"
    eps = max(torch.finfo(x.dtype).eps, coarsest)
    fine = x.isfinite()
    got, own = y.double()[fine], x.double()[fine]
    if exact is None or exact.shape != x.shape or not exact.isfinite().equal(x.isfinite()):
        reference, rounding = own, 0.0
    else:
        reference = exact.double()[fine]
        rounding = float((own - reference).abs().max()) if own.numel() else 0.0
    off = float((got - reference).abs().max()) if got.numel() else 0.0
    allowed = SLACK * (rounding + eps * largest)
    return f"off by {off:.3g}, {allowed:.3g} allowed (eager: {rounding:.3g})" if off > allowed else ""

"""`mirage verify`: programs that compute the same are accepted however they are written; neighbours of them are not."""

from __future__ import annotations

import pytest
from workloads.traced import trace

from mirage.errors import SignatureMismatch, UnsupportedReshape
from mirage.ir.program import Program
from mirage.verify.two_programs import compare

HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
INPUTS = {
    "x": ((6, 6), "fp32"), "w": ((6, 6), "fp32"), "r": ((6,), "fp32"), "m": ((6, 6), "bool"), "c": ((4, 4, 4), "fp32"),
}  # fmt: skip


def program(text: str, names: str) -> Program:
    given = [(n, *INPUTS[n]) for n in names]
    return trace(f"{HEAD}def f({', '.join(names)}):\n    return {text}\n", "f", given)


SAME = [
    ("(x @ w) @ x", "x @ (w @ x)", "xw"), ("x @ w", "(w.T @ x.T).T", "xw"), ("x + x.T", "x.T + x", "x"),
    ("x.reshape(2, 3, 6).sum((0, 1))", "x.sum(0)", "x"), ("x.sum(0).sum(0)", "x.sum(1).sum(0)", "x"),
    ("torch.cat([x, w])[:6]", "x", "xw"), ("torch.cat([x, w], 1) @ torch.cat([w, x], 0)", "x @ w + w @ x", "xw"),
    ("(x * w).sum()", "(x.T * w.T).sum()", "xw"), ("torch.relu(x)", "torch.where(x >= 0, x, 0)", "x"),
    ("c.permute(1, 2, 0)", "c.permute(2, 1, 0).permute(1, 0, 2)", "c"),
    ("x.softmax(1)", "x.T.softmax(0).T", "x"), ("(x * r) @ w", "x @ (r[:, None] * w)", "xrw"),
    ("torch.where(m, x, 0)", "x.masked_fill(~m, 0)", "xm"), ("x[:3] + x[3:]", "x[3:] + x[:3]", "x"),
]  # fmt: skip

OTHER = [
    ("x @ w", "x @ w.T", "xw"), ("x @ w", "w @ x", "xw"), ("x + x.T", "2 * x", "x"), ("x", "x.T", "x"),
    ("x + r", "x + r[:, None]", "xr"), ("x.sum(0)", "x.sum(1)", "x"), ("(x @ w).sum(0)", "(x @ w).sum(1)", "xw"),
    ("c.permute(1, 2, 0)", "c.permute(2, 0, 1)", "c"), ("x.sum(0) * x.sum(1)", "(x * x.T).sum(0)", "x"),
    ("torch.where(x > 0, x, w)", "torch.where(x >= 0, x, w)", "xw"), ("x[:3].sum(0)", "x[3:].sum(0)", "x"),
    ("torch.cat([x, w])[:6]", "w", "xw"), ("torch.cat([x, w], 1) @ torch.cat([w, x], 0)", "x @ x + w @ w", "xw"),
    ("torch.where(m, x, w)", "torch.where(m, w, x)", "xwm"), ("x.reshape(2, 3, 6).sum((0, 1))", "x.sum(1)", "x"),
    ("(x @ w) @ x", "x @ (x @ w)", "xw"), ("x.tril()", "x.tril(-1)", "x"),
]  # fmt: skip


@pytest.mark.parametrize("a,b,names", SAME, ids=[f"{a} = {b}" for a, b, _ in SAME])
def test_equal_programs_are_accepted(a: str, b: str, names: str) -> None:
    verdict = compare(program(a, names), program(b, names))
    assert verdict.accepted, [e.summary for link in verdict.links for e in link.evidence]


@pytest.mark.parametrize("a,b,names", OTHER, ids=[f"{a} is not {b}" for a, b, _ in OTHER])
def test_other_programs_are_rejected(a: str, b: str, names: str) -> None:
    verdict = compare(program(a, names), program(b, names))
    assert verdict.word == "REJECTED"
    assert any(e.counterexample is not None for link in verdict.links for e in link.evidence)


def test_what_the_field_cannot_tell_is_not_called_a_difference() -> None:
    """Functions outside the field are random there: sin(3 x) = 3 sin(x) - 4 sin(x)^3 is beyond it, and the verdict says so."""

    def said(word: str, a: str, b: str) -> str:
        (link,) = compare(program(a, "x"), program(b, "x")).links
        assert link.word == word
        return next(e.summary for e in link.evidence if e.word == word)

    assert "agree in float64" in said("UNDECIDED", "torch.sin(3 * x)", "3 * torch.sin(x) - 4 * torch.sin(x) ** 3")
    assert "agree in float64" not in said("REJECTED", "2 * x.amax(1)", "(3 * x).amax(1)")


def test_programs_that_cannot_be_compared_are_an_error() -> None:
    with pytest.raises(SignatureMismatch):
        compare(program("x", "x"), program("x.sum(0)", "x"))
    with pytest.raises(UnsupportedReshape, match="do not meet"):
        compare(program("x.view(2, 3, 6).sum(0)", "x"), program("x.view(3, 2, 6).sum(1)", "x"))


@pytest.mark.parametrize("more", [1, 2])
def test_a_root_of_a_concatenation_is_drawn_where_its_parts_are(more: int) -> None:
    rows = [("x", (3, 7, 4), "fp32"), ("y", (3, 5, 4), "fp32")]
    texts = (
        "(torch.cat((x * x, y * y), dim=1).sum(2) + 1).sqrt()",
        f"torch.cat(((x * x).sum(2), (y * y).sum(2)), dim=1).add({more}).sqrt()",
    )
    found = compare(*(trace(f"{HEAD}def f(x, y):\n    return {text}\n", "f", rows) for text in texts))
    assert found.accepted == (more == 1), found.headline

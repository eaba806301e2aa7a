"""Functions of labels are compared where neither raises an error, and the verdict says where that is."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.program.trace import trace
from mirage.verify.label_ranges import Labels, taken, together, where_both_take
from mirage.verify.two_programs import compare

HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
INPUTS = [TensorSpec("x", (6, 11), "fp32"), TensorSpec("y", (6,), "int64")]
OWN = "x.gather(1, y[:, None])[:, 0]"
HOT = "(x * (y[:, None] == torch.arange(11))).sum(1)"  # raises for no label


def program(text: str) -> Program:
    return trace(f"{HEAD}def f(x, y):\n    return {text}\n", "f", INPUTS)


@pytest.mark.parametrize(
    "text,labels",
    [
        (OWN, Labels(11)),
        ("F.cross_entropy(x, y)", Labels(11, frozenset({-100}))),
        ("F.cross_entropy(x, y, ignore_index=4)", Labels(11)),
        ("F.nll_loss(x, y, ignore_index=11)", Labels(11, frozenset({11}))),
        ("F.one_hot(y, 7)", Labels(7)),
        ("F.one_hot(y, 9) + F.one_hot(y, 7).sum()", Labels(7)),
    ],
)
def test_labels_are_those_for_which_pytorch_raises_no_error(text: str, labels: Labels) -> None:
    assert taken(program(text)) == {"y": labels}
    x = torch.zeros(6, 11)
    for label in range(-102, 16):
        try:
            eval(text, {"torch": torch, "F": torch.nn.functional, "x": x, "y": torch.full((6,), label)})
        except (IndexError, RuntimeError):
            assert label not in labels
        else:
            assert label in labels


@pytest.mark.parametrize("text", [HOT, "x.gather(1, y.clamp(0, 10)[:, None])", "F.cross_entropy(x[1:], y[1:])"])
def test_an_input_of_which_not_all_is_read_as_it_stands_is_taken_with_all_numbers(text: str) -> None:
    assert not taken(program(text))


def test_what_both_take_is_said_where_one_takes_more() -> None:
    gathered, lost = program(OWN), program("F.cross_entropy(x, y, reduction='none', ignore_index=-3)")
    assert together(gathered, lost) == ({"y": Labels(11)}, ("y from 0 to 10",))
    assert together(lost, lost) == ({"y": Labels(11, frozenset({-3}))}, ())
    assert where_both_take(gathered, lost).b != lost and where_both_take(lost, lost).b == lost
    assert where_both_take(gathered, lost).at_these_sizes and not where_both_take(lost, lost).at_these_sizes
    drawn = Labels(3, frozenset({-3})).drawn(np.random.default_rng(0), (200,))
    assert set(drawn.tolist()) == {-3, 0, 1, 2}


@pytest.mark.parametrize(
    "function,equal",
    [
        ("F.cross_entropy(x, y)", f"(x.logsumexp(1) - {OWN}).mean()"),
        ("F.cross_entropy(x, y, ignore_index=-1)", f"(x.logsumexp(1) - {OWN}).mean()"),
        ("F.cross_entropy(x, y, reduction='sum')", "F.cross_entropy(x, y, reduction='sum', ignore_index=-1)"),
        ("F.cross_entropy(x, y)", "(x.logsumexp(1) - (x * F.one_hot(y, 11)).sum(1)).mean()"),
        ("F.nll_loss(x, y, reduction='none')", f"-{OWN}"),
        (
            "F.cross_entropy(x, y, label_smoothing=0.25)",
            "(-0.75 * x.log_softmax(1).gather(1, y[:, None])[:, 0] - 0.25 * x.log_softmax(1).mean(1)).mean()",
        ),
    ],
)
def test_they_are_equal_where_neither_raises(function: str, equal: str) -> None:
    found = compare(program(function), program(equal))
    assert found.accepted and found.only == ("y from 0 to 10",) and "y from 0 to 10" in found.headline
    assert found.scope == "these sizes" and any("raises an error" in x for x in found.notes)


@pytest.mark.parametrize(
    "function,other",
    [
        ("F.cross_entropy(x, y)", f"(x.logsumexp(1) - {HOT}).mean()"),  # a number where the label is -100
        ("F.cross_entropy(x, y)", "(x.logsumexp(1) - x.gather(1, y.clamp(min=0)[:, None])[:, 0]).mean()"),
        ("F.cross_entropy(x, y)", "(x.logsumexp(1) - x.gather(1, (y % 11)[:, None])[:, 0]).mean()"),
        ("F.cross_entropy(x, y, ignore_index=2)", f"(x.logsumexp(1) - {OWN}).mean()"),
        ("F.cross_entropy(x, y, ignore_index=2)", "F.cross_entropy(x, y)"),
        ("F.cross_entropy(x, y)", f"(x.logsumexp(1) - {OWN}).sum() / 5"),
        ("F.cross_entropy(x, y, reduction='sum')", f"(x.logsumexp(1) - x.amax(1) + 0 * {OWN}).sum()"),
    ],
)
def test_another_number_where_neither_raises_is_refused(function: str, other: str) -> None:
    assert compare(program(function), program(other)).word == "REJECTED"


def test_two_that_raise_at_the_same_labels_are_compared_at_all_others() -> None:
    """The label that both ignore among them."""
    mean, total = "F.cross_entropy(x, y)", "F.cross_entropy(x, y, reduction='sum') / (y != -100).sum()"
    found = compare(program(mean), program(total))
    assert found.accepted and not found.only
    assert compare(program(mean), program("F.cross_entropy(x, y, reduction='sum') / 6")).word == "REJECTED"

"""The numbers that a function takes in its inputs of integers, and that every draw is among them."""

from __future__ import annotations

import numpy as np
import pytest

from mirage.ir.tensor_spec import TensorSpec
from mirage.program.load_function import load
from mirage.program.trace import trace
from mirage.verify.real_sizes.comparison import ComparedFunction
from mirage.verify.real_sizes.index_ranges import IndexRange

HEAD = "import torch\nimport torch.nn.functional as F\n"
INPUTS = [TensorSpec("x", (11, 7), "fp32"), TensorSpec("ids", (5,), "int64"), TensorSpec("flags", (11,), "int32")]
ROWS = IndexRange(-11, 10)


def subject(result: str) -> ComparedFunction:
    text = f"{HEAD}def f(x, ids, flags):\n    return {result}\n"
    return ComparedFunction(load(text, "f"), trace(text, "f", INPUTS))


@pytest.mark.parametrize(
    ("result", "ranges"),
    [
        ("x[ids]", {1: ROWS}),
        ("F.embedding(ids, x)", {1: IndexRange(0, 10)}),
        ("x[ids + 3]", {1: IndexRange(-14, 7)}),
        ("F.cross_entropy(x[:5], ids, reduction='none')", {1: IndexRange(0, 6, (-100,))}),
        ("F.cross_entropy(x[:5], ids, reduction='none', ignore_index=-7)", {1: IndexRange(0, 6, (-7,))}),
        ("x[ids] * flags[:7]", {1: ROWS}),
        ("x * (flags[:, None] > ids[0])", {}),
    ],
)
def test_the_range_is_what_the_function_takes(result: str, ranges: dict[int, IndexRange]) -> None:
    found = subject(result)
    assert found.ranges == ranges
    assert len(found.assumed) == len(ranges)


def test_what_is_drawn_is_taken_and_reaches_both_ends() -> None:
    drawn = IndexRange(-3, 900, (-100,)).draw(np.random.default_rng(0), (400,))
    assert {-100, -3, -1, 0, 900} <= set(drawn.tolist())
    assert ((drawn >= -3) | (drawn == -100)).all() and drawn.max() <= 900 and len(set(drawn.tolist())) > 150


def test_values_out_of_range_are_replaced_and_others_kept() -> None:
    found = subject("x[ids]")
    x, ids, flags = found.fitted([np.ones((11, 7)), np.full(5, 11), np.full(11, 99)], 0)
    assert (x == 1).all() and (np.abs(ids) <= 11).all() and (flags == 99).all()
    assert not found._accepts([x, np.full(5, 11), flags]) and found._accepts([x, ids, flags])

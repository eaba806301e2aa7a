"""A decorator completed with the inputs that a call had."""

from __future__ import annotations

import pytest

from mirage.source import shapes
from mirage.source.detect import find
from mirage.source.observed_shapes import completed

BODY = "def f(x, w):\n    return x @ w\n"
HEAD = "import mirage\nimport torch\n\n\n"
SEEN = [("x", [4, 8], "float16"), ("w", [8, 2], "fp16")]
WANT = [("x", (4, 8), "fp16"), ("w", (8, 2), "fp16")]


def specs(text: str) -> list[tuple[str, tuple[int, ...], str]]:
    (found,) = find(text).functions
    return [(i.name, i.shape, i.dtype) for i in shapes.read(found)]


@pytest.mark.parametrize(
    "decorator",
    ["@mirage.optimize", "@mirage.optimize()", "@mirage.optimize(franges=[2])", "@mirage.optimize(  # why\n    )",
     "@mirage.optimize(\n    franges=[2],\n)", "@mirage.optimize  # ä (", "@ mirage . optimize"],
)  # fmt: skip
def test_the_decorator_gets_the_inputs(decorator: str) -> None:
    text = f"{HEAD}S = 'ä'\n{decorator}\n{BODY}"
    new = completed(text, "f", SEEN)
    assert specs(new) == WANT
    assert len(new.split("\n")) == len(text.split("\n")) and new.endswith(BODY)
    (old,), (found,) = find(text).functions, find(new).functions
    assert found.digest == old.digest and found.options.given == old.options.given


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        (f'{HEAD}@mirage.optimize(inputs=[((1, 8), "fp16"), ((8, 2), "fp16")])\n{BODY}', SEEN),  # it says its own
        (f"{HEAD}@mirage.optimize\n{BODY}", SEEN[:1]),  # not all of its tensors
        (f"{HEAD}@mirage.optimize\n{BODY}", SEEN[::-1]),
        (f"{HEAD}@mirage.optimize\n{BODY}", []),
        (f"{HEAD}@mirage.optimize\n{BODY}", [("x", [4, 0], "fp16"), SEEN[1]]),
        (f"{HEAD}@mirage.optimize\n{BODY}", [("x", [4, 8], 'fp16")]) or exit("'), SEEN[1]]),
        (f"{HEAD}@mirage.optimize(inputs=7)\n{BODY}", SEEN),
        (f"{HEAD}{BODY}", SEEN),
    ],
)
def test_otherwise_the_text_stays(text: str, inputs: list[tuple[str, list[int], str]]) -> None:
    assert completed(text, "f", inputs) == text

"""Functions of integer tensors go the whole path, and their kernels with one thing wrong are rejected."""

from __future__ import annotations

import pytest
from searched_functions import SearchedFunctions

from mirage.pipeline.processes import Tools

FUNCTIONS = {  # name: (inputs, parameters, body)
    "weights": ('((32, 128), "fp16"), ((64, 128), "int8"), ((64,), "fp16")', "x, w, s", "return F.linear(x, w.to(x.dtype)) * s"),
    "lengths": ('((48, 200), "fp32"), ((48,), "int64")', "x, n",
                "seen = torch.arange(x.shape[1], device=x.device)[None, :] < n[:, None]\n"
                "    return torch.where(seen, x, 0.0).sum(-1) / n"),
    "angles": ('((96,), "int32")', "t",
               "return torch.cos(t[:, None] * torch.exp(-math.log(1e4) * torch.arange(40, dtype=torch.float32, device=t.device) / 40))"),
}  # fmt: skip


def text_of(inputs: str, parameters: str, body: str) -> str:
    head = "import math\nimport mirage\nimport torch\nimport torch.nn.functional as F\n\n\n"
    return f"{head}@mirage.optimize(inputs=[{inputs}])\ndef f({parameters}):\n    {body}\n"


@pytest.fixture(scope="module")
def found(tools: Tools) -> SearchedFunctions:
    return SearchedFunctions({name: text_of(*function) for name, function in FUNCTIONS.items()}, tools)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_get_a_kernel_that_is_verified(name: str, found: SearchedFunctions) -> None:
    result = found.of(name)
    assert result.answer == "kernel" and result.verdict is not None, (result.reason, result.notes)
    (rows,) = [e.details.regimes for e in result.verdict.evidence if e.opinion == "float"]
    assert "every integer" in {r.regime for r in rows} and {r.reference for r in rows} == {"eager"}


WRONG = [
    ("weights", "integers of another sign", "w.to(x.dtype)", "w.to(tl.uint8, bitcast=True).to(x.dtype)"),
    ("weights", "one row further", "w_ptr + ", "w_ptr + 1 + "),
    ("weights", "made for wider integers", "torch.int8", "torch.int32"),
    ("lengths", "one more is seen", " < n", " <= n"),
    ("lengths", "another row's length", "n_ptr + ", "n_ptr + 1 + "),
    ("lengths", "a length cut to 8 bits", " < n", " < n.to(tl.int8)"),
    ("lengths", "another length divides", "n.to(tl.float32)", "(n + 1).to(tl.float32)"),
    ("angles", "a place further", "t.to(tl.float32)", "(t + 1).to(tl.float32)"),
    ("angles", "a position rounded to fp16", "t.to(tl.float32)", "t.to(tl.float16).to(tl.float32)"),
    ("angles", "another base", "-9.2103", "-9.2104"),
]


@pytest.mark.parametrize("name,what,old,new", WRONG, ids=[f"{w[0]}: {w[1]}" for w in WRONG])
def test_kernels_with_one_thing_wrong_are_rejected(
    name: str, what: str, old: str, new: str, found: SearchedFunctions
) -> None:
    verdict = found.judged(name, old, new)
    opinions = {e.opinion for e in verdict.rejections}
    assert not verdict.accepted and opinions - {"structure"}, (what, verdict.headline, opinions)

"""Functions that the operator table does not cover, with a GPU that is played: PyTorch's compiler is the answer where it is faster."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from e2e.test_measured_run import Gpu

from mirage.errors import InPlaceEdit, MirageError, UnknownOperator, UnsupportedOperands
from mirage.pipeline.optimize import optimize
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import Request
from mirage.results.progress import CancelToken
from mirage.results.result import Result

PAIRS = "i, j = torch.tril_indices(x.shape[1], x.shape[1], -1, device=x.device)\n    return (x @ x.transpose(1, 2))[:, i, j]"
ONE, TWO = "[((8, 6, 16), 'fp32')]", "[[((8, 6, 16), 'fp32')], [((4, 6, 16), 'fp32')]]"


def text_of(body: str, inputs: str = ONE) -> str:
    return f"import mirage\nimport torch\n\n\n@mirage.optimize(inputs={inputs})\ndef f(x):\n    {body}\n"


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    with Tools() as t:
        yield t


def run(tools: Tools, text: str, peers: dict[str, float] | None) -> Result:
    gpu = None if peers is None else Gpu(lambda i, text: None)
    if gpu is not None:
        gpu.peers = peers
    tools.gpu = gpu  # type: ignore[assignment]
    return optimize(Request(text, "user.py", "f"), lambda p: None, CancelToken(), tools)


def test_the_compiler_is_the_answer_where_it_is_faster(tools: Tools) -> None:
    result = run(tools, text_of(PAIRS), {"eager": 30.0, "compile": 12.0, "compile_max": 10.0})
    assert (result.answer, result.baseline) == ("compile", "compile_max")
    assert result.reason.startswith("3.0x measured over the function as written by torch.compile (max-autotune")
    assert "no kernel of ours was searched: MIR201 user.py:7: `aten.tril_indices.default`" in result.reason
    assert result.verdict is None and not result.kernels
    assert "torch.compile(_original_f" in result.source and "((8, 6, 16), torch.float32)" in result.source
    ast.parse(result.source)
    other = run(tools, text_of(PAIRS.replace("-1, dev", "0, dev")), {"eager": 30.0, "compile": 12.0})
    assert other.program_key != result.program_key  # named after the text, of which nothing else is known


def test_each_size_gets_its_answer(tools: Tools) -> None:
    result = run(tools, text_of(PAIRS, TWO), {"eager": 30.0, "compile": 12.0})
    assert result.answer == "compile" and [row.baseline for row in result.by_size] == ["compile", "compile"]
    assert "((8, 6, 16), torch.float32)" in result.source and "((4, 6, 16), torch.float32)" in result.source


@pytest.mark.parametrize(
    "peers", [None, {"eager": 10.0, "compile": 12.0}, {"eager": 10.0, "compile": 9.9}, {"compile": 1.0}]
)
def test_the_refusal_is_said_where_nothing_is_faster(tools: Tools, peers: dict[str, float] | None) -> None:
    with pytest.raises(UnknownOperator, match=r"tril_indices") as raised:
        run(tools, text_of(PAIRS), peers)
    assert raised.value.line == 7


NOT_FUNCTIONS: list[tuple[str, type[MirageError]]] = [
    ("return x + torch.rand_like(x)", UnknownOperator),
    ("return torch.dropout(x, 0.5, True)", UnsupportedOperands),
    ("y = torch.tril_indices(6, 6)\n    x[0].add_(1)\n    return x[:, :2]", InPlaceEdit),
    ("x.data.mul_(2)\n    return x + 1", InPlaceEdit),
]


@pytest.mark.parametrize("body,error", NOT_FUNCTIONS)
def test_what_is_no_function_of_its_tensors_is_refused(tools: Tools, body: str, error: type[MirageError]) -> None:
    with pytest.raises(error):
        run(tools, text_of(body), {"eager": 30.0, "compile": 12.0})


def test_of_a_function_that_writes_the_users_own_is_compiled(tools: Tools) -> None:
    """Not the one on copies, by which it is traced and timed."""
    body = "x.mul_(2)\n    i, j = torch.tril_indices(6, 6, -1, device=x.device)\n    return x[:, i]"
    result = run(tools, text_of(body), {"eager": 30.0, "compile": 12.0})
    assert (result.answer, result.function) == ("compile", "f")
    assert "torch.compile(_original_f" in result.source and "functional" not in result.source

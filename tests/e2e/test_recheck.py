"""What somebody else found counts for nothing until it is judged here."""

import copy
import json

import pytest

from mirage.errors import MirageError, MugraphSyntax, NotVerified, UntrustedWorkspace
from mirage.pipeline.optimize import optimize
from mirage.pipeline.recheck_task import recheck
from mirage.pipeline.request import Request
from mirage.results.codec import unstructure
from mirage.results.progress import CancelToken

TEXT = """\
import mirage
import torch


@mirage.optimize(inputs=[((16, 64), "fp16")])
def f(x):
    return torch.softmax(x, dim=-1)
"""


@pytest.fixture(scope="module")
def found(tools):
    return optimize(Request(TEXT, "a.py", "f"), lambda p: None, CancelToken(), tools)


def again(tools, mugraph, text=TEXT, **more):
    return recheck(Request(text, "a.py", "f", **more), mugraph, lambda p: None, CancelToken(), tools)


def test_a_right_mugraph_gives_the_same_module_and_a_verdict_of_its_own(tools, found):
    mugraph = json.loads(json.dumps(unstructure(found)["mugraphs"][0]))
    result = again(tools, mugraph)
    assert (result.answer, result.source, result.program_key) == ("kernel", found.source, found.program_key)
    assert result.verdict.headline == found.verdict.headline and result.derivation


@pytest.mark.parametrize(
    "old, new",
    [
        ("softmax(x, dim=-1)", "softmax(2 * x, dim=-1)"),
        ("softmax(x, dim=-1)", "log_softmax(x, dim=-1)"),
        ("softmax(x, dim=-1)", "softmax(x, dim=0)"),
        ("16, 64", "16, 65"),
        ("fp16", "bf16"),
    ],
)
def test_the_mugraph_of_another_function_is_refused(tools, found, old, new):
    assert old in TEXT
    with pytest.raises(NotVerified):
        again(tools, unstructure(found)["mugraphs"][0], TEXT.replace(old, new))


def edits(mugraph):
    """(name, the µGraph's JSON with one thing changed)."""
    text = json.dumps(mugraph)
    for old, new in (
        ('"op": "exp"', '"op": "neg"'), ('"op": "max"', '"op": "sum"'), ('"op": "sum"', '"op": "max"'),
        ('"op": "sub"', '"op": "add"'), ('"offset": 0', '"offset": 1'), ('"-inf"', "0.5"), ('"role": "grid"', '"role": "x"'),
        ('"axes": [["m", 16]', '"axes": [["m", 15]'), ('"version": 1', '"version": 99'),
    ):  # fmt: skip
        assert old in text, old
        yield f"{old} -> {new}", json.loads(text.replace(old, new, 1))


def test_each_edit_of_a_right_mugraph_is_refused(tools, found):
    for name, edited in edits(json.loads(json.dumps(unstructure(found)["mugraphs"][0]))):
        with pytest.raises(MirageError) as error:
            again(tools, edited)
        assert error.value.code in ("MIR300", "MIR301", "MIR302", "MIR308"), (name, error.value)


@pytest.mark.parametrize("nothing", [None, {}, [], "f", {"version": 1, "mugraph": None}])
def test_what_is_no_mugraph_is_refused(tools, nothing):
    with pytest.raises(MugraphSyntax):
        again(tools, nothing)


def test_nothing_runs_in_an_untrusted_workspace(tools, found):
    with pytest.raises(UntrustedWorkspace):
        again(tools, copy.deepcopy(unstructure(found)["mugraphs"][0]), trusted=False)

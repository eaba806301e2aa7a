"""PyTorch's own calls in the verdict: what feeds them is judged like an output, what they give is anything; twins fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from workloads.own_calls import W, X, case, module, program, searched
from workloads.traced import trace

from mirage.devices.table import DEVICES
from mirage.mugraph.grammar import LibraryKernel, MuGraph
from mirage.mugraph.without_calls import calls_of
from mirage.pipeline.search_problems import problems
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Search
from mirage.verify.cases import of_program
from mirage.verify.floats.launch_sizes import launch_sizes
from mirage.verify.judge import Case, floats, in_text, judge
from mirage.verify.two_programs import compare

Run = Callable[[str, dict[str, Any]], dict[str, Any]]
HEAD = "import torch\nimport torch.nn.functional as F\ndef f(x, w):\n    return "


def graph(name: str) -> MuGraph:
    return searched(name).best[0].mugraph


def said(c: Case, run: Run) -> str:
    """ "" where the case is accepted, else the link and the reason."""
    verdict = judge(c, run)
    return next((f"{x.name}: {e.summary}" for x in verdict.links for e in x.evidence if e.word == "REJECTED"), "")


@pytest.mark.parametrize(
    "name", ["running sum", "sorted", "convolution", "two arguments", "looked up", "an output and an argument"]
)
def test_the_best_answer_is_accepted(name: str, run: Run) -> None:
    verdict = judge(case(name), run)
    assert verdict.accepted, [(x.name, e.summary) for x in verdict.links for e in x.evidence if e.word == "REJECTED"]
    assert "PROVED" in {e.word for e in verdict.links[0].evidence}


def test_where_the_function_raises_the_kernels_may(run: Run) -> None:
    """The inverse of a singular matrix, in two of the regimes; a function that has a value there is another one."""
    verdict = judge(case("square"), run)
    assert verdict.accepted
    (found,) = floats(replace(case("square"), slice=TAKEN, function="f"), run)
    assert found.word == "REJECTED"


TAKEN = "import torch\n\n\ndef f(w):\n    return torch.linalg.pinv(w.T @ w * 4.0) @ w.T\n"


# ---- the µGraph
def changed(name: str, which: int = 0, **fields: Any) -> MuGraph:
    m = graph(name)
    call = calls_of(m)[which]
    return replace(m, kernels=tuple(replace(k, **fields) if k is call else k for k in m.kernels))


def edited(name: str, **attrs: Any) -> MuGraph:
    (call,) = calls_of(graph(name))
    return changed(name, attrs=tuple((k, attrs.get(k, v)) for k, v in call.attrs))


MUGRAPHS = {
    "another operator": lambda: ("running sum", changed("running sum", op="aten.cumprod.default")),
    "another keyword": lambda: ("running sum", edited("running sum", dim=0)),
    "arguments the other way round": lambda: (
        "two arguments", changed("two arguments", args=calls_of(graph("two arguments"))[0].args[::-1]),
    ),
    "another argument": lambda: ("one after another", changed("one after another", 1, args=("call0",))),
    "another result": lambda: ("sorted", changed("sorted", 0, attrs=dict_with("sorted", "_result", 1))),
    "no call": lambda: ("running sum", without_call("running sum")),
}  # fmt: skip


def dict_with(name: str, key: str, value: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((k, value if k == key else v) for k, v in calls_of(graph(name))[0].attrs)


def without_call(name: str) -> MuGraph:
    """What feeds the call is read in the place of what it gives."""
    m = graph(name)
    (call,) = calls_of(m)
    (arg,) = call.args
    kernels = []
    for k in m.kernels:
        if isinstance(k, LibraryKernel):
            continue
        body = tuple(replace(s, tensor=arg) if getattr(s, "tensor", "") == call.out else s for s in k.block.body)
        kernels.append(replace(k, block=replace(k.block, body=body)))
    return replace(m, kernels=tuple(kernels), tensors=tuple(t for t in m.tensors if t.name != call.out))


@pytest.mark.parametrize("twin", MUGRAPHS)
def test_another_call_is_rejected_before_anything_runs(twin: str) -> None:
    name, m = MUGRAPHS[twin]()

    def never(task: str, payload: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("nothing of a µGraph with other calls may run")

    assert "algebra: the µGraph has" in said(case(name, m, "import torch\n"), never)


def test_what_feeds_a_call_is_judged(run: Run) -> None:
    """The kernel before the call computes something else: seen by the algebra, and by the schedule on its own."""
    m = graph("two arguments")
    (call,) = calls_of(m)
    for k in m.kernels:
        stores = (
            [s for s in getattr(k, "block", None).body if getattr(s, "tensor", "") in call.args]
            if k is not call
            else []
        )
        if len(stores) == 2:
            a, b = stores
            body = tuple(replace(s, tile={a: b, b: a}[s].tile) if s in stores else s for s in k.block.body)
            wrong = replace(
                m, kernels=tuple(replace(k, block=replace(k.block, body=body)) if x is k else x for x in m.kernels)
            )
            assert said(case("two arguments", wrong, ""), run).startswith("algebra: the two differ")
            return
    pytest.fail("both arguments come from one kernel")


# ---- the text
CALL = "torch.ops.aten.cumsum.default(dim=1, self=given0)"


def texts() -> dict[str, tuple[str, str, str, str]]:
    """twin -> (function, what stands in its module, what stands there instead, part of the reason)"""
    return {
        "another keyword": ("running sum", "dim=1", "dim=0", "other arguments"),
        "another kind of number": ("running sum", "dim=1", "dim=True", "other arguments"),
        "one keyword more": ("running sum", "dim=1", "dim=1, dtype=torch.float32", "other arguments"),
        "another operator": ("running sum", "ops.aten.cumsum", "ops.aten.cumprod", "at that place"),
        "another argument": ("one after another", "cummax.default(dim=0, self=", "cummax.default(dim=0, self=0*", ""),
        "the call twice": ("running sum", "    grid_2 = ", f"    {CALL}\n    grid_2 = ", "at that place"),
        "no call": ("running sum", f"{CALL}.contiguous()", "given0", "0 of 1 calls"),
        "the other argument": ("two arguments", "other=given1, self=given0", "other=given0, self=given1", "aten.atan2.default of"),
        "another result": ("sorted", "[0].contiguous()", "[1].contiguous()", ""),
    }  # fmt: skip


@pytest.mark.parametrize("twin", texts())
def test_a_text_with_another_call_is_rejected(twin: str, run: Run) -> None:
    name, old, new, part = texts()[twin]
    text = module(name, graph(name))
    assert text.count(old) == 1, text
    assert in_text(case(name), run, 8)().word == "TESTED"
    found = in_text(case(name, emitted=text.replace(old, new)), run, 8)()
    assert found.word == "REJECTED" and part in found.summary, found.summary


def test_the_float_opinion_runs_the_call_itself(run: Run) -> None:
    """A call that gives other numbers than the function's is caught there, whatever the field is told of it."""
    text = module("running sum", graph("running sum"))
    (found,) = floats(case("running sum", emitted=text.replace("dim=1", "dim=0")), run)
    assert found.word == "REJECTED"
    (found,) = floats(case("running sum"), run)
    assert found.word == "TESTED"


def test_a_small_launch_keeps_the_sizes_that_a_call_needs() -> None:
    m = graph("convolution")
    sizes = launch_sizes(m)
    (taps,) = m.tensor("w").dims[2]
    assert sizes[taps] == 5
    looked = graph("looked up")
    assert (
        min(launch_sizes(looked)[a] for d in looked.tensor("w").dims for a in d) >= 4
    )  # integers are drawn below four


def test_a_small_launch_cuts_dims_that_calls_alone_have() -> None:
    """An embedding's table is as long as its vocabulary, of which no kernel reads anything."""
    text = HEAD.replace("def f(x, w)", "def f(ids, table)") + "F.embedding(ids, table) * 2.0\n"
    (posed, *_) = problems(trace(text, "f", [("ids", (64,), "int64"), ("table", (50000, 96), "fp16")]))
    search = Search(posed, lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds())
    list(search.run())
    mugraph = search.best[0].mugraph
    ((rows,), (columns,)) = mugraph.tensor("table").dims
    sizes = launch_sizes(mugraph)
    assert 4 <= sizes[rows] <= 8 and sizes[columns] > 8  # a kernel tiles the columns


# ---- two programs
def traced(body: str):
    return trace(HEAD + body + "\n", "f", [X, W])


def test_two_functions_with_the_same_call_are_compared() -> None:
    left = traced("(x @ w).cumprod(1) * 2.0 + 2.0")
    assert compare(left, traced("2.0 * ((x @ w).cumprod(1) + 1.0)")).accepted
    for other in (
        "(x @ w).cumprod(1) * 2.0 + 3.0",
        "(x @ w).cumprod(0) * 2.0 + 2.0",
        "(x @ w + 1.0).cumprod(1) * 2.0 + 2.0",
    ):
        verdict = compare(left, traced(other))
        assert not verdict.accepted
        assert "not shown equal" in verdict.links[0].evidence[-1].summary


def test_a_mugraph_from_elsewhere_is_matched_call_by_call(run: Run) -> None:
    from mirage.mugraph.rename import Renaming, rename

    m = graph("one after another")

    def other(x: str) -> str:
        return x if x in ("x", "w") else f"theirs_{x}"

    def same(x: str) -> str:
        return x

    theirs = rename(m, Renaming(same, other, same, same, same))
    c = of_program(program("one after another"), theirs, "", "", "f")
    assert not said(c, run)
    wrong = replace(
        theirs, kernels=tuple(replace(k, args=("x",)) if k in calls_of(theirs)[1:] else k for k in theirs.kernels)
    )
    with pytest.raises(Exception, match="other tensors"):
        of_program(program("one after another"), wrong, "", "", "f")

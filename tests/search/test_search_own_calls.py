"""A function with calls of PyTorch's own: what is before and after them is searched, the calls stand where they belong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from workloads.own_calls import FUNCTIONS, program, searched

from mirage.derivation.derive import derive, replay
from mirage.devices.table import DEVICES
from mirage.errors import DerivationBroken
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import CustomKernel, LibraryKernel, MuGraph
from mirage.mugraph.json_form import from_json, to_json
from mirage.mugraph.parse import parse
from mirage.mugraph.text import to_text
from mirage.mugraph.without_calls import calls_of, dims_of_calls, opened, other_calls
from mirage.pipeline.fusion_remarks import explain
from mirage.profile.roofline import estimate
from mirage.search.problem import KernelStep, in_order

DEVICE = DEVICES["sm_90"]
NAMES = [n for n in FUNCTIONS if n != "square"]


def best(name: str) -> MuGraph:
    return searched(name).best[0].mugraph


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_answer_is_valid_and_has_the_programs_calls(name: str) -> None:
    search = searched(name)
    assert len(search.best) > 1
    for c in search.best:
        assert broken_rule(c.mugraph) is None
        assert not other_calls(search.problem.calls, c.mugraph)
        assert [o.name for o in c.mugraph.outputs] == list(search.problem.returns)
        assert c.us == pytest.approx(estimate(c.mugraph, DEVICE), rel=0.3)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_mugraph_with_calls_reads_as_it_was_written(name: str) -> None:
    m = best(name)
    assert parse(to_text(m)) == m and from_json(to_json(m)) == m


@pytest.mark.parametrize("name", NAMES)
def test_it_is_derived_between_the_calls(name: str) -> None:
    search, m = searched(name), opened(best(name))
    targets = {o.tensor: (o.term, o.dims) for o in search.problem.outputs}
    replay(search.problem.t, targets, derive(search.problem.t, targets, m), m)
    swapped = dict(zip(targets, [*list(targets.values())[1:], next(iter(targets.values()))], strict=True))
    if swapped != targets:
        with pytest.raises((DerivationBroken, ValueError)):
            derive(search.problem.t, swapped, m)


def test_what_is_before_and_after_is_fused() -> None:
    kinds = [type(k) for k in best("running sum").kernels]
    assert kinds == [CustomKernel, LibraryKernel, CustomKernel]  # norm and product; the call; relu and the scale
    (two,) = (c for c in [best("two arguments")] if c)
    assert [k.op for k in calls_of(two)] == ["aten.atan2.default"]


def test_no_kernel_is_asked_to_write_what_needs_what_it_writes() -> None:
    """y feeds the call and the sum beside it: they may share a kernel with nothing that reads the call's result."""
    search = searched("one after another")
    for c in search.best:
        made: set[str] = {x.name for x in c.mugraph.inputs}
        for k in c.mugraph.kernels:
            if isinstance(k, LibraryKernel):
                assert set(k.args) <= made
                made.add(k.out)
            else:
                made |= {
                    t.name for t in c.mugraph.tensors if f"store {t.name}[" in to_text(replace(c.mugraph, kernels=(k,)))
                }


def test_steps_come_after_what_they_read() -> None:
    a, b, c = KernelStep({"x"}, {"a"}), KernelStep({"a", "c"}, {"b"}), KernelStep({"a"}, {"c"})
    assert in_order([a, b, c]) == [a, c, b] and in_order([b, c, a]) == [a, c, b]
    with pytest.raises(StopIteration):
        in_order([KernelStep({"b"}, {"a"}), KernelStep({"a"}, {"b"})])


def test_the_calls_say_which_sizes_may_change() -> None:
    fixed, pairs = dims_of_calls(best("convolution"))
    m = best("convolution")
    x, w = m.tensor("given0"), m.tensor("w")
    assert fixed == {a for d in (w.dims[2],) for a in d}  # the taps
    assert not fixed & {a for d in (x.dims[0], x.dims[2], w.dims[0]) for a in d}
    assert all(m.size(a) == m.size(b) for a, b in pairs)


def test_the_remarks_name_the_call() -> None:
    search = searched("running sum")
    found = {r.code: r for r in explain(search, search.best[0], 1e9, DEVICE)}
    assert found["own-call"].figures["operator"] == "aten.cumsum.default" and "given0" in found["own-call"].text
    assert "does-not-fit" not in found  # two kernels are as few as a call between them allows


def broken(m: MuGraph, **fields: object) -> str:
    kernels = tuple(replace(k, **fields) if k in calls_of(m) else k for k in m.kernels)  # type: ignore[arg-type]
    found = broken_rule(replace(m, kernels=kernels))
    return found[1].message if found else ""


def test_a_call_that_is_none_breaks_a_rule() -> None:
    m = best("running sum")
    (call,) = calls_of(m)
    assert not broken(m)
    assert "overload" in broken(m, op="aten.cumsum")
    assert "other tensors" in broken(m, attrs=(("dim", 1), ("self", "%1")))
    assert "no dim 7" in broken(m, attrs=(*call.attrs[1:], ("_sizes", (((0, 7), (-1, 0)),))))
    late = replace(m, kernels=(m.kernels[1], m.kernels[0], m.kernels[2]))
    assert broken_rule(late) is not None and "before it is written" in broken_rule(late)[1].message  # type: ignore[index]


def test_the_same_calls_and_no_others() -> None:
    m = best("one after another")
    wanted = searched("one after another").problem.calls
    first, second = calls_of(m)

    def said(*calls: LibraryKernel) -> str:
        return other_calls(wanted, replace(m, kernels=tuple(k for k in m.kernels if k not in calls_of(m)) + calls))

    assert not said(first, second) and not said(second, first)
    assert said(first) and said(first, second, replace(second, out="again"))
    assert said(first, replace(second, args=("x",))) and said(first, replace(second, op="aten.cummin.default"))
    dim = tuple((k, True if k == "dim" else v) for k, v in first.attrs)
    assert said(replace(first, attrs=dim), second)  # dim=True is not dim=1


def test_a_program_of_calls_alone_has_no_answer() -> None:
    from workloads.traced import trace

    from mirage.pipeline.search_problems import problem
    from mirage.program.lower import lower
    from mirage.search.engine import Search

    p = trace("import torch\ndef f(x):\n    return x.cumsum(1)\n", "f", [("x", (6, 10), "fp32")])
    search = Search(problem(p, lower(p)), lambda g: estimate(g, DEVICE))
    assert not list(search.run()) and not search.best
    assert program("running sum").nodes  # and one with more has

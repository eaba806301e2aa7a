"""A launcher refuses what its kernels were not made for: other sizes left parts of its outputs unwritten, without a word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from emission_cases import EXTRA, original_of, program_of
from workloads import hand

from mirage.codegen.emit import emit_module, emit_rows, split_parts
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.verify.structure.module_rules import first_fault

CASES = {**hand.small(), **{n: f() for n, f in EXTRA.items()}}


def emit(case: hand.Case) -> str:
    return emit_module(program_of(case.mugraph), case.mugraph, original_of(case), function=case.name, header={})


def tiles_of(mugraph: MuGraph) -> dict[str, dict[str, int]]:
    kernels = [k for k in mugraph.kernels if isinstance(k, CustomKernel)]
    return {k.name: {d.name: d.tile for d in k.block.dims} for k in kernels}


def changed_by_one(case: hand.Case) -> Iterator[tuple[str, MuGraph]]:
    """The case's µGraph with each axis one longer."""
    for axis, size in case.mugraph.axes:
        longer = tuple((a, n + 1 if a == axis else n) for a, n in case.mugraph.axes)
        yield f"{axis}={size + 1}", replace(case.mugraph, axes=longer)


def drawn(mugraph: MuGraph) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(mugraph.shape(t)) for t in mugraph.inputs]


@pytest.mark.parametrize("name", sorted(CASES))
def test_each_dimension_changed_by_one_is_refused(name: str, interpret: Any) -> None:
    case = CASES[name]
    text = emit(case)
    dtypes = [{"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}[t.dtype] for t in case.mugraph.inputs]
    assert "error" not in interpret(text, case.inputs(), dtypes)
    for axis, other in changed_by_one(case):
        for tables in ({}, {"sizes": dict(other.axes)}, {"sizes": dict(other.axes), "tiles": tiles_of(case.mugraph)}):
            same = all(a.shape == b.shape for a, b in zip(drawn(other), case.inputs(), strict=True))
            if same and not tables:
                continue  # an axis of no input
            found = interpret(text, drawn(other), dtypes, **tables)
            assert "ValueError: these kernels were made for" in found.get("error", ""), (axis, tables)


def test_other_sizes_and_tiles_for_its_own_tensors_are_refused_too(interpret: Any) -> None:
    case = hand.rmsnorm_linear()
    for tables in ({"sizes": {"m": 19, "k": 64, "n": 37}}, {"tiles": {"fused": {"m": 16, "n": 16, "k": 16}}}):
        found = interpret(emit(case), case.inputs(), **tables)
        assert "ValueError: these kernels were made for" in found.get("error", ""), tables


def test_in_a_table_of_sizes_a_launcher_serves_its_own_rows_alone(interpret: Any) -> None:
    cases = [hand.rmsnorm_linear(m=19), hand.rmsnorm_linear(m=40, tn=32)]
    rows = [(program_of(c.mugraph), c.mugraph) for c in cases]
    text = emit_rows(rows, original_of(cases[0]), function=cases[0].name, header={})
    assert "Made for rows of _BY_SIZE: raises" in text
    second = {"sizes": dict(cases[1].mugraph.axes), "tiles": {"fused": {"m": 16, "n": 32, "k": 32}}}
    assert "error" not in interpret(text, cases[0].inputs())
    found = interpret(text, cases[1].inputs(), **second)
    assert np.abs(found["out"][0] - cases[1].reference(*cases[1].inputs())).max() < 0.1
    for arrays, tables in ((cases[1].inputs(), {}), (cases[0].inputs(), second)):
        assert "ValueError: these kernels were made for" in interpret(text, arrays, **tables).get("error", "")


def test_it_says_what_it_was_made_for() -> None:
    assert "Made for m=19, k=75, n=37: raises ValueError for all else." in emit(hand.rmsnorm_linear())


class Kernel:
    """Stands in for a kernel: counts its launches."""

    def __init__(self) -> None:
        self.launches = 0

    def __getitem__(self, grid: tuple[int, ...]) -> Kernel:
        return self

    def __call__(self, *given: object, **named: object) -> None:
        self.launches += 1


class Module:
    """A module for 21 rows (and for 40), with nothing to launch; `asked` are the questions that it asks."""

    def __init__(self, several: bool) -> None:
        cases = [hand.gated_mlp(m=21), *([hand.gated_mlp(m=40)] if several else [])]
        rows = [(program_of(c.mugraph), c.mugraph) for c in cases]
        self.text = emit_rows(rows, original_of(cases[0]), function=cases[0].name, header={})
        parts, self.kernel = split_parts(self.text), Kernel()
        self.asked: list[str] = []
        self.space: dict[str, Any] = {"torch": torch, "triton": SimpleNamespace(JITFunction=str)}
        self.space |= dict.fromkeys(re.findall(r"(?m)^def (\w+)\(", parts["kernels"]), self.kernel)
        exec("from __future__ import annotations\n" + parts["launcher"], self.space)
        self.space["_original_gated_mlp"] = lambda *tensors: "the original"
        self.call, self.run = self.space["gated_mlp"], self.space["_run"]
        for question in ("_fits", "_refuse_others"):
            self.space[question] = self._noted(question, self.space[question])

    def _noted(self, question: str, ask: Callable[..., object]) -> Callable[..., object]:
        return lambda *given: (self.asked.append(question), ask(*given))[1]

    def tensors(self) -> list[torch.Tensor]:
        return [torch.zeros(shape, dtype=dtype) for shape, dtype in self.space["_EXPECTED"]]


OTHERS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a row more": lambda x: torch.zeros((x.shape[0] + 1, *x.shape[1:]), dtype=x.dtype),
    "other strides": lambda x: torch.zeros(x.shape[::-1], dtype=x.dtype).t(),
    "another dtype": lambda x: x.bfloat16(),
    "another device": lambda x: x.to("meta"),
    "a gradient": lambda x: x.requires_grad_(),
}
SEVERAL = pytest.mark.parametrize("several", [False, True])


@SEVERAL
def test_a_public_call_asks_once_and_a_launcher_for_itself(several: bool) -> None:
    module = Module(several)
    given = module.tensors()
    assert isinstance(module.call(*given), torch.Tensor)
    assert (module.asked, module.kernel.launches) == (["_fits"], 1)
    assert isinstance(module.run(*given), torch.Tensor)
    assert (module.asked, module.kernel.launches) == (["_fits", "_refuse_others"], 2)


@SEVERAL
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("which", [0, 2])
def test_a_launcher_that_is_called_itself_refuses_other_tensors(other: str, which: int, several: bool) -> None:
    module = Module(several)
    given = module.tensors()
    given[which] = OTHERS[other](given[which])
    with pytest.raises(ValueError):
        module.run(*given)
    assert module.call(*given) == "the original"
    assert (module.asked, module.kernel.launches) == (["_refuse_others", "_fits"], 0)


def test_that_its_tensors_fit_is_no_argument_by_place() -> None:
    module = Module(several=False)
    with pytest.raises(TypeError):
        module.run(*module.tensors(), module.space["SIZES"], module.space["TILES"], True)
    assert module.kernel.launches == 0


FALSE_YES = [
    ("if made is not None:", "if made is not False:"),
    ("made = _fits(X, W1, W2)\n", "made = _fits(X, W2, W1)\n"),
    ("made = _fits(X, W1, W2)\n", "made = _BY_SIZE[_EXPECTED] if X.is_cpu else _fits(X, W1, W2)\n"),
    ("return run(X, W1, W2, sizes, tiles, fits=True)", "return run(X, W1, W2, tiles, sizes, fits=True)"),
    ("return run(X, W1, W2, sizes, tiles, fits=True)", "return _run(X, W1, W2, sizes, tiles, fits=True)"),
    ("run, sizes, tiles = made", "run, sizes, tiles = _BY_SIZE[_EXPECTED]"),
    ("_BY_SIZE.get(tuple(given)) if here", "_BY_SIZE.get(tuple(given[:1])) if here"),
]


@pytest.mark.parametrize("old,new", FALSE_YES, ids=[n.strip() for _, n in FALSE_YES])
def test_in_a_table_too_the_guard_is_asked_before_a_launcher_is_told_so(old: str, new: str) -> None:
    text = Module(several=True).text
    assert first_fault(text) is None and text.count(old) == 1
    found = first_fault(text.replace(old, new))
    assert found is not None and found[0] == "asked", found

"""A candidate that the float opinion refuses for a number is made again with wide operands; other refusals are final."""

from __future__ import annotations

from dataclasses import replace

from mirage.devices.table import DEVICES
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.pipeline.attempt import Attempt
from mirage.pipeline.candidate_order import inaccurate, widened
from mirage.pipeline.search_problems import problem
from mirage.profile.roofline import estimate
from mirage.program.builder import Builder
from mirage.program.lower import lower
from mirage.results.verdict import Counterexample, Evidence, Verdict
from mirage.search.engine import Bounds, Candidate, Search

SHOWN = Counterexample("float", 0, (0,), "1.0", "2.0", {}, 0)


def verdict(opinion: str, word: str, shown: Counterexample | None) -> Verdict:
    said = "times 10: error 0.97 against 0.004 allowed"
    return Verdict((Evidence(link="text", opinion=opinion, word=word, summary=said, counterexample=shown),))  # type: ignore[arg-type]


def test_a_wrong_number_is_tried_again_and_other_refusals_are_not() -> None:
    assert inaccurate(verdict("float", "REJECTED", SHOWN))
    assert not inaccurate(verdict("float", "REJECTED", None))  # the kernel could not be run
    assert not inaccurate(verdict("float", "TESTED", SHOWN))
    assert not inaccurate(verdict("field", "REJECTED", SHOWN))  # wrong in exact arithmetic


def kept() -> MuGraph:
    """A product that is kept in float16 for the kernel after it."""
    b = Builder("kept")
    x, w, v = (b.input(n, (64, 64), "fp16") for n in "xwv")
    b.output(b.op("matmul", b.op("relu", b.op("matmul", x, w)), v))
    p = b.program()
    s = Search(problem(p, lower(p)), lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds(keep=64))
    list(s.run())
    graphs = (c.mugraph for c in s.best if all(isinstance(k, CustomKernel) for k in c.mugraph.kernels))
    return next(m for m in graphs if any(x.kind == "temp" and x.dtype == "fp16" for x in m.tensors))


def test_the_wide_form_has_no_float16_between_its_kernels_and_is_the_widest() -> None:
    narrow = kept()
    wide = widened(Candidate(narrow, 1.0, "form", "structure"))
    assert wide is not None and wide.label == "form wide"
    assert {x.dtype for x in wide.mugraph.tensors if x.kind == "temp"} == {"fp32"}
    assert all(isinstance(k, CustomKernel) and k.operands == "wide" for k in wide.mugraph.kernels)
    assert replace(wide.mugraph, kernels=narrow.kernels, tensors=narrow.tensors) == narrow
    assert widened(wide) is None


def test_what_is_wider_costs_its_bytes() -> None:
    attempt = Attempt.__new__(Attempt)
    attempt.dev = DEVICES["sm_90"]
    candidate = Candidate(kept(), 1.0, "form", "structure")
    wide = attempt.widened(candidate)
    assert wide is not None and wide.us > candidate.us
    assert attempt.widened(wide) is None

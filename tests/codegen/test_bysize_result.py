"""The answer for several sizes: what it takes from each, and what becomes of a size that has no kernel."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from emission_cases import original_of, program_of
from workloads import hand

from mirage.codegen.size_table import inputs_of, rows_of
from mirage.mugraph import json_form
from mirage.pipeline.by_size import KEEP, SharedByRows, SizedResult, together
from mirage.results.result import Estimate, KernelFacts, Result, SearchStats
from mirage.results.verdict import Evidence, Verdict
from mirage.source import detect, slice

CASES = [hand.rmsnorm_linear(m=19), hand.rmsnorm_linear(m=40, tn=32), hand.rmsnorm_linear(m=80, tn=32)]
SEARCH = SearchStats(values=3, seconds=0.5)


def row(case: Any, us: float, **more: Any) -> SizedResult:
    program = program_of(case.mugraph)
    kernel = KernelFacts("_rmsnorm_linear_fused", (us and int(us),), (), 4, 3)
    given = {"answer": "kernel", "reason": "fast", "verdict": None, "search": SEARCH, "kernels": (kernel,),
             "estimate": Estimate(us, 1.0, 10.0, "H200"), "notes": ("all say this", f"only {us}"),
             "mugraphs": (json_form.to_json(case.mugraph),), **more}  # fmt: skip
    return SizedResult(
        program, None, Result(function=case.name, inputs=program.inputs, program_key=f"key{us}", **given)
    )  # type: ignore[arg-type]


ROWS = [row(CASES[0], 5.0), row(CASES[1], 4.0), row(CASES[2], 2.0)]


def verdict(word: Any, bound: float | None) -> Verdict:
    return Verdict((Evidence(link="text", opinion="field", word=word, bound=bound, summary="so it is"),))


@dataclass(frozen=True)
class Said(SharedByRows):
    """A book that has its verdicts ready, by the first input's rows; others are proved."""

    words: dict[int, Verdict] = field(default_factory=dict)

    def judged(self, row: SizedResult, module: str) -> Verdict:
        return self.words.get(row.program.inputs[0].type.shape[0], verdict("PROVED", 0.0))


def answer(rows: list[SizedResult], words: dict[int, Verdict] | None = None) -> Result:
    head, _, body = original_of(CASES[0]).partition("def ")
    text = f"{head}import mirage\n\n\n@mirage.optimize\ndef {body}"
    (found,) = detect.find(text, "f.py").functions
    return together(rows, Said(found, slice.cut_decorated(found), None, lambda name, payload: {}, words or {}))


def sizes(r: Result) -> list[int]:
    return [x.inputs[0][0][0] for x in rows_of(r.source)]


def test_every_size_has_its_row() -> None:
    r = answer(ROWS)
    assert r.answer == "kernel" and sizes(r) == [80, 19, 40]  # the last one is what the plain names mean
    assert [(x.inputs[0].shape[0], x.verdict.headline) for x in r.by_size] == [
        (n, "PROVED (these sizes)") for n in (19, 40, 80)
    ]
    assert [r.mugraphs[x.mugraph] for x in r.by_size] == [x.result.mugraphs[0] for x in ROWS]
    assert [x.estimate for x in r.by_size] == [x.result.estimate for x in ROWS]
    assert r.program_key == "key2.0" and r.estimate == ROWS[2].result.estimate
    assert r.reason.startswith("2.0x to 5.0x estimated, kernels for 3 of 3 sizes")
    assert r.search == SearchStats(values=9, seconds=1.5)
    assert r.notes[0] == "all say this" and r.notes[1] == "19x75, 75, 75x37: only 5.0"
    assert {k.name for k in r.kernels} <= {
        line.split("(")[0][4:] for line in r.source.splitlines() if line[:4] == "def "
    }


def test_the_weakest_verdict_is_the_headline() -> None:
    weak, weaker = verdict("TESTED", 1e-9), verdict("TESTED", 1e-3)
    r = answer(ROWS, {19: weak, 40: weaker})
    assert r.verdict == weaker and "# verdict: TESTED (bound 1.0e-03)" in r.source
    assert [x.verdict.word for x in r.by_size] == ["TESTED", "TESTED", "PROVED"]
    assert answer(ROWS, {19: verdict("TESTED", None), 40: weaker}).verdict.bound is None


def test_a_size_that_keeps_what_was_written_has_no_row() -> None:
    kept = row(CASES[2], 12.0, answer="keep", reason="keep yours")
    r = answer([*ROWS[:2], kept])
    assert r.answer == "kernel" and sizes(r) == [40, 19]
    assert [x.mugraph for x in r.by_size] == [1, 0, KEEP] and r.program_key == "key4.0"
    assert "80x75, 75, 75x37 runs as written: keep yours" in r.notes
    alone = answer([kept, ROWS[0]])
    assert "_BY_SIZE" not in alone.source and sizes(alone) == [19]


def test_a_size_that_is_rejected_within_the_module_has_no_row() -> None:
    r = answer(ROWS, {80: verdict("REJECTED", None)})
    assert r.answer == "kernel" and sizes(r) == [40, 19]
    assert any("80x75" in n and "rejected among the other sizes: text: so it is" in n for n in r.notes)


@pytest.mark.parametrize("how", ["rejected", "kept"])
def test_no_kernel_at_all_keeps_what_was_written(how: str) -> None:
    rows = ROWS if how == "rejected" else [row(c, 12.0, answer="keep", reason="keep yours") for c in CASES]
    r = answer(rows, {n: verdict("REJECTED", None) for n in (19, 40, 80)} if how == "rejected" else None)
    assert r.answer == "keep" and r.source == "" and [x.mugraph for x in r.by_size] == [KEEP] * 3
    assert len([n for n in r.notes if "runs as written" in n]) == 3
    assert inputs_of(rows[0].program)[0][0] == (19, 75)


def by_pytorch(case: Any, us: float, name: str) -> SizedResult:
    estimate = Estimate(us, 1.0, 10.0, "H200", True)
    return row(
        case, us, answer="compile", baseline=name, reason="by PyTorch", kernels=(), mugraphs=(), estimate=estimate
    )


def test_sizes_that_pytorch_is_best_for_have_a_module_without_kernels() -> None:
    kept = row(CASES[2], 12.0, answer="keep", reason="keep yours", kernels=(), mugraphs=())
    r = answer([by_pytorch(CASES[0], 5.0, "compile_max"), by_pytorch(CASES[1], 2.0, "compile"), kept])
    assert r.answer == "compile" and [(x.mugraph, x.baseline) for x in r.by_size] == [
        (KEEP, "compile_max"), (KEEP, "compile"), (KEEP, ""),
    ]  # fmt: skip
    assert r.reason.startswith("2.0x to 5.0x measured over the function as written by torch.compile (default), ")
    assert "for 2 of 3 sizes" in r.reason and r.verdict is None
    assert 'mode="max-autotune-no-cudagraphs"' in r.source and "triton" not in r.source
    assert "_EXPECTED: _run_compile,\n    _EXPECTED_2: _run_compile_max," in r.source and "_EXPECTED_3" not in r.source
    assert "80x75, 75, 75x37 runs as written: keep yours" in r.notes


def test_a_size_of_a_range_whose_kernel_is_rejected_gets_its_own() -> None:
    rows = [ROWS[0], replace(ROWS[1], searched=False), ROWS[2]]
    head, _, body = original_of(CASES[0]).partition("def ")
    (found,) = detect.find(f"{head}import mirage\n\n\n@mirage.optimize\ndef {body}", "f.py").functions
    asked: list[int] = []

    def search(i: int) -> SizedResult:
        asked.append(i)
        return ROWS[i] if good else row(CASES[1], 4.0, answer="keep", reason="nothing found", mugraphs=())

    class Once(Said):
        def judged(self, row: SizedResult, module: str) -> Verdict:
            return verdict("PROVED", 0.0) if row.searched else verdict("REJECTED", None)

    book = Once(found, slice.cut_decorated(found), None, lambda name, payload: {})
    good = True
    r = together(rows, book, search)
    assert asked == [1] and sizes(r) == [80, 19, 40]
    good = False
    r = together(rows, book, search)
    assert asked == [1, 1] and sizes(r) == [80, 19]
    assert "40x75, 75, 75x37 runs as written: nothing found" in r.notes

"""The words for people, and what diagnostics are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from lsp_samples import COMPILED, ESTIMATE, KEPT, KERNEL, LINE, PROVED, TEXT, told, typed
from lsprotocol import types

from mirage.errors import DaemonUnavailable, MirageError, SourceSyntaxError, UnknownOperator
from mirage.results.details import RangeDetails
from mirage.results.progress import ProgressCounts
from mirage.results.result import Remark
from mirage.results.verdict import Counterexample, Verdict
from mirage_lsp import actions, diagnostics, hover_text, one_line_texts, panel_data
from mirage_lsp.document import Document, FunctionEntry
from mirage_lsp.settings import Settings

MEASURED = replace(ESTIMATE, measured=True)


def entry(**changes: Any) -> FunctionEntry:
    made = FunctionEntry("double", identity="now", state="done", result=typed(), result_identity="now")
    for name, value in changes.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("made", "title"),
    [
        (entry(), " 1.8x est. · tested"),
        (entry(result_identity="then"), " 1.8x est. · tested · stale"),
        (entry(result=typed(estimate=MEASURED, verdict=PROVED)), " 1.8x · proved"),
        (entry(result=typed(estimate=None)), " tested"),
        (entry(state="kept", result=typed(**KEPT, reason="it is as fast as the memory.")), ": keep yours · it is as fast as the memory"),
        (entry(result=typed(**COMPILED)), " 1.8x · PyTorch's own: trusted, not verified"),
        (entry(state="kept", result=typed(**KEPT)), ": keep yours · nothing better was found"),
        (entry(result=None, state="queued"), ": queued"),
        (entry(result=None, state="searching", counts=ProgressCounts(values=1, mugraphs=2)), ": searching · 1 value, 2 µGraphs"),
        (entry(result=None, state="searching", best="1.2x"), ": searching · best 1.2x"),
        (entry(result=None, state="tuning", counts=ProgressCounts(mugraphs=120, checked=34)), ": tuning · 120 µGraphs, 34 checked"),
        (entry(result=None, state="cancelled"), ": stopped"),
        (entry(error=UnknownOperator("`fft` has no entry")), ": MIR201 `fft` has no entry"),
    ],
)  # fmt: skip
def test_lens_titles(made: FunctionEntry, title: str) -> None:
    assert one_line_texts.lens(made) == f"Mirage{title}"


def test_a_long_reason_ends_at_a_word_and_leaves_the_commands_their_place() -> None:
    reason = "the sizes are such that every fusion that was tried moves more bytes through memory than two products do"
    kept = entry(state="kept", result=typed(**KEPT, reason=reason))
    shown = one_line_texts.lens(kept)
    assert shown.endswith(" …") and reason.startswith(
        shown.removeprefix("Mirage: keep yours · ").removesuffix(" …") + " "
    )
    assert reason in hover_text.hover(kept)
    failed = one_line_texts.lens(entry(error=UnknownOperator("x" * 400)))
    assert len(failed) < 100


def test_where_there_is_no_kernel_the_hover_times_the_function_alone() -> None:
    shown = hover_text.hover(entry(state="kept", result=typed(**{**KEPT, "estimate": ESTIMATE})))
    assert "yours 9.00 µs" in shown and "kernel " not in shown
    slower = hover_text.hover(entry(state="kept", result=typed(**{**KEPT, "estimate": ESTIMATE, "kernels": (KERNEL,)})))
    assert "kernel 5.00" not in slower and f"`{KERNEL.name}`" not in slower, "one that was tried and is not given"
    assert "kernel 5.00 µs" in hover_text.hover(entry())


def test_a_share_that_rounds_to_nothing_is_not_nothing() -> None:
    small = typed(estimate=replace(ESTIMATE, us=100.0, speed_of_light_us=0.2))
    assert one_line_texts.share(small) == "less than 1% of speed of light"


def test_what_pytorch_runs_is_neither_a_kernel_nor_verified() -> None:
    one = entry(result=typed(**COMPILED))
    shown = hover_text.hover(one)
    assert "torch.compile (default) 5.00 µs" in shown and "not verified" in shown
    assert not any(word in shown for word in ("PROVED", "TESTED", "kernel 5.00"))
    assert actions.replaceable(one) and panel_data.mark(one) == ""
    kept = entry(result=typed(**{**COMPILED, **KEPT}))
    assert not actions.replaceable(kept) and panel_data.mark(kept) == "kept"


def test_a_measured_time_is_not_called_an_estimate() -> None:
    shown = hover_text.hover(entry(result=typed(estimate=MEASURED)))
    assert "measured on H100" in shown and "estimated" not in shown


def test_what_was_not_compiled_is_said() -> None:
    kernel = replace(KERNEL, registers=None, shared_bytes=None, spill_bytes=None)
    assert "| not compiled | not compiled | not compiled |" in hover_text.proof_text("double", typed(kernels=(kernel,)))


def test_a_bound_that_no_theorem_gives_is_said() -> None:
    shown = hover_text.hover(entry(result=typed(verdict=Verdict((told("text", "field", "TESTED"),)))))
    assert "text TESTED (not bounded)" in shown


SHOWN = [Counterexample("field", i, (i, 3), f"right {i}", f"wrong {i}") for i in range(2)]


@pytest.mark.parametrize("wrong", [(0,), (1,), (0, 1)])
def test_the_counterexample_of_every_output_is_shown(wrong: tuple[int, ...]) -> None:
    """Of whichever outputs are wrong, and of no other."""
    evidence = [
        told("algebra", "field", "REJECTED" if i in wrong else "TESTED", None if i in wrong else 1e-9, output=i,
             counterexample=SHOWN[i] if i in wrong else None)
        for i in range(2)
    ]  # fmt: skip
    refused = typed(**KEPT, reason="keep yours", verdict=Verdict(tuple(evidence), 2))
    page, line = hover_text.proof_text("double", refused), hover_text.hover(entry(state="kept", result=refused))
    for i in range(2):
        assert (f"output {i} at ({i}, 3): right {i} and wrong {i}" in page) == (i in wrong)
    assert "| algebra | REJECTED |" in page
    assert "algebra REJECTED" in line and "Refused by field (algebra)" in line
    rows = panel_data.refused(refused)
    assert [r["shown"] for r in rows] == [
        [f"output {i} at ({i}, 3): right {i} and wrong {i} (sizes {{}}, seed 0)"] for i in wrong
    ]
    assert {(r["link"], r["opinion"]) for r in rows} == {("algebra", "field")}
    assert panel_data.refused(typed()) == []
    assert "Refused" not in hover_text.hover(entry())


def test_what_an_opinion_says_is_no_markdown() -> None:
    evil = "<b>x</b> | `y`\n# [z](command:mirage.optimize)"
    refused = typed(verdict=Verdict((told("text", "float", "REJECTED", summary=evil),)))
    page = hover_text.hover(entry(result=refused))
    assert "\n# " not in page and "[z](" not in page and "<b>" not in page.replace("\\<b", "")


def test_a_mugraph_that_does_not_parse_is_said() -> None:
    assert "MIR301" in hover_text.mugraph_text(typed(mugraphs=({"what": 1},)))


@pytest.mark.parametrize("narrower", [False, True])
def test_what_overflows_sooner_than_the_function_is_a_warning(narrower: bool) -> None:
    details = RangeDetails(bound=100.0, narrower=narrower)
    found = told("text", "range", "TESTED", summary="inputs up to 100", details=details)
    one = entry(result=typed(verdict=Verdict((*PROVED.evidence, found))))
    assert panel_data.mark(one) == ("warning" if narrower else "proved")
    assert ("⚠ range: inputs up to 100" in hover_text.hover(one)) == narrower


def test_the_hover_has_six_lines_at_most() -> None:
    full = entry(
        result=typed(remarks=(Remark("a", "one reason"), Remark("b", "another"))), learned=(("x", (2, 3), "fp16"),)
    )
    lines = hover_text.hover(full, "links").split("\n\n")
    assert len(lines) <= 6 and not any("\n" in line for line in lines)
    assert lines[1].startswith("one reason") and lines[-1].endswith("links")
    told = hover_text.proof_text("double", full.result or typed())
    assert "another" in told and "| kernel | grid |" in told and "another" not in "".join(lines)


def test_an_error_shows_the_next_step() -> None:
    shown = hover_text.hover(entry(error=UnknownOperator("`fft` has no entry", next_step="write it out")))
    assert shown.endswith("MIR201: `fft` has no entry\n\nNext step: write it out")


@pytest.mark.parametrize(
    ("error", "severity"),
    [
        (UnknownOperator("x", line=2), types.DiagnosticSeverity.Warning),
        (SourceSyntaxError("x", line=2), types.DiagnosticSeverity.Information),
        (DaemonUnavailable("x", line=2), types.DiagnosticSeverity.Information),
    ],
)
def test_severity_and_page_of_a_diagnostic(error: MirageError, severity: types.DiagnosticSeverity) -> None:
    document = Document("file:///project/model.py", TEXT, 1)
    made = document.entry(document.functions[0])
    made.error = error
    (found,) = diagnostics.diagnostics(document)
    assert (found.severity, found.code, found.range.start.line) == (severity, error.code, 1)
    assert found.code_description is not None
    assert found.code_description.href.endswith(f"/docs/errors.md#{error.code}")


def test_an_error_without_a_line_stands_at_the_function() -> None:
    document = Document("file:///project/model.py", TEXT, 1)
    document.entry(document.functions[0]).error = UnknownOperator("x")
    assert [d.range.start.line for d in diagnostics.diagnostics(document)] == [LINE + 1]


def test_the_page_has_the_place_that_is_linked() -> None:
    from pathlib import Path

    import mirage

    page = (Path(mirage.__file__).parents[2] / "docs" / "errors.md").read_text("utf-8")
    assert "<a id='MIR201'></a>" in page and "<a id='MIR600'></a>" in page


@pytest.mark.parametrize(
    "said", [None, [], "x", {"trusted": "true"}, {"debounceMs": "soon"}, {"debounceMs": True}, {"x": 1}]
)
def test_options_of_a_wrong_type_mean_the_defaults(said: Any) -> None:
    assert Settings.read(said) == Settings()


def test_options() -> None:
    assert Settings.read({"trusted": True, "debounceMs": 99_999, "target": "sm_80"}) == Settings(
        trusted=True, debounce_ms=10_000, target="sm_80"
    )

"""The words for people, and what diagnostics are made of."""

from __future__ import annotations

from typing import Any

import pytest
from lsp_samples import LINE, TEXT, kept, result
from lsprotocol import types

from mirage.errors import DaemonUnavailable, MirageError, SourceSyntaxError, UnknownOperator
from mirage_lsp import diagnostics, one_line_texts, pages
from mirage_lsp.document import Document, Entry
from mirage_lsp.settings import Settings

ESTIMATE = result()["estimate"]


def entry(**changes: Any) -> Entry:
    made = Entry("double", identity="now", state="done", result=result(), result_identity="now")
    for name, value in changes.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("made", "title"),
    [
        (entry(), "1.8x (estimated for sm_90) · 80% of speed of light · TESTED (bound 2.0e-20)"),
        (
            entry(result_identity="then"),
            "1.8x (estimated for sm_90) · 80% of speed of light · TESTED (bound 2.0e-20) · stale: the text has changed since",
        ),
        (
            entry(result=result(estimate={**ESTIMATE, "measured": True}, verdict={"word": "PROVED"})),
            "1.8x on H100 · 80% of speed of light · PROVED",
        ),
        (entry(result=result(estimate=None)), "TESTED (bound 2.0e-20)"),
        (entry(state="kept", result=kept("it is as fast as the memory.")), "keep yours · it is as fast as the memory"),
        (entry(state="kept", result=kept("")), "keep yours · nothing better was found"),
        (entry(result=None, state="queued"), "queued"),
        (entry(result=None, state="searching", counts={"values": 1, "mugraphs": 2}), "searching · 1 value, 2 µGraphs"),
        (entry(result=None, state="searching", best="1.2x"), "searching · best 1.2x"),
        (entry(result=None, state="tuning", counts={"tuned": 3}), "tuning"),
        (entry(result=None, state="cancelled"), "stopped"),
        (entry(error=UnknownOperator("`fft` has no entry")), "MIR201 `fft` has no entry"),
    ],
)  # fmt: skip
def test_lens_titles(made: Entry, title: str) -> None:
    assert one_line_texts.lens(made) == f"Mirage: {title}"


def test_a_measured_time_is_not_called_an_estimate() -> None:
    shown = pages.hover(entry(result=result(estimate={**ESTIMATE, "measured": True})))
    assert "measured on H100" in shown and "estimated" not in shown


def test_what_was_not_compiled_is_said() -> None:
    kernel = {**result()["kernels"][0], "registers": None, "shared_bytes": None, "spill_bytes": None}
    assert "| not compiled | not compiled | not compiled |" in pages.hover(entry(result=result(kernels=[kernel])))


def test_a_bound_that_no_theorem_gives_is_said() -> None:
    links = {"text": {"word": "TESTED", "bound": None}}
    shown = pages.hover(entry(result=result(verdict={"word": "TESTED", "links": links})))
    assert "| text | TESTED | not bounded |" in shown


def test_a_mugraph_that_does_not_parse_is_said() -> None:
    assert "MIR301" in pages.hover(entry(result=result(mugraphs=[{"what": 1}])))


def test_an_error_shows_the_next_step() -> None:
    shown = pages.hover(entry(error=UnknownOperator("`fft` has no entry", next_step="write it out")))
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
    made = document.entry(document.scan.functions[0])
    made.error = error
    (found,) = diagnostics.diagnostics(document)
    assert (found.severity, found.code, found.range.start.line) == (severity, error.code, 1)
    assert found.code_description is not None
    assert found.code_description.href.endswith(f"/docs/errors.md#{error.code}")


def test_an_error_without_a_line_stands_at_the_function() -> None:
    document = Document("file:///project/model.py", TEXT, 1)
    document.entry(document.scan.functions[0]).error = UnknownOperator("x")
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

"""What is shown while one waits: plain words, the time, never silence."""

from __future__ import annotations

import threading
import time

import pytest

from mirage.cli import progress_line
from mirage.cli.progress_line import ProgressLine, words
from mirage.results.progress import Progress, ProgressCounts


def test_the_line_speaks_of_what_the_user_waits_for() -> None:
    counts = ProgressCounts(values=12, systems=3, cut_sets=4, parts=5, mugraphs=7, tried=2)
    assert words("f", Progress("searching", counts, "4.1 µs"), 12.4) == (
        "f: searching, 12 s · 7 candidates · 2 checked · best so far 4.1 µs"
    )
    assert words("f", None, 0) == "f: starting, 0 s"
    assert words("f", Progress("verifying"), 1) == "f: checking a kernel, 1 s"


def test_where_no_event_comes_the_time_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_line, "EVERY_S", {False: 0.02, True: 0.02})
    line = ProgressLine("f")
    said = ""
    deadline = time.monotonic() + 10
    while said.count("\n") < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
        said += capsys.readouterr().err
    line.clear()
    assert said.startswith("f: starting, 0 s\n") and said.count("\n") >= 2
    capsys.readouterr()
    time.sleep(0.1)
    assert capsys.readouterr().err == "", "a line that is cleared says nothing more"


def test_a_short_wait_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    line = ProgressLine("f")
    line(Progress("tracing"))
    line.clear()
    assert capsys.readouterr().err == ""


def test_what_else_is_waited_for_stands_behind_and_holds_up_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_line, "EVERY_S", {False: 0.02, True: 0.02})
    monkeypatch.setattr(progress_line, "OTHERS_S", 0.05)
    said, slow = [], threading.Event()

    def others() -> str:
        said.append("then 3 queued")
        if len(said) > 2:
            slow.wait(20)
        return said[0]

    line = ProgressLine("f", others=others)
    deadline = time.monotonic() + 10
    while len(said) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    began = time.monotonic()
    line.clear()
    assert time.monotonic() - began < 5, "an answer does not wait for a daemon that is busy"
    assert capsys.readouterr().err.startswith("f: starting, 0 s · then 3 queued\n")
    slow.set()
    time.sleep(0.1)
    assert capsys.readouterr().err == ""

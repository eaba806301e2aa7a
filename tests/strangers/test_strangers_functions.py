"""Sixty functions as engineers bring them (`functions/`, by someone who has not read the project): which of them are traced."""

from __future__ import annotations

from pathlib import Path

from mirage.errors import MirageError
from mirage.isolate.runner import Worker
from mirage.pipeline.request import Request, read, trace
from mirage.results.progress import CancelToken

FILES = sorted((Path(__file__).parent / "functions").glob("*.py"))
LEAST = 50  # the others write to their inputs, or ask PyTorch for indices of no tensor


def test_most_are_traced_and_each_refusal_says_what_to_do(worker: Worker) -> None:
    traced, refused = [], {}
    for path in FILES:
        try:
            found = read(Request(path.read_text("utf-8"), str(path), path.stem))
            traced.append(trace(found, str(path), worker, CancelToken()).name)
        except MirageError as error:
            refused[path.stem] = error
    assert len(FILES) == 60 and len(traced) >= LEAST, sorted(refused)
    assert all(e.code.startswith("MIR2") and e.line and e.next_step for e in refused.values()), refused

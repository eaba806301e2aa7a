"""Sixty functions as engineers bring them (`functions/`, by someone who has not read the project): which of them are traced."""

from __future__ import annotations

from pathlib import Path

from mirage.errors import MirageError
from mirage.isolate.runner import Worker
from mirage.pipeline.request import Request, read, traced
from mirage.results.progress import CancelToken

FILES = sorted((Path(__file__).parent / "functions").glob("*.py"))
LEAST = 58  # the others ask PyTorch for indices of no tensor, or for counts that no meta tensor tells


def test_most_are_traced_and_each_refusal_says_what_to_do(worker: Worker) -> None:
    names, refused = [], {}
    for path in FILES:
        try:
            found = read(Request(path.read_text("utf-8"), str(path), path.stem))
            names.append(traced(found, str(path), worker, CancelToken())[1].name)
        except MirageError as error:
            refused[path.stem] = error
    assert len(FILES) == 60 and len(names) >= LEAST, sorted(refused)
    assert all(e.code.startswith("MIR2") and e.line and e.next_step for e in refused.values()), refused

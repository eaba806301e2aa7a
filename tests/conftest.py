"""Fixtures for every room. This folder is on the import path, so tests write `from workloads.hand import small`."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from forked_python import ForkedPython
    from kept_workers import KeptWorkers

    from mirage.isolate.runner import Worker
    from mirage.pipeline.processes import Tools

GOLDEN = Path(__file__).parent / "golden"
# Inductor asks the compiler of C++ about each kind of vectors, seconds of work in each cache; its plain loops give the same values.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden with what the tests now give")


def pytest_sessionfinish() -> None:
    """pytest ends by five collections, for warnings of what was not closed: one finds it, and four more would walk over all that
    the imports made, seconds in each process."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` compares a text with tests/golden/NAME, byte for byte; --update-golden rewrites the file."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            return
        assert path.exists(), f"tests/golden/{name} is missing; run pytest with --update-golden and read the diff"
        assert text == path.read_bytes().decode(), f"differs from tests/golden/{name} (--update-golden rewrites it)"

    return compare


@pytest.fixture(scope="session")
def kept_workers() -> Iterator[KeptWorkers]:
    from kept_workers import KeptWorkers

    kept = KeptWorkers()
    yield kept
    kept.end()


@pytest.fixture(scope="module")
def workers_stay(kept_workers: KeptWorkers) -> Iterator[None]:
    """Workers that this process starts live on for others: importing PyTorch takes seconds, and is not what is tested."""
    with pytest.MonkeyPatch.context() as patch:
        kept_workers.patch(patch)
        yield


@pytest.fixture(scope="session")
def forked_python() -> Iterator[ForkedPython]:
    """`forked_python.run(SCRIPT, ...)` is `python SCRIPT ...` in a process of its own, without the time that PyTorch's import takes."""
    from forked_python import ForkedPython

    made = ForkedPython()
    yield made
    made.end()


@pytest.fixture(scope="session")
def tools() -> Iterator[Tools]:
    """The pipeline's worker processes. All tests share them, as runs of the pipeline do: each imports PyTorch and Triton once."""
    from mirage.pipeline.processes import Tools

    with Tools() as made:
        yield made


@pytest.fixture(scope="session")
def worker(tools: Tools) -> Worker:
    """The worker that traces, and that runs emitted modules in the interpreter."""
    return tools.runner


@pytest.fixture(scope="session")
def run(worker: Worker) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    """`run(task, payload)` is one call of that worker."""
    return lambda task, payload: worker.call(task, payload, timeout_s=240)


@pytest.fixture
def well_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every term that the test makes is checked against meaning/spec.py as soon as it is there."""
    from mirage.meaning.spec import check
    from mirage.meaning.terms import Terms

    make = Terms._new

    def checked(t: Terms, *args: object) -> int:
        x = make(t, *args)  # type: ignore[arg-type]
        check(t, [x])
        return x

    monkeypatch.setattr(Terms, "_new", checked)

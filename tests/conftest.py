"""Fixtures for every room. This folder is on the import path, so tests write `from workloads.hand import small`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden with what the tests now give")


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

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def stay(workers_stay: None) -> None:
    """Each call of the API starts workers of its own."""

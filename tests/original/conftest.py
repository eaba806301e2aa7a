"""Calls of the API share the workers of all tests: each call that starts its own imports PyTorch anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from mirage.pipeline.processes import Tools
from mirage_original import hand_written, json_files, searched_graph, superoptimize


@pytest.fixture(scope="module", autouse=True)
def shared(tools: Tools) -> Iterator[None]:
    """Scripts that tests run in processes of their own start what they need."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (hand_written, json_files, searched_graph, superoptimize):
            patch.setattr(module, "Tools", lambda: nullcontext(tools))
        yield

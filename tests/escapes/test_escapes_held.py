"""A real worker holds one attempt of each family that does not wait for long; `python -m escapes.confined` tries all of them."""

from __future__ import annotations

import pytest

from escapes.attempt import KINDS, Attempt
from escapes.confined import LIMITS, Confined
from escapes.corpus import CORPUS
from escapes.harness import Settings, judge

QUICK = (
    "reading files",
    "changing files",
    "signals",
    "setuid",
    "namespaces",
    "shared objects",
    "reaching sockets",
    "privileges",
)
ORDINARY = [a for a in CORPUS if a.family in QUICK and not a.root]
FIRST = [next(a for a in ORDINARY if a.family == family) for family in sorted({a.family for a in ORDINARY})]


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "verification"])
@pytest.mark.parametrize("attempt", FIRST, ids=lambda a: a.name)
def test_a_worker_holds_it(attempt: Attempt, kind: str) -> None:
    result = judge(attempt, Confined(), kind, Settings(LIMITS))
    assert result.verdict in ("held", "not applicable"), result

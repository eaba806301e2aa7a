"""Facts about a body whatever its tiles: read once for each body, and the quick bound on shared memory that they give."""

from __future__ import annotations

from dataclasses import replace

import pytest
from workloads.hand import BUILDERS, small

from mirage.mugraph.block_facts import Body, OfBody
from mirage.mugraph.capacity import Limits, room, shared_bytes
from mirage.mugraph.grammar import CustomKernel
from mirage.mugraph.walk import parts


def test_a_body_is_read_once_and_an_equal_one_by_itself() -> None:
    read: list[Body] = []

    def length(body: Body) -> int:
        read.append(body)
        return len(body)

    of = OfBody(length)
    (first, *_), (again, *_) = ([p.graph.body for p in parts(small()["gated_mlp"].mugraph)] for _ in range(2))
    shorter = again[:-1]
    assert of(first) == of(first) == len(first) and len(read) == 1
    assert of(shorter) == len(first) - 1 and read[-1] is shorter


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_there_is_room_for_what_is_needed_and_no_less(name: str, stages: int) -> None:
    m = small()[name].mugraph
    kernels = tuple(replace(k, stages=stages) if isinstance(k, CustomKernel) else k for k in m.kernels)
    m = replace(m, kernels=kernels)
    needed = max(shared_bytes(m, p, stages) for p in parts(m))
    assert needed > 0
    assert room(m, Limits(needed)) and not room(m, Limits(needed - 1))

"""The simulation of a fleet, where the outcome can be said by hand."""

import pytest
from fleetbench.simulation import Layout, Task, drawn, simulate


def layout(workers=1, gpus=1, nodes=0, daemons=1):
    return Layout("", daemons, workers, gpus, nodes)


@pytest.mark.parametrize(
    "tasks, of, seconds, bottleneck",
    [
        ([Task(2.0, 4.0, 0.0)] * 6, layout(), 36.0, "workers"),
        ([Task(2.0, 4.0, 0.0)] * 6, layout(workers=2), 18.0, "workers"),
        ([Task(2.0, 4.0, 0.0)] * 6, layout(nodes=6), 26.0, "workers"),  # the first search, then one worker
        ([Task(20.0, 1.0, 0.0)] * 6, layout(workers=2, nodes=2), 61.0, "nodes"),
        (
            [Task(0.0, 2.0, 5.0)] * 4,
            layout(workers=4),
            22.0,
            "GPUs",
        ),  # 1 s before and after, the GPU one after the other
        ([Task(0.0, 2.0, 5.0)] * 4, layout(workers=4, gpus=4), 7.0, "workers"),
        ([Task(2.0, 4.0, 0.0)] * 6, layout(daemons=2), 18.0, "workers"),
    ],
)
def test_how_long_it_takes_and_what_it_waits_for(tasks, of, seconds, bottleneck):
    found = simulate(tasks, of)
    assert found.seconds == pytest.approx(seconds) and found.bottleneck == bottleneck
    assert all(0 <= share <= 1 for share in found.busy.values())


def test_what_waits_takes_its_turn_in_order_and_nothing_is_held_at_the_end():
    few = simulate([Task(1.0, 1.0, 1.0)] * 50, layout(workers=3, gpus=2, nodes=4))
    more = simulate([Task(1.0, 1.0, 1.0)] * 50, layout(workers=30, gpus=20, nodes=40))
    assert few.seconds > more.seconds >= 3.0
    assert few.busy["workers"] > 0.9  # 2 s of one each


def test_tasks_are_drawn_from_those_that_were_measured():
    measured = [Task(1.0, 2.0, 0.0), Task(3.0, 4.0, 0.0)]
    found = drawn(measured, (7.0, 9.0), 200, search=10.0)
    assert {t.search for t in found} == {10.0, 30.0} and {t.gpu for t in found} == {7.0, 9.0}
    assert found == drawn(measured, (7.0, 9.0), 200, search=10.0)
    assert {t.gpu for t in drawn(measured, (), 10)} == {0.0}

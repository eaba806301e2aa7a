"""What all processes of a worker take together is bounded, whatever form it has: private, shared, in files, in processes."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from mirage.errors import WorkerDied, WorkerRaised
from mirage.isolate import Worker
from mirage.isolate.launch_order import LANDLOCK, SECCOMP, WALLS, ProcessLimits
from mirage.isolate.supervisor import FolderSize, HeldResources
from mirage.isolate.system import OperatingSystem

MIB = 1 << 20
LIMIT = 192 * MIB
HOLDS = ("shared", "memfd", "children", "tmp")
VIEWS = {"private view": WALLS, "no private view": (LANDLOCK, SECCOMP)}


def hold(kind, size, walls, **limits):
    with Worker(memory_bytes=LIMIT, system=OperatingSystem(walls=walls), unix=True, **limits) as worker:
        return worker.call("selftest", {"action": "hold", "kind": kind, "bytes": size, "seconds": 3}, timeout_s=60)


@pytest.mark.parametrize("walls", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("kind", HOLDS)
def test_more_than_the_limit_ends_it_and_says_so(kind, walls):
    with pytest.raises((WorkerDied, WorkerRaised), match=r"limit of 192|No space left|File too large"):
        hold(kind, 400 * MIB, walls)


@pytest.fixture(scope="module")
def less():
    """By kind what a worker gives that holds less than its limit for seconds, and one that may hold more together; all of them at
    the same time."""
    with ThreadPoolExecutor(len(HOLDS) + 1) as pool:
        held = {kind: pool.submit(hold, kind, 48 * MIB, WALLS) for kind in HOLDS}
        return {**held, "together": pool.submit(hold, "children", 300 * MIB, WALLS, total_bytes=2048 * MIB)}


@pytest.mark.parametrize("kind", HOLDS)
def test_less_than_the_limit_does_not(kind, less):
    assert less[kind].result() == {"held": 48 * MIB}


def test_what_holds_several_workers_may_have_more_together(less):
    assert less["together"].result() == {"held": 300 * MIB}


def test_processes_are_bounded_for_the_superuser_too():
    with (
        Worker() as worker,
        pytest.raises(
            (WorkerDied, WorkerRaised), match=r"processes and threads|of memory together|BlockingIOError|ended by"
        ),
    ):
        worker.call("selftest", {"action": "bomb", "depth": 12}, timeout_s=60)


@pytest.mark.parametrize(
    ("held", "word"),
    [((11, 0, 0), "memory"), ((0, 9, 0), "folder"), ((0, 0, 11), "processes"), ((10, 8, 10), "")],
)
def test_each_bound_has_its_words(held, word):
    said = HeldResources(*held).over(ProcessLimits(memory=1, total=10, disk=10, tasks=10))
    assert (word in said) if word else said == ""


@pytest.mark.parametrize(
    ("held", "near"),
    [((500, 0, 0), False), ((501, 0, 0), True), ((0, 251, 0), True), ((0, 250, 125), False), ((0, 0, 126), True)],
)
def test_the_next_look_comes_soon_once_a_part_is_taken(held, near):
    assert HeldResources(*held).near(ProcessLimits(memory=1, total=1000, disk=1000, tasks=1000)) is near


@pytest.mark.parametrize(("cost", "walks"), [(0.0001, 10), (0.1, 2)])
def test_a_folder_that_is_cheap_to_measure_is_measured_at_each_look(tmp_path, monkeypatch, cost, walks):
    now, found = [0.0], []

    def walk(folder):
        now[0] += cost
        found.append(folder)
        return len(found)

    monkeypatch.setattr("mirage.isolate.process_tree.size_of", walk)
    size = FolderSize(str(tmp_path), clock=lambda: now[0])
    for _ in range(10):
        assert size.now() == len(found)
        now[0] += 0.6
    assert len(found) == walks


@pytest.mark.parametrize(("walls", "reserved"), [(VIEWS["private view"], True), (VIEWS["no private view"], False)])
def test_nothing_is_reserved_at_one_stroke_in_a_folder_on_disk(walls, reserved):
    with Worker(system=OperatingSystem(walls=walls)) as worker:
        assert worker.call("selftest", {"action": "reserve", "bytes": MIB}, timeout_s=60) == {"reserved": reserved}

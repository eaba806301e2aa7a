"""Seconds by phase: each second is counted once, and a phase that there is not is an error."""

import pytest

from mirage.pipeline.phase_clock import PhaseClock
from mirage.results.codec import structure, unstructure
from mirage.results.phases import PHASES, PhaseSeconds


class Time:
    """Stands still until it is told to pass."""

    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def time():
    return Time()


def test_a_phase_within_another_is_counted_as_itself_alone(time):
    clock = PhaseClock(time)
    time.s += 1  # of no phase
    with clock.phase("search"):
        time.s += 2
        with clock.phase("verdict"):
            time.s += 4
        time.s += 8
    with clock.phase("verdict"):
        time.s += 16
    found = clock.seconds()
    assert (found.search, found.verdict, found.total) == (10, 20, 31)
    assert sum(getattr(found, name) for name in PHASES) == 30


def test_a_phase_that_fails_is_counted_and_ends(time):
    clock = PhaseClock(time)
    with pytest.raises(ValueError, match="broken"), clock.phase("trace"):
        time.s += 3
        raise ValueError("broken")
    time.s += 5
    assert clock.seconds().trace == 3 and clock.seconds().total == 8


def test_no_more_is_moved_than_there_is(time):
    clock = PhaseClock(time)
    with clock.phase("tuning"):
        time.s += 5
    clock.move("tuning", "baselines", 3)
    assert (clock.seconds().tuning, clock.seconds().baselines) == (2, 3)
    clock.move("tuning", "baselines", 3)
    assert (clock.seconds().tuning, clock.seconds().baselines) == (0, 5)


def test_the_first_kernel_is_the_first(time):
    clock = PhaseClock(time)
    assert clock.seconds().first_kernel == 0
    time.s += 2
    clock.verified()
    time.s += 2
    clock.verified()
    assert clock.seconds().first_kernel == 2


@pytest.mark.parametrize("name", ["sleeping", "total", "first_kernel"])
def test_what_is_no_phase_is_refused(time, name):
    with pytest.raises(KeyError), PhaseClock(time).phase(name):
        time.s += 1


def test_seconds_are_the_same_after_the_wire():
    sent = PhaseSeconds(search=1.5, total=2.25)
    assert structure(unstructure(sent), PhaseSeconds) == sent

"""What a process that talks without end costs whoever reads it, and that one that says what has to be said is heard whole."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from mirage.errors import ProtocolError
from mirage.isolate import worker_messages
from mirage.isolate.listening import WITH_EVERYTHING, WITH_ONE_OF_MANY, Listener, Patience
from mirage.isolate.runner import Worker

QUARTER = Patience(burst_s=1.0, share=0.25)


class Heard(Worker):
    patience = Patience(4096, 100, 10)


@dataclass
class Thread:
    """A clock on which reading and resting take their time."""

    now: float = 0.0
    worked: float = 0.0
    rested: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.rested.append(seconds)

    def read(self, listener: Listener, seconds: float) -> None:
        self.now += seconds
        self.worked += seconds
        listener.rest()

    def listener(self, patience: Patience) -> Listener:
        return Listener(patience, lambda: self.now, lambda: self.worked, self.sleep)


def test_reading_without_end_takes_its_share_and_no_more():
    thread = Thread()
    listener = thread.listener(QUARTER)
    while thread.now < 100:
        thread.read(listener, 0.02)
    assert thread.worked == pytest.approx(0.25 * thread.now + QUARTER.burst_s, rel=0.05)
    assert max(thread.rested) <= 0.1, "a cancellation is heard meanwhile"


def test_a_burst_and_what_comes_seldom_are_heard_at_once():
    thread = Thread()
    listener = thread.listener(QUARTER)
    for _ in range(9):
        thread.read(listener, 0.1)
    for _ in range(100):
        thread.now += 1.0
        thread.read(listener, 0.2)
    assert thread.rested == []


def test_what_the_thread_did_before_is_no_reading_and_one_s_own_worker_is_always_heard():
    thread = Thread()
    listener = thread.listener(QUARTER)
    thread.worked += 50.0
    listener.begin()
    thread.read(listener, 0.5)
    own = thread.listener(WITH_EVERYTHING)
    thread.read(own, 50.0)
    assert thread.rested == []


def echoed(value: object) -> object:
    with Heard() as worker:
        return worker.call("selftest", {"action": "echo", "value": value}, timeout_s=30)["value"]


@pytest.mark.parametrize(("value", "said"), [([0] * 101, "100 values"), ("x" * 4096, "over the limit of 4096")])
def test_an_answer_over_the_limit_ends_the_worker(value, said):
    with pytest.raises(ProtocolError, match=said):
        echoed(value)


@pytest.mark.parametrize("value", [[0] * 80, "x" * 4000])
def test_an_answer_within_it_is_heard(value):
    assert echoed(value) == value


def test_an_event_has_fewer_values_than_an_answer():
    frame = worker_messages.encode(worker_messages.event(1, {"state": [0] * 2000}))
    with pytest.raises(ProtocolError, match="1000 values"):
        worker_messages.Frames(WITH_ONE_OF_MANY).feed(frame)
    assert worker_messages.Frames().feed(frame)
    answer = worker_messages.encode(worker_messages.answer(1, {"state": [0] * 2000}))
    assert worker_messages.Frames(WITH_ONE_OF_MANY).feed(answer)


def test_the_longest_part_and_the_longest_answer_of_a_daemon_are_heard():
    from mirage.link.frames import MAX_FRAME, MAX_ITEMS
    from mirage_daemon.journal import MAX_NAME, MAX_PART

    part = {"part": {"search": "s" * 500, "name": "n" * (MAX_NAME - 500), "line": "x" * MAX_PART}}
    answers = {"result": "x" * (MAX_FRAME - 100)}, {"result": [0] * (MAX_ITEMS - 100)}
    messages = [worker_messages.event(1, part), *(worker_messages.answer(1, value) for value in answers)]
    for message in messages:
        assert worker_messages.Frames(WITH_ONE_OF_MANY).feed(worker_messages.encode(message)) == [message]

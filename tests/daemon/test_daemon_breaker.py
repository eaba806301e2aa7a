"""The breaker before a server that fails."""

from mirage_daemon.fault_breaker import FAULTS, LONGEST_S, PAUSE_S, FaultBreaker


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_faults_in_a_row_open_it_and_one_question_tries_again():
    clock = Clock()
    breaker = FaultBreaker(clock)
    assert [breaker.failed() for _ in range(FAULTS)] == [False] * (FAULTS - 1) + [True]
    assert breaker.pause_s == PAUSE_S and not breaker.enter()
    clock.now += PAUSE_S
    assert breaker.enter() and not breaker.enter()  # one tries, the others wait for what it says
    breaker.worked()
    assert breaker.enter() and breaker.enter() and breaker.pause_s == 0


def test_what_works_between_them_begins_the_count_anew():
    breaker = FaultBreaker(Clock())
    for _ in range(5):
        assert not any(breaker.failed() for _ in range(FAULTS - 1))
        breaker.worked()
    assert breaker.enter()


def test_the_pauses_grow_to_a_bound():
    clock, pauses = Clock(), []
    breaker = FaultBreaker(clock)
    for _ in range(FAULTS - 1):
        breaker.failed()
    for _ in range(8):
        assert breaker.failed()
        pauses.append(breaker.pause_s)
        clock.now += breaker.pause_s
        assert breaker.enter()
    assert pauses[:3] == [PAUSE_S, 2 * PAUSE_S, 4 * PAUSE_S] and pauses[-1] == LONGEST_S

"""The request `verify`: the judge's answer or its error, one question of a client at a time, and no work for who has left."""

from __future__ import annotations

import threading

import pytest
from waiting import LIMIT_S, wait_until

from mirage.errors import DaemonBusy, DeadlinePassed, ProtocolError, SignatureMismatch
from mirage.link.request_parameters import JudgedText
from mirage_daemon.handler import MAX_TEXT
from mirage_daemon.verify_requests import Judges

SIDE = JudgedText("a.py", "", "text", "/full/a.py")
FOUND = {
    "left": "a",
    "right": "b",
    "rows": [{"inputs": "2x3", "verdict": {"word": "REJECTED"}}],
    "missing": [["4", "b"]],
}


@pytest.fixture
def judged_by(house):
    """`judged_by(judge)`: a client of a daemon that has this judge."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def served(judge):
            daemon = stack.enter_context(house(lambda *_: {}))
            if judge is not None:
                daemon.server.judges = Judges(judge)
            return daemon

        yield served


def test_the_judge_gets_both_sides_and_its_answer_comes_back(judged_by):
    asked = []

    def judge(payload, interpreter, cancel):
        asked.append((payload, interpreter))
        return FOUND

    client = judged_by(judge).client()
    assert client.verify(SIDE, SIDE, "sm_80", True, False, "/bin/sh") == FOUND
    side = {"path": "a.py", "function": "", "text": "text", "full": "/full/a.py"}
    assert asked == [({"a": side, "b": side, "target": "sm_80", "overflow": True, "undefined": False}, "/bin/sh")]


def test_what_the_judge_raises_is_raised_and_a_daemon_without_one_says_so(judged_by):
    def judge(payload, interpreter, cancel):
        raise SignatureMismatch("one has an input more", path="b.py")

    with pytest.raises(SignatureMismatch, match="an input more"):
        judged_by(judge).client().verify(SIDE, SIDE)


def test_a_daemon_without_a_judge_says_so(judged_by):
    with pytest.raises(DaemonBusy):
        judged_by(None).client().verify(SIDE, SIDE)


def test_a_text_over_the_limit_reaches_no_judge(judged_by):
    asked = []
    client = judged_by(lambda *a: asked.append(a) or FOUND).client()
    with pytest.raises(ProtocolError, match="over the limit"):
        client.verify(SIDE, JudgedText("b.py", "", " " * (MAX_TEXT + 1), "/full/b.py"))
    assert asked == []


def test_a_client_that_leaves_ends_its_work_and_its_turn_is_free(judged_by):
    tokens, first = [], threading.Event()

    def judge(payload, interpreter, cancel):
        tokens.append(cancel)
        if not first.is_set():
            first.set()
            wait_until(lambda: cancel.cancelled, "the client's end is heard")
            cancel.check()
        return FOUND

    daemon = judged_by(judge)
    leaver = daemon.client()
    with pytest.raises(DeadlinePassed):
        leaver.perform(type(leaver).verify, type(leaver).verify.body(SIDE, SIDE), 0.2)
    assert first.wait(LIMIT_S)
    assert daemon.client().verify(SIDE, SIDE) == FOUND
    assert [t.cancelled for t in tokens] == [True, False]


def test_verdicts_that_take_for_ever_hold_up_nobody_else_s(judged_by, monkeypatch):
    monkeypatch.setattr("mirage_daemon.verify_requests.TURN_S", 0.1)
    begun, go_on = threading.Semaphore(0), threading.Event()

    def judge(payload, interpreter, cancel):
        if payload["target"] == "endless":
            begun.release()
            wait_until(lambda: cancel.cancelled or go_on.is_set(), "somebody ends it")
            cancel.check()
        return FOUND

    daemon = judged_by(judge)
    found = []
    first = threading.Thread(target=lambda: found.append(daemon.client().verify(SIDE, SIDE, "endless")))
    first.start()
    assert begun.acquire(timeout=LIMIT_S)
    with pytest.raises(DaemonBusy, match="at work"):  # the same process's, which has one turn
        daemon.client().verify(SIDE, SIDE)
    assert daemon.client().status()["pid"], "all else is answered"
    go_on.set()
    first.join(LIMIT_S)
    assert found == [FOUND]
    assert daemon.client().verify(SIDE, SIDE) == FOUND, "its turn is free again"

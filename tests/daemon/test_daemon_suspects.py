"""What counts against a job that was under way when the daemon died, and how one that died with it often begins again."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import msgpack
import pytest
from waiting import wait_until

from mirage.errors import DaemonBusy
from mirage.link import paths
from mirage_daemon import crash_suspects
from mirage_daemon.cache_store import SqliteStore
from mirage_daemon.crash_suspects import FREE_STARTS, MAX_STARTS, Suspects, pause_s
from mirage_daemon.journal import JOB, PART, Journal, PromisedJob
from mirage_daemon.server import Server


@dataclass(eq=False)
class Job:
    id: str
    starts: int
    final: bool = False


@contextmanager
def book():
    """The journal of a daemon that does not run: (journal, a call in its thread, its store)."""
    with ThreadPoolExecutor(1) as thread:
        store = thread.submit(SqliteStore, paths.data_dir()).result()
        yield Journal(store, thread), lambda call, *a: thread.submit(call, *a).result(), store
        thread.submit(store.close).result()


def rows():
    with book() as (journal, inside, _):
        return inside(journal.rows)


def forever(payload, progress, cancel):
    while not cancel.cancelled:
        time.sleep(0.005)
    cancel.check()


@pytest.fixture
def promised(house, text):
    """A job of `f` (and one of `g`) as a daemon left it that died at once, `starts` times."""
    with house(forever) as h:
        client = h.client()
        for name in "fg":
            client.submit(text, "/p/a.py", name)
        keys = [(job.key, job.payload) for job in h.server.jobs.active]

    def write(starts, names=1):
        with book() as (journal, _, _):
            for key, _ in keys:
                journal.end(key).result()
            for key, payload in keys[:names]:
                journal.begin(PromisedJob(key, payload, 1, starts, 0)).result()

    return write


def test_the_first_deaths_cost_nothing_and_later_ones_ever_more_of_the_daemons_life():
    pauses = [pause_s(n) for n in range(MAX_STARTS)]
    assert set(pauses[:FREE_STARTS]) == {0.0}
    assert all(0 < a <= b for a, b in zip(pauses[FREE_STARTS:], pauses[FREE_STARTS + 1 :]))
    assert 60 <= pauses[-1] <= 120  # within what a person waits for


def test_suspects_are_let_in_late_and_one_at_a_time(monkeypatch):
    monkeypatch.setattr(crash_suspects, "FIRST_S", 0.05)
    monkeypatch.setattr(crash_suspects, "AGAIN_S", 0.01)
    let_in = []

    async def scene():
        held = Suspects(let_in.append)
        fresh, one, two, gone, last = (Job(str(n), n) for n in (0, FREE_STARTS, FREE_STARTS, FREE_STARTS, MAX_STARTS))
        assert not held.hold(fresh) and not held.hold(last)  # the last is given up, which takes no beginning
        assert held.hold(one) and held.hold(two) and held.hold(gone)
        gone.final = True
        assert let_in == []
        await asyncio.sleep(0.2)
        assert let_in == [one]
        one.final = True
        await asyncio.sleep(0.1)
        assert let_in == [one, two]

    asyncio.run(scene())


@pytest.mark.parametrize("starts", [FREE_STARTS, FREE_STARTS - 1])
def test_a_job_that_died_with_the_daemon_often_begins_once_the_daemon_has_lived(
    house, text, answer, promised, monkeypatch, starts
):
    monkeypatch.setattr(crash_suspects, "FIRST_S", 0.5 if starts == FREE_STARTS else 60.0)  # the twin does not wait
    promised(starts)
    began = time.monotonic()
    with house(lambda payload, *_: answer(payload)) as h:
        client = h.client()
        wait_until(lambda: h.runs)  # nobody asks
        assert starts < FREE_STARTS or time.monotonic() - began >= 0.5
        wait_until(lambda: client.lookup(text, "/p/a.py", "f") is not None)


def test_a_life_that_was_too_short_for_a_suspect_does_not_count_against_it(house, promised):
    promised(FREE_STARTS + 3)
    with house(forever) as h:
        wait_until(lambda: h.client().status()["jobs"])
    assert [row.starts for row in rows()] == [FREE_STARTS + 3]


def test_a_suspect_can_be_cancelled_while_it_waits(house, text, promised):
    promised(FREE_STARTS + 3)
    with house(forever) as h:
        client = h.client()
        job = client.submit(text, "/p/a.py", "f")
        assert job["state"] == "queued" and h.runs == []
        assert client.cancel(job["job"]) and client.result(job["job"])["state"] == "cancelled"
        assert client.submit(text, "/p/a.py", "f")["job"] != job["job"]
        wait_until(lambda: h.runs)  # that was a user's word: it begins at once
    assert [row.starts for row in rows()] == [0]


@pytest.mark.parametrize("asked_first", [False, True])
def test_asking_again_does_not_clear_a_job_of_the_deaths_it_was_there_at(
    house, text, promised, monkeypatch, asked_first
):
    async def much_later(self, row):
        await asyncio.sleep(60)

    if asked_first:
        monkeypatch.setattr(Server, "_take_up_one", much_later)
    promised(MAX_STARTS - 1)
    with house(forever) as h:
        client = h.client()
        wait_until(lambda: asked_first or client.status()["jobs"])
        assert client.submit(text, "/p/a.py", "f")["state"] == "queued"
        assert client.submit(text, "/p/a.py", "g")["state"] != "queued"  # the twin: it was at none
        wait_until(lambda: [r["function"] for r in h.runs] == ["g"])
    assert sorted(row.starts for row in rows()) == [0, MAX_STARTS - 1]


def test_a_stop_is_no_death_and_keeps_the_order_but_a_kill_is_one(house, text, promised):
    promised(3, names=2)
    left = []
    with house(forever, workers=1) as h:
        wait_until(lambda: h.runs)
        left += [h.server._store_thread.submit(h.server.journal.rows).result()]  # what a kill now would leave
    assert sorted(row.starts for row in left[0]) == [3, 4]
    assert [row.starts for row in rows()] == [3, 3]
    assert [row.key for row in rows()] == [row.key for row in left[0]]


def test_what_was_durable_before_a_death_is_progress(house, text, promised):
    promised(MAX_STARTS)
    with book() as (journal, inside, _):
        key = inside(journal.rows)[0].key
        journal.put_part(key, {"search": "s", "name": "p", "line": "l"})
    assert [(row.starts, row.parts) for row in rows()] == [(0, 1)]


def test_a_job_that_was_cancelled_just_before_the_stop_is_not_taken_up(house, text):
    gate = threading.Event()

    def slow(payload, progress, cancel):
        wait_until(lambda: gate.is_set() or h.server.jobs._closing)
        cancel.check()
        forever(payload, progress, cancel)

    with house(slow) as h:
        client = h.client()
        jobs = [client.submit(text, "/p/a.py", name)["job"] for name in "fg"]
        wait_until(lambda: len(h.runs) == 2)
        assert client.cancel(jobs[0])
    assert [row.payload["function"] for row in rows()] == ["g"]


def test_a_job_in_another_versions_form_does_not_keep_the_others_from_being_taken_up(house, text, answer, promised):
    promised(0, names=2)
    with book() as (journal, inside, store):
        first, second = inside(journal.rows)
        key = bytes.fromhex(first.key)
        inside(store.put, JOB, key, msgpack.packb({"payload": first.payload, "since": "next year"}))
        inside(store.put, PART, key + b"p" * 32, b"of that")
    with house(lambda payload, *_: answer(payload)) as h:
        wait_until(lambda: [r["function"] for r in h.runs] == [second.payload["function"]])
    assert rows() == []


def test_the_texts_of_the_jobs_are_bounded_and_forgotten_with_them(house, text, answer, monkeypatch):
    monkeypatch.setattr("mirage_daemon.admission.TEXTS_OF_CLIENT", 2 * len(text))
    gate = threading.Event()

    def waits(payload, progress, cancel):
        wait_until(gate.is_set)
        return answer(payload)

    with house(waits, workers=1) as h:
        client = h.client()
        jobs = [client.submit(text + "# " * n, "/p/a.py", "f", target=f"sm_{n}") for n in (80, 90)]
        with pytest.raises(DaemonBusy, match="text"):
            client.submit(text, "/p/a.py", "g")
        assert client.submit(text + "# " * 90, "/p/a.py", "f", target="sm_90")["job"] == jobs[1]["job"]  # it is there
        gate.set()
        for job in jobs:
            assert client.subscribe(job["job"])["state"] == "done"
        assert client.status()["ended"][0]["function"] == "f"
        assert [j.payload.get("text") for j in h.server.jobs.ended(9)] == [None, None]
        client.submit(text, "/p/a.py", "g")

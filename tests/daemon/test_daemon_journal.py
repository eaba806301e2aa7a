"""A job that a client was promised, and the finished parts of its search, outlive the daemon."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgpack
import pytest
from waiting import LIMIT_S, wait_until

from mirage.errors import CannotWrite
from mirage.link import Client, paths
from mirage_daemon import question_key
from mirage_daemon.cache_store import SqliteStore
from mirage_daemon.crash_suspects import MAX_STARTS
from mirage_daemon.journal import MAX_PARTS, Journal, PromisedJob

KEY, OTHER = "aa" * 32, "bb" * 32


def part(n, search="s", line=None):
    return {"search": search, "name": f"out({n})", "line": line or f"line {n}"}


def hangs(payload, progress, cancel):
    """A job that ends when it is told to."""
    while not cancel.cancelled:
        time.sleep(0.005)
    cancel.check()


@pytest.fixture
def journal(tmp_path):
    with ThreadPoolExecutor(1) as thread:
        store = thread.submit(SqliteStore, tmp_path).result()
        yield Journal(store, thread), lambda call, *a: thread.submit(call, *a).result(), store
        thread.submit(store.close)


def test_a_row_and_its_parts_are_there_until_the_job_ends(journal):
    book, inside, _ = journal
    row = PromisedJob(KEY, {"text": "t", "n": [1]}, 0, 3, 7)
    book.begin(row).result()
    for n in range(3):
        book.put_part(KEY, part(n))
    book.put_part(OTHER, part(9))
    assert inside(book.rows) == [row]  # and what belongs to no job is gone
    assert book.parts(OTHER) == {}
    assert book.parts(KEY) == {"s": {f"out({n})": f"line {n}" for n in range(3)}}
    book.end(KEY).result()
    assert inside(book.rows) == [] and book.parts(KEY) == {}


def test_an_end_does_not_overtake_its_beginning(journal):
    book, inside, _ = journal
    for _ in range(20):
        book.begin(PromisedJob(KEY, {}, 1))
        book.end(KEY)
    assert inside(book.rows) == []


@pytest.mark.parametrize(
    "wrong",
    [None, [], {}, {"search": "s"}, {**part(1), "more": 1}, {**part(1), "line": b""}, {**part(1), "name": "n" * 2000}],
)
def test_what_is_not_a_part_is_not_kept(journal, wrong):
    book, _, _ = journal
    book.put_part(KEY, wrong)
    assert book.parts(KEY) == {}


def test_the_parts_of_a_job_are_bounded(journal, monkeypatch):
    monkeypatch.setattr(
        "mirage_daemon.journal.MAX_PARTS", 170
    )  # the name of a search and of a part, and a line: 1 + 6 + 10
    book, _, _ = journal
    for n in range(20):
        book.put_part(KEY, part(n, line="x" * 10))
    assert len(book.parts(KEY)["s"]) == 10 and MAX_PARTS > 1 << 20


class SlowDisk(SqliteStore):
    """A disk that takes nothing before it is let."""

    free: threading.Event

    def sync(self):
        assert self.free.wait(LIMIT_S)
        super().sync()


def test_a_promise_waits_for_the_disk_and_a_lookup_does_not(tmp_path):
    SlowDisk.free = threading.Event()
    with ThreadPoolExecutor(1) as thread, ThreadPoolExecutor(1) as disk:
        store = thread.submit(SlowDisk, tmp_path).result()
        promised = Journal(store, thread, disk).begin(PromisedJob(KEY, {}, 1))
        assert thread.submit(store.get, "result", b"k").result(LIMIT_S) is None
        assert not promised.done()
        SlowDisk.free.set()
        assert promised.result(LIMIT_S) is True
        thread.submit(store.close).result()


def test_a_promise_that_the_disk_does_not_take_is_none(tmp_path, monkeypatch):
    def refused(descriptor):
        raise OSError(28, "No space left on device")

    with ThreadPoolExecutor(1) as thread:
        store = thread.submit(SqliteStore, tmp_path).result()
        book = Journal(store, thread)
        assert book.begin(PromisedJob(KEY, {}, 1)).result(LIMIT_S) is True
        monkeypatch.setattr(os, "fdatasync", refused)
        with pytest.raises(CannotWrite, match="No space left"):
            store.sync()
        assert book.begin(PromisedJob(OTHER, {}, 1)).result(LIMIT_S) is None
        thread.submit(store.close).result()


def test_a_job_that_starts_keeps_its_place_before_later_ones(journal):
    """Whether its start is written before or after another job's promise; and one that ended and is asked for anew comes last."""
    book, inside, _ = journal
    first, second = KEY, OTHER
    for row in (PromisedJob(first, {}, 1), PromisedJob(second, {}, 1), PromisedJob(first, {}, 1, starts=1)):
        book.begin(row).result()
    assert [row.key for row in inside(book.rows)] == [first, second]
    book.unbegin(PromisedJob(first, {}, 1, starts=1)).result()
    assert [(row.key, row.starts) for row in inside(book.rows)] == [(first, 0), (second, 0)]
    book.end(first).result()
    book.begin(PromisedJob(first, {}, 1)).result()
    assert [row.key for row in inside(book.rows)] == [second, first]


def test_a_job_is_read_as_an_older_daemon_wrote_it(journal):
    book, inside, store = journal
    text = "x" * 10_000
    book.begin(PromisedJob(KEY, {"text": text}, 1)).result()
    entry = inside(lambda: store.page("job", b"", 1))[0]
    assert entry.size < 1000  # it is compressed
    inside(lambda: store.put("job", entry.key, msgpack.packb([{"text": text}, 1, 0, 0])))
    assert inside(book.rows) == [PromisedJob(KEY, {"text": text}, 1)]


def test_a_row_that_somebody_else_wrote_is_no_job(journal, tmp_path):
    book, inside, store = journal
    book.begin(PromisedJob(KEY, {"trusted": True}, 1)).result()
    inside(lambda: store._db.execute("UPDATE entry SET value = ?, size = 1, sha256 = ?", (b"x", b"y" * 32)))
    assert inside(book.rows) == []


def test_a_daemon_that_stops_leaves_its_jobs_to_the_next_with_their_parts(house, text, answer):
    begun, seen = threading.Event(), []

    def hangs(payload, progress, cancel):
        for n in range(3):
            progress({"part": part(n)})
        begun.set()
        while not cancel.cancelled:
            time.sleep(0.005)
        cancel.check()

    with house(hangs, workers=1) as h:
        client = h.client()
        client.submit(text, "/p/a.py", "f")
        client.submit(text, "/p/a.py", "g", priority=2)
        assert begun.wait(LIMIT_S)
    done = threading.Event()

    def finishes(payload, progress, cancel):
        seen.append((payload["function"], payload["checkpoint"]))
        if len(seen) == 2:
            done.set()
        return answer(payload)

    with house(finishes, workers=1) as h:  # nobody asks
        assert done.wait(LIMIT_S)
        assert seen == [("f", {"s": {f"out({n})": f"line {n}" for n in range(3)}}), ("g", {})]
        client = h.client()
        assert client.subscribe(client.submit(text, "/p/a.py", "g")["job"])["state"] == "done"
    with house(finishes, workers=1) as h:
        h.client().status()
    assert len(seen) == 2  # what is over is not begun again


def test_a_job_that_is_taken_up_is_shared_with_who_asks_for_it(house, text, answer):
    gate = threading.Event()

    def waits(payload, progress, cancel):
        while not cancel.cancelled and not gate.is_set():
            time.sleep(0.005)
        cancel.check()
        return answer(payload)

    with house(waits) as h:
        h.client().submit(text, "/p/a.py", "f")
    with house(waits) as h:
        client = h.client()
        job = client.submit(text, "/q/b.py", "f")["job"]
        gate.set()
        assert client.subscribe(job)["state"] == "done" and len(h.runs) == 1


def test_a_cancelled_or_failed_job_is_not_taken_up(house, text, answer):
    def fails(payload, progress, cancel):
        raise ValueError("no")

    with house(fails) as h:
        client = h.client()
        assert client.subscribe(client.submit(text, "/p/a.py", "f")["job"])["state"] == "failed"
    with house(hangs) as h:
        client = h.client()
        job = client.submit(text, "/p/a.py", "g")["job"]
        assert client.cancel(job) and client.subscribe(job)["state"] == "cancelled"
    with house(fails) as h:
        assert h.client().status()["jobs"] == [] and h.runs == []


def test_a_job_begins_anew_when_its_question_has_another_key_now(house, text, answer, monkeypatch):
    def hangs(payload, progress, cancel):
        progress({"part": part(1)})
        while not cancel.cancelled:
            time.sleep(0.005)
        cancel.check()

    with house(hangs) as h:
        old = h.client().submit(text, "/p/a.py", "f")["key"]
    monkeypatch.setattr(question_key, "code_digest", lambda: "another")
    with house(lambda payload, *_: answer(payload)) as h:
        client = h.client()
        new = client.submit(text, "/p/a.py", "f")
        assert new["key"] != old and client.subscribe(new["job"])["state"] == "done"
        assert [r["checkpoint"] for r in h.runs] == [{}]


def test_a_job_that_ends_the_daemon_again_and_again_is_given_up(house, text, home, caplog):
    with house(hangs) as h:
        client = h.client()
        key = client.submit(text, "/p/a.py", "f")["key"]
        payload = h.server.jobs.active[0].payload
    with ThreadPoolExecutor(1) as thread:
        store = thread.submit(SqliteStore, paths.data_dir()).result()
        Journal(store, thread).begin(PromisedJob(key, payload, 1, MAX_STARTS, 0)).result()
        thread.submit(store.close).result()
    caplog.set_level("INFO")
    with house(hangs) as h:
        wait_until(lambda: "failed (MIR400)" in caplog.text)
        assert h.runs == [] and h.client().status()["jobs"] == []


KILLED = """
import time
from mirage.results.codec import unstructure
from mirage.results.result import Result
from mirage_daemon.lifecycle import main
def job(payload, progress, cancel):
    known = payload["checkpoint"].get("s", {})
    for n in range(10):
        if f"out({n})" not in known:
            progress({"part": {"search": "s", "name": f"out({n})", "line": str(n)}})
            time.sleep(0.05)
    return {"result": unstructure(Result("f", "kernel", "", (), "p", source=f"# {len(known)} parts"))}
raise SystemExit(main(job=job))
"""


def test_kill_9_then_the_next_daemon_goes_on_by_itself(home, text):
    paths.ensure_private(paths.runtime_dir())
    for killed in (True, False):
        process = subprocess.Popen([sys.executable, "-c", KILLED])
        try:
            wait_until(paths.socket_path().exists)
            client = Client.connect() if killed else None
            if client is not None:
                with client:
                    client.submit(text, "/p/a.py", "f")
                    time.sleep(0.25)
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                paths.socket_path().unlink()
                continue
            with Client.connect(start_daemon=False) as client:  # only looked at: nobody submits it again
                found = wait_until(partial(client.lookup, text, "/p/a.py", "f"))
            assert 1 <= int(found["source"].split()[1]) < 10
        finally:
            process.kill()
            process.wait()


def test_a_submission_that_is_overtaken_by_the_end_of_the_search_starts_no_other(house, text, answer, monkeypatch):
    from mirage_daemon import server

    gate, second, ran = threading.Event(), threading.Event(), []

    def search(payload, progress, cancel):
        ran.append(payload["function"])
        assert gate.wait(LIMIT_S)
        return answer(payload)

    original = server.project_of

    def slow(path):
        if ran:  # of the second submission: the search that was under way when it came ends first
            second.set()
            assert ended.wait(LIMIT_S)
        return original(path)

    ended = threading.Event()
    monkeypatch.setattr(server, "project_of", slow)
    with house(search, workers=1) as h:
        first = h.client()
        job = first.submit(text, "/p/a.py", "f")["job"]
        states = []
        late = threading.Thread(target=lambda: states.append(h.client().submit(text, "/p/a.py", "f")["state"]))
        wait_until(lambda: ran)
        late.start()
        assert second.wait(LIMIT_S)
        gate.set()
        assert first.subscribe(job)["state"] == "done"
        ended.set()
        late.join(LIMIT_S)
    assert states == ["done"] and ran == ["f"]


@pytest.mark.parametrize("misread", [False, True])
def test_what_an_earlier_daemon_read_is_believed_where_it_leads_to_the_key(house, text, monkeypatch, misread):
    with house(hangs) as h:
        asked = h.client().submit(text, "/p/a.py", "f")
    with ThreadPoolExecutor(1) as thread:
        store = thread.submit(SqliteStore, paths.data_dir()).result()
        book = Journal(store, thread)
        row = thread.submit(book.row, asked["key"]).result()
        if misread:
            row.payload["said"][1] = "another text"
            book.begin(row).result()
        thread.submit(store.close).result()
    reads, part_of = [], question_key.part_of
    monkeypatch.setattr(question_key, "_PARTS", type(question_key._PARTS)())
    monkeypatch.setattr(question_key, "part_of", lambda *a: reads.append(a) or part_of(*a))
    with house(hangs) as h:
        wait_until(lambda: len(h.runs) == 1)
        assert [job["key"] for job in h.client().status()["jobs"]] == [asked["key"]]
    assert bool(reads) == misread

"""Many clients and many jobs at once: none of them is in the others' way."""

import ast
import contextlib
import resource
import socket
import threading
import time

import pytest
from conftest import TEXT, kernel

from mirage.errors import DaemonBusy, FunctionNotFound, SourceSyntaxError, UnknownJob
from mirage.link import paths, protocol
from mirage.link.version import package_version
from mirage_daemon import admission, lifecycle, server, text_processes
from mirage_daemon import jobs as jobs_module
from mirage_daemon.admission import Admission
from mirage_daemon.jobs import Jobs
from mirage_daemon.text_processes import TextProcesses

CLIENTS = 700  # the 513th was refused


def idle_clients(stack, count):
    """Sockets that said hello, were welcomed, and ask nothing."""
    found = []
    for _ in range(count):
        one = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        one.settimeout(60)
        one.connect(str(paths.socket_path()))
        hello = protocol.unstructure(protocol.Hello(protocol.VERSION, package_version(), "idle"))
        one.sendall(protocol.encode({"type": "hello", "id": 0, "body": hello}))
        found.append(one)
    for one in found:
        assert len(one.recv(4096)) > 4
    return found


def test_hundreds_of_idle_clients_leave_room_for_one_that_asks(house):
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(house(lambda payload, progress, cancel: kernel(payload)))
        idle_clients(stack, CLIENTS)
        client = running.client()
        assert client.status()["clients"] == CLIENTS + 1
        job = client.submit(TEXT, "model.py", "f")
        assert client.subscribe(job["job"])["state"] == "done"


def test_clients_beyond_the_limit_are_told(house, monkeypatch):
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 3)
    with contextlib.ExitStack() as stack:
        stack.enter_context(house(lambda payload, progress, cancel: kernel(payload)))
        idle_clients(stack, 3)
        one = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        one.settimeout(60)
        one.connect(str(paths.socket_path()))
        assert DaemonBusy.code.encode() in one.recv(4096)
        assert one.recv(4096) == b""


def test_the_limit_of_files_is_raised_and_never_lowered(monkeypatch):
    given = []
    monkeypatch.setattr(resource, "setrlimit", lambda what, limits: given.append(limits))
    wanted = server.MAX_CONNECTIONS + server.OWN_DESCRIPTORS
    for now, then in [((1024, 4096), [(4096, 4096)]), ((1024, 1 << 20), [(wanted, 1 << 20)]), ((1 << 19, 1 << 20), []),
                      ((1024, resource.RLIM_INFINITY), [(wanted, resource.RLIM_INFINITY)])]:  # fmt: skip
        given.clear()
        monkeypatch.setattr(resource, "getrlimit", lambda what, now=now: now)
        lifecycle.raise_descriptor_limit()
        assert given == then


@pytest.fixture
def held(house):
    """A daemon whose jobs of a function f wait for `go`, and a client of it; a text for any number of functions."""
    go = threading.Event()

    def work(payload, progress, cancel):
        while payload["function"] == "f" and not go.is_set() and not cancel.cancelled:
            go.wait(0.01)
        cancel.check()
        return kernel(payload)

    with house(work, workers=1) as running:
        yield running, running.client(), go


def of(name):
    """A text with a function `name`, beside `f` where it is another."""
    return TEXT if name == "f" else TEXT.replace("def g", f"def {name}")


@pytest.mark.parametrize(
    ("limit", "value"), [("TEXTS_OF_CLIENT", len(TEXT) // 2), ("JOBS_OF_CLIENT", 1), ("MOST_JOBS", 1)]
)
def test_what_jobs_hold_is_counted_while_they_hold_it(held, monkeypatch, limit, value):
    """What is over holds nothing; a job beyond the limit is refused, and found under no name."""
    monkeypatch.setattr(admission, limit, value)
    _, client, go = held
    first = client.submit(TEXT, "model.py", "f")
    with pytest.raises(DaemonBusy):
        client.submit(TEXT, "model.py", "g")
    go.set()
    assert client.subscribe(first["job"])["state"] == "done"
    second = client.submit(TEXT, "model.py", "g")
    assert client.subscribe(second["job"])["state"] == "done"


def test_one_clients_share_leaves_room_for_another():
    room = Admission()
    for _ in range(admission.JOBS_OF_CLIENT):
        room.check(1)
        room.enter(1, 10)
    with pytest.raises(DaemonBusy):
        room.check(1)
    room.check(2)
    room.leave(1, 10)
    room.check(1)


def test_texts_of_jobs_that_wait_lie_in_the_journal_and_come_back(held, monkeypatch):
    monkeypatch.setattr(jobs_module, "TEXTS_IN_MEMORY", 0)
    running, client, go = held
    asked = [client.submit(of(name), "model.py", name)["job"] for name in ("f", "a", "b", "c")]
    waiting = running.server.jobs
    assert [job.in_journal for job in waiting.active] == [False, True, True, True]
    assert all("text" not in job.payload for job in waiting.active[1:])
    go.set()
    assert {client.subscribe(job)["state"] for job in asked} == {"done"}
    assert [p["text"] for p in running.runs[1:]] == [of(name) for name in "abc"]
    assert waiting._in_memory == 0


def test_a_job_whose_text_is_gone_fails_alone(held, monkeypatch):
    monkeypatch.setattr(jobs_module, "TEXTS_IN_MEMORY", 0)
    running, client, go = held
    asked = [client.submit(of(name), "model.py", name) for name in ("f", "a", "b")]
    running.server.journal.end(asked[1]["key"]).result()
    go.set()
    assert [client.subscribe(job["job"])["state"] for job in asked] == ["done", "failed", "done"]


def test_a_long_text_is_read_beside_the_daemon(house):
    """Python's parser holds the interpreter's lock: in the daemon's own process everybody waits for it."""
    long = TEXT + "\n".join(f"def helper_{i}(x):\n    return x * {i} + {i}\n" for i in range(4000))
    with house(lambda payload, progress, cancel: kernel(payload)) as running:
        client = running.client()
        before = time.process_time()
        assert client.subscribe(client.submit(long, "model.py", "f")["job"])["state"] == "done"
        own = time.process_time() - before
        began = time.process_time()
        ast.parse(long)
        assert own < time.process_time() - began


def test_a_mistake_in_a_long_text_is_said_as_in_a_short_one(house):
    with house(lambda payload, progress, cancel: kernel(payload)) as running:
        client = running.client()
        for text in (TEXT, TEXT + "\n" + "# long\n" * text_processes.LONG_TEXT):
            with pytest.raises(FunctionNotFound, match=r"`h` \(f, g\)"):
                client.submit(text, "model.py", "h")


def test_a_text_that_takes_too_long_ends_its_process_alone(monkeypatch):
    own = TextProcesses()
    monkeypatch.setattr(
        text_processes,
        "_START",
        text_processes._START.replace(
            "; main()", "; import mirage_daemon.text_processes as t; t.PROCESSOR_S = 0.05; main()"
        ),
    )
    with pytest.raises(SourceSyntaxError):
        own.read(TEXT + "\n".join(f"a{i} = [{i}, {i}]" for i in range(60_000)), "model.py", "f")
    assert own._idle == []
    assert own.read(TEXT, "model.py", "f").own.startswith("@mirage.optimize")
    own.close()


def test_a_job_is_found_by_its_name_alone():
    with pytest.raises(UnknownJob):
        Jobs(lambda *_: {}, workers=1).find("nothing")

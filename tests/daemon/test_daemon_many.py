"""Many clients and many jobs at once: none of them is in the others' way."""

import contextlib
import resource
import socket
import threading

import pytest
from conftest import TEXT, kernel

from mirage.errors import DaemonBusy, UnknownJob
from mirage.link import paths, protocol
from mirage.link.version import package_version
from mirage_daemon import jobs as jobs_module
from mirage_daemon import lifecycle, server
from mirage_daemon.jobs import Jobs

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


def test_texts_are_counted_while_jobs_hold_them(house, monkeypatch):
    """What is over holds nothing; a job beyond the limit is refused, and found under no name."""
    monkeypatch.setattr(jobs_module, "MAX_TEXTS", len(TEXT) // 2)
    go = threading.Event()

    def work(payload, progress, cancel):
        go.wait(60)
        return kernel(payload)

    with house(work) as running:
        client = running.client()
        first = client.submit(TEXT, "model.py", "f")
        with pytest.raises(DaemonBusy):
            client.submit(TEXT, "model.py", "g")
        go.set()
        assert client.subscribe(first["job"])["state"] == "done"
        second = client.submit(TEXT, "model.py", "g")
        assert client.subscribe(second["job"])["state"] == "done"


def test_a_job_is_found_by_its_name_alone():
    with pytest.raises(UnknownJob):
        Jobs(lambda *_: {}, workers=1).find("nothing")

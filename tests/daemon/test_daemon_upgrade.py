"""A newer client gets a newer daemon, and what the older one was doing goes on; nobody else can send one away."""

import asyncio
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest
from waiting import LIMIT_S, wait_until

from mirage.errors import DaemonReplaced, DaemonUnavailable, ProtocolError
from mirage.link import AsyncClient, Client, paths, protocol
from mirage.link import client as link_client
from mirage.link.version import is_newer
from mirage_daemon import server

OLD = (
    "import os, sys, time\nimport mirage_daemon.server as server\nserver.package_version = lambda: '0.0.1'\n"
    "from mirage_daemon.lifecycle import main\n"
    "def job(payload, progress, cancel):\n    while True:\n        cancel.check()\n        time.sleep(0.01)\n"
    "sys.exit(main(job=job))\n"
)


@pytest.mark.parametrize(
    "version, than, answer",
    [
        ("0.2.0", "0.1.9", True), ("0.10", "0.9.9", True), ("1.0", "0.9", True), ("0.1.0", "0.1.0", False),
        ("0.1.0", "0.2", False), ("source", "0.1", False), ("9", "source", False), ("", "0.1", False),
        ("9" * 5000, "0.1", True), ("x9", "0.1", False), ("1.0.post1", "1.0", False),
    ],
)  # fmt: skip
def test_what_is_newer(version, than, answer):
    assert is_newer(version, than) is answer


@pytest.fixture
def old(home):
    """A daemon process of version 0.0.1."""
    process = subprocess.Popen([sys.executable, "-c", OLD])
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            link_client.dial().close()
            break
        except DaemonUnavailable:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    yield process
    process.kill()
    process.wait()
    try:
        with Client.connect(start_daemon=False) as client:
            os.kill(client.daemon_pid, signal.SIGKILL)
    except DaemonUnavailable:
        pass


def test_a_newer_client_gets_a_newer_daemon_that_goes_on_with_the_jobs(old, text):
    with Client.connect(start_daemon=False) as looking:  # does not replace: it only looks
        assert looking.status()["package"] == "0.0.1"
        job = looking.submit(text, "a.py", "f")
        assert job["state"] in ("queued", "tracing")
        with Client.connect() as client:
            assert client.welcome.pid != old.pid and is_newer(client.welcome.package, "0.0.1")
            assert old.wait(LIMIT_S) == 0
            found = wait_until(lambda: client.status()["jobs"])
            assert [(j["function"], j["state"] in protocol.FINAL) for j in found] == [("f", False)]
            assert client.cancel(found[0]["job"]) is True
            client.shutdown()


def test_the_asyncio_client_replaces_it_too(old):
    async def talk():
        async with AsyncClient() as client:
            assert (await client.status())["pid"] != old.pid
            await client.shutdown()

    asyncio.run(talk())
    assert old.wait(LIMIT_S) == 0


def hello(version, package, replaces):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(10)
    connection.connect(os.fspath(paths.socket_path()))
    message = protocol.Hello(version, package, "test", replaces)
    connection.sendall(link_client.request(1, "hello", message, 5.0))
    (size,) = struct.unpack(">I", connection.recv(4, socket.MSG_WAITALL))
    answer = protocol.decode(connection.recv(size, socket.MSG_WAITALL))
    connection.close()
    return answer


@pytest.mark.parametrize(
    "version, package, replaces, code",
    [
        (protocol.VERSION, "0.0.1", True, None),  # older: it is served
        (protocol.VERSION, "999.0", False, None),  # newer, but it starts none
        (protocol.VERSION, "nonsense", True, None),
        (protocol.VERSION + 1, "999.0", False, "MIR501"),
        (protocol.VERSION - 1, "0.0.1", True, "MIR501"),
    ],
)
def test_who_does_not_replace_it(house, answer, version, package, replaces, code):
    with house(lambda payload, progress, cancel: answer(payload)) as h:
        assert (hello(version, package, replaces)["body"]).get("code") == code
        assert h.client().status()["pid"] == os.getpid()


@pytest.mark.parametrize("version, package", [(protocol.VERSION, "999.0"), (protocol.VERSION + 1, "0.0.1")])
def test_who_does(house, answer, version, package):
    with house(lambda payload, progress, cancel: answer(payload)) as h:
        assert hello(version, package, True)["body"]["code"] == "MIR507"
        h.thread.join(LIMIT_S)
        assert not h.thread.is_alive()


def test_a_client_without_a_daemon_of_its_own_says_what_happened(house, answer, monkeypatch):
    monkeypatch.setattr(server, "package_version", lambda: "0.0.1")
    with house(lambda payload, progress, cancel: answer(payload)) as h:
        connection = link_client.dial()
        with pytest.raises(DaemonReplaced):
            Client(connection, "test", replaces=True)
        connection.close()
        h.thread.join(LIMIT_S)


def test_an_older_protocol_is_told_to_update(house, answer):
    with house(lambda payload, progress, cancel: answer(payload)):
        assert "update mirage" in hello(protocol.VERSION - 1, "0.0.1", True)["body"]["next_step"]
        assert "daemon stop" in hello(protocol.VERSION + 1, "9.0", False)["body"]["next_step"]
    with pytest.raises(ProtocolError):
        protocol.structure({"version": 1, "package": "", "client": "", "replaces": 1}, protocol.Hello)


def test_many_newer_clients_at_once_end_with_one_daemon(old):
    pids, lock = set(), threading.Lock()

    def one():
        with Client.connect() as client, lock:
            pids.add(client.welcome.pid)

    threads = [threading.Thread(target=one) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert len(pids) == 1 and old.pid not in pids

"""No request waits for longer than it said, whatever the daemon does."""

import asyncio
import os
import shutil
import socket
import tempfile
import threading
from pathlib import Path

import pytest

from mirage.errors import DeadlinePassed
from mirage.link import AsyncClient, Client, async_client, client, paths, protocol
from mirage.link.requests import Requests

LARGE = "x" * (8 << 20)  # more than the system keeps for a reader


@pytest.fixture
def hanging(monkeypatch):
    """A daemon that greets and then does nothing, not even read."""
    folder = Path(tempfile.mkdtemp(prefix="mirage-test-"))
    monkeypatch.setenv("MIRAGE_HOME", str(folder))
    for module in (async_client, client):
        monkeypatch.setattr(module, "GRACE_S", 0.0)
    paths.ensure_private(paths.runtime_dir())
    held = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(paths.socket_path()))
        listener.listen()

        def greet():
            connection, _ = listener.accept()
            held.append(connection)
            connection.recv(4096)
            welcome = protocol.unstructure(protocol.Welcome(protocol.VERSION, "0", 1, 0.0))
            connection.sendall(protocol.encode({"type": "reply", "id": 1, "body": welcome}))

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        yield
        thread.join(10)
        for connection in held:
            connection.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("text", ["", LARGE])
def test_a_daemon_that_hangs_costs_the_deadline_and_no_more(hanging, text):
    with Client.connect(start_daemon=False) as blocking, pytest.raises(DeadlinePassed):
        blocking.perform(Requests.lookup, protocol.Lookup(text, "a.py", "f"), 0.2)


@pytest.mark.parametrize("text", ["", LARGE])
def test_nor_does_it_cost_more_with_await(hanging, text):
    async def main():
        async with AsyncClient(start_daemon=False) as one:
            with pytest.raises(DeadlinePassed):
                await asyncio.wait_for(one.perform(Requests.lookup, protocol.Lookup(text, "a.py", "f"), 0.2), 5.0)

    asyncio.run(main())

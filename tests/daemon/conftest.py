"""A daemon in a thread of this process, with an injected job, in a home of its own."""

import asyncio
import contextlib
import shutil
import sys
import tempfile
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from waiting import LIMIT_S

from mirage.link import Client, paths
from mirage.results.codec import unstructure
from mirage.results.result import Result
from mirage_daemon.cache_store import SqliteStore
from mirage_daemon.connection import ConnectionLimits
from mirage_daemon.lifecycle import listen
from mirage_daemon.server import Server

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))  # short runs of the long ones are tests
TEXT = """\
import mirage
import torch


@mirage.optimize(inputs=[((16, 64), "fp16")])
def f(x):
    return torch.softmax(x, dim=-1)


@mirage.optimize(inputs=[((16, 64), "fp16")])
def g(x):
    return torch.relu(x)
"""


def kernel(payload, **more):
    """What a worker answers for a kernel."""
    name = payload["function"]
    found = Result(function=name, answer="kernel", reason="", inputs=(), program_key="p" * 64, source=f"# {name}")
    return {"result": unstructure(replace(found, **more))}


class House:
    """`with house(run_job):` serves; `client()` connects to it. `runs` are the payloads of the jobs that ran."""

    def __init__(self, run_job, **options):
        self.runs, self._given, self._options = [], run_job, {"workers": 2, "idle_s": 60.0, **options}
        self._ready, self._clients = threading.Event(), contextlib.ExitStack()

    def _run_job(self, payload, progress, cancel):
        self.runs.append(payload)
        return self._given(payload, progress, cancel)

    async def _main(self):
        listener = listen(paths.socket_path())
        make_store = partial(SqliteStore, paths.data_dir())
        self.server = Server(make_store, self._run_job, **self._options)
        self.loop = asyncio.get_running_loop()
        self._ready.set()
        await self.server.serve(listener)
        paths.socket_path().unlink(missing_ok=True)  # from Python 3.13 on, asyncio does it

    def __enter__(self):
        paths.ensure_private(paths.runtime_dir())
        paths.ensure_private(paths.data_dir())
        self.thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)
        self.thread.start()
        assert self._ready.wait(LIMIT_S)
        return self

    def __exit__(self, *_):
        self._clients.close()
        with contextlib.suppress(RuntimeError):  # its loop is closed when it ended by itself
            self.loop.call_soon_threadsafe(self.server.stop)
        self.thread.join(LIMIT_S)
        assert not self.thread.is_alive()

    def client(self):
        return self._clients.enter_context(Client.connect(start_daemon=False))


@pytest.fixture
def home(monkeypatch):
    """A home short enough for a socket's path."""
    folder = Path(tempfile.mkdtemp(prefix="mirage-test-"))
    monkeypatch.setenv("MIRAGE_HOME", str(folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def house(home):
    return House


@pytest.fixture
def text():
    return TEXT


@pytest.fixture
def answer():
    return kernel


@pytest.fixture
def limits():
    return ConnectionLimits

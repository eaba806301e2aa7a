from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked_server import ForkedServer
from lsp_client import Editor, started_server
from lsp_daemon import FakeDaemon


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder for the daemon's socket with a path short enough for one."""
    path = Path(tempfile.mkdtemp(prefix="mlsp-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def daemon(home: Path) -> Iterator[FakeDaemon]:
    made = FakeDaemon(home)
    yield made
    made.close()


@pytest.fixture
def editor(home: Path) -> Iterator[Editor]:
    """A server that is not initialized yet. Nothing but messages may have come from it."""
    yield from _served(Editor(ForkedServer(home)))


@pytest.fixture
def started_editor(home: Path) -> Iterator[Editor]:
    """The same with a server that is started as an editor starts it, for how a process begins and ends."""
    yield from _served(Editor(started_server(home)))


def _served(made: Editor) -> Iterator[Editor]:
    yield made
    made.kill()
    assert made.garbage == b""

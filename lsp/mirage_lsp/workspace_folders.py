"""The workspace's folders, registered with the daemon.

The daemon then knows of changes before a file is opened, also of saves in another editor and of a checkout of another branch.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from mirage.errors import MirageError
from mirage.link.async_client import AsyncClient
from mirage.link.protocol import Welcome

log = logging.getLogger(__name__)


class DaemonLink(AsyncClient):
    """The daemon's client. `on_connect` is called once for each connection."""

    def __init__(self, *, start_daemon: bool, name: str = "lsp") -> None:
        super().__init__(start_daemon=start_daemon, name=name)
        self.on_connect: Callable[[], object] = lambda: None
        self._greeted: Welcome | None = None

    async def connect(self) -> Welcome:
        welcome = await super().connect()
        if welcome is not self._greeted:
            self._greeted = welcome
            self.on_connect()
        return welcome


class Folders:
    """`wanted()` gives the folders to watch, the interpreter and the target; no folders while nothing may run. A daemon
    forgets them when it ends, so each connection registers them again; none is made for that."""

    def __init__(self, client: DaemonLink, wanted: Callable[[], tuple[list[str], str, str]]) -> None:
        self._client, self._wanted = client, wanted
        self._known: dict[str, tuple[str, str]] = {}  # root -> interpreter and target, as this connection registered it
        self._tasks: set[asyncio.Task[None]] = set()
        client.on_connect = self._connected

    def _connected(self) -> None:
        self._known.clear()
        self.look()

    def look(self) -> None:
        """What is wanted may have changed: tell the daemon, if there is a connection."""
        if not self._client.connected:
            return
        roots, interpreter, target = self._wanted()
        for root in self._known.keys() - set(roots):
            del self._known[root]
            self._begin(self._client.unwatch(root))
        for root in roots:
            if self._known.get(root) != (interpreter, target):
                self._known[root] = (interpreter, target)
                self._begin(self._client.watch(root, trusted=True, interpreter=interpreter, target=target))

    def _begin(self, request: Awaitable[object]) -> None:
        task = asyncio.ensure_future(_quietly(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()


async def _quietly(request: Awaitable[object]) -> None:
    """Nobody waits for it: without it a save elsewhere is seen when its file is opened."""
    try:
        await request
    except MirageError as error:
        log.info("a folder is not watched: %s", error)


def watchable(path: str | None) -> bool:
    """Whether a workspace's folder is a project: neither all of the disk nor all of the user's."""
    if not path or not os.path.isdir(path):
        return False
    real = Path(path).resolve()
    return real != Path.home().resolve() and real.parent != real and real not in Path.home().resolve().parents

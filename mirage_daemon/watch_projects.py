"""Watching projects: a save that changes a decorated function submits it, and nothing else costs anything."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from mirage.errors import DaemonBusy, MirageError
from mirage.link.answers import WatchedProject
from mirage_daemon.watched_project import FunctionChange, Project

log = logging.getLogger("mirage.daemon.watch")
QUIET_S, LATEST_S = 0.2, 2.0  # a batch is read once nothing came for so long, at the latest after so long
MAX_TOUCHED = 20_000  # paths in a batch; beyond that the tree is read anew
MAX_PROJECTS = 32
P = ParamSpec("P")
T = TypeVar("T")
ROOTS_EVERY_S = 2.0  # no event tells that another folder has a root's name now


class Watcher:
    """All projects. Made inside the event loop; `submit` is awaited for one change after the other."""

    def __init__(self, submit: Callable[[FunctionChange], Awaitable[None]]) -> None:
        self._submit, self._loop = submit, asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mirage-watch")
        self._projects: dict[str, Project] = {}
        self._lock = threading.Lock()
        self._touched: dict[str, set[str]] = {}  # by root; guarded by the lock, as are the next three
        self._lost: set[str] = set()
        self._first = self._last = 0.0
        self._armed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._one_batch = asyncio.Lock()
        self._begin(self._watch_roots())

    async def add(self, root: str, interpreter: str, target: str) -> WatchedProject:
        """Watch a root; its row. A root that is watched already gets the new interpreter and target."""
        project = self._projects.get(root)
        if project is not None:
            project.interpreter, project.target = interpreter, target
            await self._look_at_root(project)
            return project.row()
        if len(self._projects) >= MAX_PROJECTS:
            raise DaemonBusy(f"{MAX_PROJECTS} projects are watched")
        try:
            project = Project(
                root, interpreter, target, lambda path: self._touch(root, path), lambda: self._touch(root, None)
            )
        except OSError as e:
            raise DaemonBusy(f"the system does not let {root} be watched: {e.strerror}") from None
        self._projects[root] = project
        await self._in_thread(project.begin)
        log.info("watching %s", project.row())
        return project.row()

    async def remove(self, root: str) -> bool:
        project = self._projects.pop(root, None)
        if project is not None:
            await self._in_thread(project.close)
        return project is not None

    def watches(self, path: str) -> bool:
        """Whether a path lies in a watched root."""
        return any(path.startswith(root + os.sep) for root in self._projects)

    def rows(self) -> list[WatchedProject]:
        return [project.row() for project in self._projects.values()]

    def learned(self, path: str, function: str) -> None:
        """A running program said what a function is called with: one that waited for that can be submitted."""
        for project in self._projects.values():
            if path.startswith(project.root + os.sep):
                self._begin(self._submit_learned(project, path, function))
                return

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        for root in list(self._projects):
            await self.remove(root)
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(self, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        return await self._loop.run_in_executor(self._thread, partial(call, *arguments, **named))

    async def _watch_roots(self) -> None:
        while True:
            await asyncio.sleep(ROOTS_EVERY_S)
            for project in list(self._projects.values()):
                await self._look_at_root(project)

    async def _look_at_root(self, project: Project) -> None:
        if await self._in_thread(project.replaced):
            self._touch(project.root, None)

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _touch(self, root: str, path: str | None) -> None:
        """In the notifier's thread: note a path (None: any may have changed); a timer reads it when things are quiet."""
        now = time.monotonic()
        with self._lock:
            paths = self._touched.setdefault(root, set())
            if path is None or len(paths) >= MAX_TOUCHED:
                self._lost.add(root)
            else:
                paths.add(path)
            self._last = now
            if self._armed:
                return
            self._armed, self._first = True, now
        try:
            self._loop.call_soon_threadsafe(self._loop.call_later, QUIET_S, self._settle)
        except RuntimeError:  # the loop is closed: the daemon ends
            return

    def _settle(self) -> None:
        with self._lock:
            now = time.monotonic()
            wait = min(self._last + QUIET_S, self._first + LATEST_S) - now
            if wait > 0:
                self._loop.call_later(wait, self._settle)
                return
            touched, lost, self._touched, self._lost, self._armed = self._touched, self._lost, {}, set(), False
        self._begin(self._batch(touched, lost))

    async def _batch(self, touched: dict[str, set[str]], lost: set[str]) -> None:
        async with self._one_batch:
            for root, paths in touched.items():
                project = self._projects.get(root)
                if project is None:
                    continue
                look = project.again if root in lost else lambda p=project, q=paths: p.look(q)
                try:
                    changes = await self._in_thread(look)
                except Exception:  # a mistake of ours: the next save is read again
                    log.exception("%s cannot be read", root)
                    continue
                for change in changes:
                    await self._send(project, change)

    async def _submit_learned(self, project: Project, path: str, function: str) -> None:
        change = await self._in_thread(project.without_shapes, path, function)
        if change is not None:
            await self._send(project, change)

    async def _send(self, project: Project, change: FunctionChange) -> None:
        try:
            await self._submit(change)
            project.submitted += 1
        except MirageError as e:  # half-written, or it waits for its shapes: the editor says it to whoever writes it
            log.info("%s: `%s` is not submitted: %s", change.path, change.function, e.message)
        except Exception:  # a mistake of ours with one function is none of the others'
            log.exception("%s: `%s` is not submitted", change.path, change.function)

"""`mirage optimize` through the daemon: known results come from its cache, several functions are worked on side by side, and Ctrl-C
cancels the jobs."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from types import TracebackType

from mirage.errors import (
    ClusterFault,
    DaemonReplaced,
    DaemonUnavailable,
    DeadlinePassed,
    MirageError,
    UnknownJob,
)
from mirage.link.answers import Outcome
from mirage.link.client import Client
from mirage.link.request_parameters import SearchOptions
from mirage.results.codec import structure
from mirage.results.progress import Progress
from mirage.results.result import Result

SHOWN = ("over", "tuning", "verifying", "searching", "tracing", "queued")  # states of the functions to come, in words
TRIES = 3  # a daemon that ends under a question is started again, and goes on from its last checkpoint


def connected(cluster: str) -> Client:
    """A client of the daemon, started if none runs. ClusterFault where a `cluster` is named and the daemon runs without that one."""
    client = Client.connect(cluster=cluster)
    if cluster:
        try:
            have = [node["name"] for node in client.status()["nodes"] if node["role"] == "cluster"]
        except BaseException:
            client.close()
            raise
        if cluster not in have:
            client.close()
            raise ClusterFault(
                f"the daemon that runs has {'the cluster at ' + have[0] if have else 'no cluster'}, not the one at {cluster}",
                next_step="run `mirage daemon stop`, then the same command again",
            )
    return client


class Daemon:
    """The daemon, started if none runs; a context manager. DaemonUnavailable when there is none and none can start; with a `cluster`
    also ClusterFault, where the one that runs is without it."""

    def __init__(self, cluster: str = "") -> None:
        self._cluster, self._begun = cluster, dict[tuple[str, str], str]()  # (path, function) -> job
        self._watching: Client | None = None  # a connection beside the one that waits for an answer
        self._looks = threading.Lock()  # one thread at a time on it
        try:
            self._client: Client | None = connected(cluster)
        except DeadlinePassed:
            raise DaemonUnavailable("the daemon does not answer", next_step="run `mirage daemon stop`") from None

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        if kind is not None and self._client is not None:  # nobody waits any more for what was begun
            for job in self._begun.values():
                with contextlib.suppress(MirageError):
                    self._client.cancel(job)
        self._close()

    def others(self) -> str:
        """In words, how far the functions are that were begun and are not asked for yet; "" where there are none, or nobody says."""
        wanted = set(self._begun.values())
        if not wanted or not self._looks.acquire(blocking=False):
            return ""
        try:
            if self._watching is None:
                self._watching = Client.connect(start_daemon=False)
            jobs = self._watching.status()["jobs"]
        except MirageError:  # whoever waits for an answer meets it too
            self._watching = None
            return ""
        finally:
            self._looks.release()
        states = Counter(job["state"] for job in jobs if job["job"] in wanted)
        states["over"] = len(wanted) - states.total()
        return "then " + ", ".join(f"{states[state]} {state}" for state in SHOWN if states[state])

    def _close(self) -> None:
        self._begun.clear()
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.close()
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def begin(self, text: str, path: str, function: str, target: str, options: SearchOptions) -> None:
        """Ask a question whose answer is wanted later. What is wrong with it is raised then."""
        if self._client is not None and (path, function) not in self._begun:
            with contextlib.suppress(MirageError):
                self._begun[path, function] = self._submit(self._client, text, path, function, target, options)

    def optimize(
        self,
        text: str,
        path: str,
        function: str,
        target: str,
        options: SearchOptions,
        report: Callable[[Progress], None],
    ) -> Result:
        """The result, or the error that the same question raises in this process."""
        for left in reversed(range(TRIES)):
            try:
                if self._client is None:
                    self._client = connected(self._cluster)
                outcome = self._follow(self._client, text, path, function, target, options, report)
                break
            except (DaemonUnavailable, DaemonReplaced, UnknownJob):
                self._close()
                if not left:
                    raise
        if outcome["result"] is not None:
            return structure(outcome["result"], Result)
        raise MirageError.from_dict(outcome["error"] or {})

    def _follow(
        self, client: Client, text: str, path: str, function: str, target: str, options: SearchOptions,
        report: Callable[[Progress], None],
    ) -> Outcome:  # fmt: skip
        begun = self._begun.pop((path, function), "")
        job = begun or self._submit(client, text, path, function, target, options)
        try:
            return client.subscribe(job, lambda e: report(Progress(e.state, e.counts, e.best)))
        except KeyboardInterrupt:
            with contextlib.suppress(MirageError):
                client.cancel(job)
            raise

    @staticmethod
    def _submit(client: Client, text: str, path: str, function: str, target: str, options: SearchOptions) -> str:
        """The job's name."""
        said = os.fsencode(path).decode("utf-8", "replace")  # a file's name need not be text
        return client.submit(
            text, said, function, target=target, priority=0, interpreter=sys.executable, options=options
        )["job"]

"""`mirage optimize` through the daemon: known results come from its cache, and Ctrl-C cancels the job."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from types import TracebackType

from mirage.errors import (
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

TRIES = 3  # a daemon that ends under a question is started again, and goes on from its last checkpoint


class Daemon:
    """The daemon, started if none runs; a context manager. DaemonUnavailable when there is none and none can start."""

    def __init__(self) -> None:
        try:
            self._client: Client | None = Client.connect()
        except DeadlinePassed:
            raise DaemonUnavailable("the daemon does not answer", next_step="run `mirage daemon stop`") from None

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._close()

    def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

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
                    self._client = Client.connect()
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
        said = os.fsencode(path).decode("utf-8", "replace")  # a file's name need not be text
        job = client.submit(
            text, said, function, target=target, priority=0, interpreter=sys.executable, options=options
        )["job"]
        try:
            return client.subscribe(job, lambda e: report(Progress(e.state, e.counts, e.best)))
        except KeyboardInterrupt:
            with contextlib.suppress(MirageError):
                client.cancel(job)
            raise

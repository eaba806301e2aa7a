"""The real thing: a daemon that is killed while it searches for an example, and the next one that ends the search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from daemonbench.rows import Daemon, Row, at_least, row
from mirage.errors import DaemonUnavailable
from mirage.source.detect import find

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "qknorm_attention.py"
PARTS_BEFORE = 2
WAIT_S = 600.0


def optimized(parts_before_kill: int | None) -> tuple[dict[str, Any], float]:
    """The result, and the seconds from the last start to it. With a number the daemon is killed once so many parts are
    finished, and nobody asks the next one for the function."""
    text = EXAMPLE.read_text()
    name = find(text, str(EXAMPLE)).functions[0].name
    with Daemon("") as daemon:
        daemon.start()

        def seen(event: Any) -> None:
            if parts_before_kill is not None and event.counts.parts >= parts_before_kill:
                daemon.kill()

        began = time.monotonic()
        with suppress(DaemonUnavailable), daemon.client() as client:
            outcome = client.subscribe(client.submit(text, str(EXAMPLE), name)["job"], on_event=seen)
            return outcome["result"], time.monotonic() - began
        began = daemon.start()
        while time.monotonic() - began < WAIT_S:
            with daemon.client() as client:
                found = client.lookup(text, str(EXAMPLE), name)
            if found is not None:
                return found, time.monotonic() - began
            time.sleep(0.2)
    raise TimeoutError("the search did not end")


def rows(_: int) -> Iterator[Row]:
    whole, whole_s = optimized(None)
    again, again_s = optimized(PARTS_BEFORE)
    yield row("resumed: an example's search, parts", whole["search"]["parts"])
    yield at_least("resumed: parts taken from the checkpoint", again["search"]["resumed"], "", 1)
    same = whole["source"] == again["source"] and whole["answer"] == again["answer"]
    yield row("resumed: the same answer as without the kill", same, "", "== 1", same)
    yield row("resumed: whole run", whole_s, "s")
    yield row("resumed: from the restart to the result, nobody asking", again_s, "s")

"""Workers that harm themselves: each is contained, other jobs do not notice, and nothing is left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

from daemonbench.rows import Daemon, Row, at_most, row, text
from daemonbench.served import FAULTS, IDLE_S

WARMUP = 16
# how each ends: the code of its error, None where the job comes to its end in spite of it. So much output takes some time, in
# which the job may run into its deadline.
ENDS: dict[str, tuple[str | None, ...]] = {
    "segfault": ("MIR400",), "killed": ("MIR400",), "memory": ("MIR405",), "hang": ("MIR401",), "deaf": ("MIR401",),
    "bomb": ("MIR400",), "output": (None, "MIR401"), "pickle": ("MIR501",),
}  # fmt: skip


def rows(faults: int) -> Iterator[Row]:
    kinds = list(FAULTS)
    harmed, ended = 0, Counter[tuple[str, str]]()
    slowest = 0.0
    with Daemon("faults") as daemon:
        daemon.start()
        with daemon.client() as client, daemon.client() as other:
            before: tuple[float, int] = (0.0, 0)
            for i in range(WARMUP + faults):
                kind = kinds[i % len(kinds)]
                name, well = f"{kind}_{i}", f"well_{i}"
                began = time.monotonic()
                job = client.submit(text(name), "/p/a.py", name)["job"]
                good = other.submit(text(well), "/q/b.py", well)["job"]
                outcome = client.subscribe(job)
                fine = other.subscribe(good)["state"] == "done"
                if i < WARMUP:
                    if i == WARMUP - 1:
                        before = (daemon.memory(), daemon.descriptors())
                    continue
                slowest = max(slowest, time.monotonic() - began)
                code = None if outcome["error"] is None else outcome["error"]["code"]
                sound = code in ENDS[kind] and (outcome["state"] == "done") == (code is None)
                ended[kind, "as it should" if sound else f"{outcome['state']} {code}"] += 1
                harmed += not fine
            time.sleep(IDLE_S * 2 + 1)
            left = len(daemon.workers())
            grown, more = daemon.memory() - before[0], daemon.descriptors() - before[1]
            alive = daemon.process is not None and daemon.process.poll() is None
    yield row("faults: in a row", faults)
    for (kind, how), times in sorted(ended.items()):
        yield row(f"faults: {kind} ended {how}", times)
    contained = sum(times for (_, how), times in ended.items() if how == "as it should")
    yield row("faults: contained, each with its code", contained, "", f"== {faults}", contained == faults and alive)
    yield at_most("faults: other jobs harmed", harmed, "", 0)
    yield at_most("faults: processes left", left, "", 0)
    yield at_most("faults: the daemon's memory has grown", grown, "MiB", 50)
    yield at_most("faults: the daemon's descriptors have grown", more, "", 0)
    yield row("faults: the slowest, two tries and a good job beside it", slowest, "s")

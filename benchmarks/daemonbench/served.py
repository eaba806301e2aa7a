"""A daemon whose jobs are the benchmark's: `python served.py MODE LOG`, everything else is the real one."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "core"), str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from mirage.errors import WorkerDied  # noqa: E402
from mirage.isolate import Worker  # noqa: E402
from mirage.results.codec import unstructure  # noqa: E402
from mirage.results.progress import CancelToken  # noqa: E402
from mirage.results.result import Result  # noqa: E402
from mirage_daemon.jobs import Report  # noqa: E402
from mirage_daemon.lifecycle import main  # noqa: E402
from mirage_daemon.worker_pool import WorkerPool  # noqa: E402

SEARCHED = Path(__file__).with_name("searched.py")
WORKERS = 2  # as on four cores: one job beside another
MEMORY, FAULT_S, IDLE_S = 1 << 30, 2.0, 1.0
Job = Callable[[dict[str, Any], Report, CancelToken], dict[str, Any]]
_lock = threading.Lock()


def note(*words: object) -> None:
    """A line that a kill of this process does not take back."""
    with _lock, open(sys.argv[2], "a") as f:
        f.write(" ".join(map(str, words)) + "\n")


def answer(payload: dict[str, Any]) -> dict[str, Any]:
    """What is right for this function, and for no other."""
    digest = hashlib.sha256(payload["text"].encode()).hexdigest()
    return {"result": unstructure(Result(payload["function"], "kernel", "", (), digest, source=f"# {digest}"))}


def short(payload: dict[str, Any], progress: Report, cancel: CancelToken) -> dict[str, Any]:
    """A few milliseconds of work."""
    note("ran", payload["function"])
    time.sleep(random.uniform(0.005, 0.05))
    cancel.check()
    return answer(payload)


def slow(payload: dict[str, Any], progress: Report, cancel: CancelToken) -> dict[str, Any]:
    """Four seconds of work for a function whose name begins with `large`, else `short`."""
    for _ in range(400 if payload["function"].startswith("large") else 0):
        time.sleep(0.01)
        cancel.check()
    return short(payload, progress, cancel)


def searching(payload: dict[str, Any], progress: Report, cancel: CancelToken) -> dict[str, Any]:
    """A real search in a process of its own for a function whose name begins with `search`, else `short`."""
    if not payload["function"].startswith("search"):
        return short(payload, progress, cancel)
    known, name = payload["checkpoint"], payload["function"]
    note("began", name, sum(map(len, known.values())))
    with subprocess.Popen([sys.executable, str(SEARCHED)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(known).encode())
        process.stdin.close()
        for line in process.stdout:
            event = json.loads(line)
            if "searched" in event:
                note("searched", name, event["searched"])
            elif "ended" in event:
                note("ended", name, *event["ended"])
            else:
                progress(event)
                if "part" in event:
                    note("kept", name, event["part"]["name"])  # it is durable now
    cancel.check()
    if process.returncode != 0:
        raise WorkerDied(f"the search ended with status {process.returncode}")
    return answer(payload)


# what a worker does to itself (mirage.isolate.worker_selftest), by the first word of the function's name
FAULTS: dict[str, dict[str, Any]] = {
    "segfault": {"action": "crash"},
    "killed": {"action": "crash", "signal": 9},
    "memory": {"action": "allocate", "bytes": 3 << 30},
    "hang": {"action": "sleep", "seconds": 600},
    "deaf": {"action": "sleep", "seconds": 600, "ignore_terminate": True},
    "bomb": {"action": "bomb", "depth": 6},
    "output": {"action": "print", "bytes": 1 << 29},  # on each of two descriptors
    "pickle": {"action": "forge", "bytes": b"\x00\x00\x00\x04\x80\x04]."},
}


def faulty(pool: WorkerPool) -> Job:
    """A worker of the pool that harms itself as the function's name says, or does a small thing well."""

    def job(payload: dict[str, Any], progress: Report, cancel: CancelToken) -> dict[str, Any]:
        body = FAULTS.get(payload["function"].split("_")[0], {"action": "echo", "value": 1})
        pool.run_job({**body, "interpreter": sys.executable}, progress, cancel)
        return answer(payload)

    return job


def serve(mode: str) -> int:
    if mode == "faults":
        make = partial(Worker, memory_bytes=MEMORY)
        with WorkerPool("selftest", make=make, timeout_s=FAULT_S, idle_s=IDLE_S) as pool:
            return main(job=faulty(pool), workers=WORKERS)
    return main(job={"search": searching, "short": short, "slow": slow}[mode], workers=WORKERS)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(serve(sys.argv[1]))

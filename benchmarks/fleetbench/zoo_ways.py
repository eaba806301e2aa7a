"""Functions of the zoo by one worker, by a daemon with all of this machine's, and by one with a cluster's nodes too: how many answers in
how long, and for which part of that the GPU was busy."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from typing import Any

from daemonbench.process import Daemon
from zoo import every_function
from zoo.rows import with_one_row

from fleetbench.functions import AskedFunction
from fleetbench.nodes import LocalNodes
from fleetbench.ways import Kept
from mirage.isolate.cores import usable_cores
from mirage.link import Client

DAEMON = (
    "import sys; from mirage_daemon.lifecycle import main; sys.exit(main(workers={workers}, cluster_address={at!r}))"
)
WAYS = ("one worker", "one daemon", "a cluster")
NODES = 4
LOOK_S = 0.2
SAMPLE_MS = 200
# Those whose timing on a GPU takes least, of what was measured in `results/h200-zoo.json`, without those that take minutes
MATCH = (
    "quantization/fp8_tensor_scale,quantization/smooth_quant,optimizers/sgd_momentum,language/per_layer_scale,"
    "quantization/int8_groupwise,quantization/fp8_block_linear,recommendation/embedding_bag_sum,language/logits_soft_cap,"
    "mixture_of_experts/shared_expert_gate,sampling/gumbel_softmax"
)
Row = dict[str, Any]


def wanted(match: str) -> list[AskedFunction]:
    """The functions of the zoo whose FAMILY/NAME one of the patterns means, each with its last row of inputs."""
    found = []
    for f in every_function():
        if any(fnmatch(f"{f.family}/{f.name}", pattern) for pattern in match.split(",")):
            text = with_one_row(f.path.read_text(), len(f.rows) - 1)
            found.append(AskedFunction(f"{f.family}/{f.name}", text, str(f.path), f.function_name))
    return found


@contextmanager
def gpu_busy(shares: list[float]) -> Iterator[None]:
    """Adds the shares of the time in which a kernel ran, as `nvidia-smi` samples them; none where there is no such command."""
    if shutil.which("nvidia-smi") is None:
        yield
        return
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", f"--loop-ms={SAMPLE_MS}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield
        finally:
            process.terminate()
            said, _ = process.communicate()
            shares += [int(line) / 100 for line in said.split() if line.isdigit()]


def run(functions: list[AskedFunction], way: str, most_s: float) -> Row:
    """All functions asked for at once, until the last answer or for so many seconds."""
    cores = usable_cores()
    if way != "a cluster":
        return _asked(functions, way, 1 if way == "one worker" else max(1, cores // 2), "", most_s)
    with LocalNodes(min(NODES, cores), processors=max(1, cores // 2 // NODES)) as nodes:
        return _asked(functions, way, max(1, cores // 2), nodes.address, most_s)


def _asked(functions: list[AskedFunction], way: str, workers: int, at: str, most_s: float) -> Row:
    answers: dict[str, Row] = {}
    shares: list[float] = []
    with Daemon(DAEMON.format(workers=workers, at=at)), Client.connect(start_daemon=False) as client, gpu_busy(shares):
        began = time.monotonic()
        jobs = {
            client.submit(f.text, f.path, f.function, trusted=True, interpreter=sys.executable)["job"]: f.name
            for f in functions
        }
        while (left := set(jobs) - set(answers)) and time.monotonic() - began < most_s:
            over = {job["job"]: job["state"] for job in client.status()["ended"]}
            for job in left & set(over):
                outcome = client.result(job)
                said = outcome["result"]["answer"] if outcome["result"] else (outcome["error"] or {}).get("code", "")
                answers[job] = {"name": jobs[job], "answer": said, "at_s": round(time.monotonic() - began, 1)}
                print(f"{way}: {answers[job]}", file=sys.stderr, flush=True)
            time.sleep(LOOK_S)
        for job in left:
            client.cancel(job)
    return {"zoo": way, "asked": len(jobs), "workers": workers, "answers": list(answers.values()), "busy": shares}


def measure(match: str, most_s: float, kept: Kept, only: list[str]) -> None:
    functions = wanted(match)
    for way in only:
        if not kept.find(zoo=way):
            kept.add(run(functions, way, most_s))


def rate(found: Row) -> float:
    """Answers a second, until the last one."""
    return len(found["answers"]) / max((a["at_s"] for a in found["answers"]), default=float("inf"))


def busy(found: Row) -> float:
    """The share of the time that the GPU worked, where somebody looked."""
    return statistics.mean(found["busy"])

"""Whole models on a GPU: one decode step and a prefill by `torch.compile(backend="mirage")`, beside Inductor and eager, all in CUDA graphs.

    python benchmarks/decode.py [--models NAME...] [--cases NAME...] [--layers N] [--seconds S] [--attention sdpa|gqa|written] [--first]
                                [--quick] [--json] [--out FILE]

The models are those of `decoding/models.py`, in bf16. Cases: decode1 and decode8 (a token for 1 or 8 sequences, behind 1,023 in the
cache) and prefill512. A daemon of its own (MIRAGE_HOME) searches while the program waits, and is stopped before anything is timed. Peers
are Inductor's max-autotune and eager; each is captured in one CUDA graph, and the graphs run in turns. --first leaves no compiler its cache
of what the one before it compiled, so that the times to the first answer compare. Each case has --seconds, of which waiting for the
daemon leaves the last quarter. --quick runs tiny models on the CPU, where no region has a kernel. With --out the report is written after
each case, and cases that are in the file are not run again.

Rows of MODEL/CASE: speedup/ (the better peer's time over ours, medians), us/WAY, spread/WAY (quartiles' distance over the median),
seconds/first_WAY (to the first answer), seconds/decided (until every region has an answer) and seconds/swapped (the call that puts the
kernels in), regions, taken (of them), host/WAY (µs of a call without a graph until it returns), error/WAY (the largest of the logits
against float64, over the largest logit, models of 2 layers), within/ (our error over eager's), graphs (Dynamo's graphs, beyond Inductor's).
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "benchmarks")]

import torch  # noqa: E402
from decoding.models import MODELS, TINY, Cache, Decoder, Shape, made  # noqa: E402
from torch._dynamo.backends.registry import list_backends, register_backend  # noqa: E402
from torch._dynamo.utils import counters  # noqa: E402
from torch._inductor.utils import fresh_cache  # noqa: E402

import mirage  # noqa: E402
from mirage.dynamo.backend import backend as mirage_backend  # noqa: E402

ROUNDS, CALLS = 31, 20
BURSTS, HOST_CALLS = 40, 5
LOOK_S = 4.0
SHORT = 2  # layers of the models whose logits are compared with float64
ALLOWED = 1.2  # our largest error over eager's


@dataclass(frozen=True)
class Case:
    """`rows` tokens for each of `batch` sequences; they end a cache of `length`."""

    batch: int
    rows: int
    length: int


CASES = {"decode1": Case(1, 1, 1024), "decode8": Case(8, 1, 1024), "prefill512": Case(1, 512, 512)}
QUICK = {"decode1": Case(1, 1, 16), "decode8": Case(8, 1, 16), "prefill512": Case(1, 8, 8)}
Inputs = tuple[torch.Tensor, torch.Tensor, Cache]
Model = Callable[..., torch.Tensor]


@dataclass(frozen=True)
class Row:
    name: str
    value: float
    unit: str
    bound: str | None = None
    ok: bool = True


class Rows:
    """The rows of one case, each printed when it is known."""

    def __init__(self, name: str) -> None:
        self.name, self.found = name, list[Row]()

    def add(self, name: str, value: float, unit: str, bound: str | None = None) -> None:
        sign, _, limit = (bound or "").partition(" ")
        ok = {"<=": lambda: value <= float(limit), ">=": lambda: value >= float(limit)}.get(sign, lambda: True)()
        kind, _, way = name.partition("/")
        row = Row(f"{kind}/{self.name}" + (f"/{way}" if way else ""), round(value, 5), unit, bound, ok)
        self.found.append(row)
        say(f"{row.name} {row.value} {unit}" + ("" if ok else f"   NOT {bound}"))


START = time.monotonic()


def say(text: str) -> None:
    print(f"[{time.monotonic() - START:7.1f}] {text}", file=sys.stderr, flush=True)


def inputs_of(case: Case, shape: Shape, dtype: torch.dtype, device: str) -> Inputs:
    """Tokens, positions and a cache that holds what came before, the same for every dtype."""
    generator = torch.Generator(device).manual_seed(1)
    tokens = torch.randint(shape.vocabulary, (case.batch, case.rows), generator=generator, device=device)
    at = torch.arange(case.length - case.rows, case.length, device=device)
    cache = Cache(shape, case.batch, case.length, dtype, device)
    for x in (*cache.keys, *cache.values):
        x.copy_(torch.randn(x.shape, generator=generator, device=device, dtype=torch.float32).bfloat16())
    return tokens, at, cache


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def first_answer(run: Model, inputs: Inputs, device: str, fresh: bool) -> float:
    """Seconds of the first call."""
    with fresh_cache() if fresh else contextlib.nullcontext():
        start = time.monotonic()
        run(*inputs)
        synchronize(device)
        return time.monotonic() - start


def captured(run: Model, inputs: Inputs, device: str) -> Callable[[], object]:
    """The call as a CUDA graph; on the CPU the call."""
    if device != "cuda":
        return lambda: run(*inputs)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run(*inputs)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run(*inputs)
    replay: Callable[[], object] = graph.replay
    return replay


def times(runs: dict[str, Callable[[], object]], device: str) -> dict[str, list[float]]:
    """µs of each in every round, in turns."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for i in range(ROUNDS):
        for name in list(runs)[:: 1 if i % 2 else -1]:
            runs[name]()
            synchronize(device)
            start = time.perf_counter()
            for _ in range(CALLS):
                runs[name]()
            synchronize(device)
            found[name].append((time.perf_counter() - start) * 1e6 / CALLS)
    return found


def host_us(run: Model, inputs: Inputs, device: str) -> float:
    best = float("inf")
    for _ in range(BURSTS):
        synchronize(device)
        start = time.perf_counter()
        for _ in range(HOST_CALLS):
            run(*inputs)
        best = min(best, (time.perf_counter() - start) * 1e6 / HOST_CALLS)
    return best


@contextlib.contextmanager
def daemon() -> Iterator[Callable[[], None]]:
    """A running daemon; gives what stops it."""

    def command(word: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "mirage", "daemon", word], capture_output=True, text=True, timeout=60
        )
        say(f"daemon {word}: {(done.stdout + done.stderr).strip()}")

    command("start")
    try:
        yield lambda: command("stop")
    finally:
        command("stop")


def decided(model: Decoder, inputs: Inputs, until: float, rows: Rows) -> None:
    """Wait until each region has an answer; says each when it comes."""
    from mirage.dynamo.region_kernels import ASKED, NOT_ASKED

    begin, seen = time.monotonic(), dict[str, str]()
    while True:
        regions = [r for g in mirage.explain(model, *inputs).graphs for r in g.regions]
        for r in regions:
            word = f"kernel, {r.gain:.2f}" if r.taken else r.reason
            if seen.get(r.name) != word:
                seen[r.name] = word
                say(f"  {r.name} ({r.operators} operators): {word}")
        waiting = {r.name for r in regions if not r.taken and r.reason in (ASKED, NOT_ASKED)}
        if not waiting or time.monotonic() > until:
            break
        time.sleep(LOOK_S)
    if not waiting:
        rows.add("seconds/decided", time.monotonic() - begin, "s", "<= 600")
    rows.add("regions", len(regions), "")
    rows.add("undecided", len(waiting), "", "<= 0")
    rows.add("taken", sum(r.taken for r in regions) / max(1, len(regions)), "of the regions")
    for reason, count in Counter(r.reason for r in regions if not r.taken).most_common():
        say(f"  {count} not taken: {reason}")


def errors(shape: Shape, case: Case, ways: dict[str, Model], way: str, inputs: Inputs, device: str) -> dict[str, float]:
    """The largest error of each way's logits against float64, over the largest logit."""
    wide = made(shape, torch.bfloat16, device, way).double()
    wide.frequencies = made(shape.with_layers(0), torch.float64, device, way).frequencies
    wanted = wide(*inputs_of(case, shape, torch.float64, device))
    scale = wanted.abs().max()
    return {name: float((run(*inputs).double() - wanted).abs().max() / scale) for name, run in ways.items()}


def judged(name: str, shape: Shape, case: Case, args: argparse.Namespace) -> list[Row]:
    rows, device = Rows(name), "cpu" if args.quick else "cuda"
    until = time.monotonic() + 0.75 * args.seconds
    torch._dynamo.reset()
    say(f"{name}: {shape.layers} layers, {case}")
    model = made(shape, torch.bfloat16, device, args.attention)
    inputs = inputs_of(case, shape, torch.bfloat16, device)
    mode = (
        "max-autotune-no-cudagraphs" if device == "cuda" else None
    )  # the graphs are captured here, for all ways alike
    with daemon() as stop:
        ways: dict[str, Model] = {"eager": model}
        graphs = {}
        for way, backend in (("mirage", "mirage"), ("inductor", "inductor")):
            counters.clear()
            ways[way] = torch.compile(model, backend=backend, mode=mode, dynamic=False)
            rows.add(f"seconds/first_{way}", first_answer(ways[way], inputs, device, args.first), "s")
            graphs[way] = counters["stats"]["unique_graphs"]
        rows.add("graphs", graphs["mirage"] - graphs["inductor"], "more than Inductor's", "<= 0")
        decided(model, inputs, until, rows)
        stop()
    time.sleep(1.0)  # behind the last look
    rows.add("seconds/swapped", first_answer(ways["mirage"], inputs, device, False), "s")
    if shape.layers <= SHORT:
        found = errors(shape, case, ways, args.attention, inputs, device)
        for way, error in found.items():
            rows.add(f"error/{way}", error, "of the largest logit")
        rows.add("within", found["mirage"] / max(found["eager"], 1e-12), "of eager's error", f"<= {ALLOWED}")
    for way, run in ways.items():
        rows.add(f"host/{way}", host_us(run, inputs, device), "us")
    measured = times({way: captured(run, inputs, device) for way, run in ways.items()}, device)
    middle = {way: statistics.median(us) for way, us in measured.items()}
    for way, us in measured.items():
        quarters = statistics.quantiles(us, n=4)
        rows.add(f"us/{way}", middle[way], "us")
        rows.add(f"spread/{way}", (quarters[2] - quarters[0]) / middle[way], "")
    bound = None if args.quick else ">= 0.99"
    rows.add("speedup", min(middle["eager"], middle["inductor"]) / middle["mirage"], "x", bound)
    return rows.found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--layers", type=int)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--attention", choices=("sdpa", "gqa", "written"), default="sdpa")
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    logging.basicConfig(format="[logged] %(message)s")
    logging.getLogger("mirage.dynamo").setLevel(logging.INFO)  # which kernels a graph was timed with
    if "mirage" not in list_backends():  # a checkout that is not installed
        register_backend(name="mirage", compiler_fn=mirage_backend)
    known: dict[str, list[Row]] = {}
    if args.out and args.out.exists():
        known = {n: [Row(**r) for r in rows] for n, rows in json.loads(args.out.read_text())["cases"].items()}
    if "MIRAGE_HOME" not in os.environ:
        os.environ["MIRAGE_HOME"] = tempfile.mkdtemp(prefix="mirage-decode-")
    with torch.no_grad():
        for model in args.models:
            shape = (TINY if args.quick else MODELS)[model]
            shape = shape.with_layers(args.layers or shape.layers)
            for case in args.cases:
                name = f"{model}/{case}" + (f"/{args.layers}_layers" if args.layers else "")
                if name not in known:
                    known[name] = judged(name, shape, (QUICK if args.quick else CASES)[case], args)
                report = {
                    "date": datetime.date.today().isoformat(),
                    "device": "cpu" if args.quick else torch.cuda.get_device_name(),
                    "torch": torch.__version__,
                    "cases": {n: [asdict(r) for r in rows] for n, rows in known.items()},
                }
                if args.out:
                    args.out.write_text(json.dumps(report, indent=1) + "\n")
    rows = [r for found in known.values() for r in found]
    if args.json:
        print(json.dumps(report, indent=1))
    else:
        print(
            "\n".join(f"{r.name:60} {r.value:12} {r.unit:24} {r.bound or '':10} {'' if r.ok else 'NOT'}" for r in rows)
        )
    return 0 if all(r.ok for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

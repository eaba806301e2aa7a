"""A daemon with a Ray cluster, all of it on this machine: two nodes of one processor each.

    python benchmarks/fleet.py [--json] [--functions 40] [--rounds 10] [--only compare,kills,cancel,simulate,zoo] [--out FILE]

`compare` does each function by this machine's two workers alone and with the nodes: the answers have to be equal, and the nodes may
cost 15% on the same two processors. `kills` ends a node in the middle, once a round. `cancel` cancels what runs. `simulate` takes
the times that `compare` left in FILE, and those that a GPU took (`benchmarks/results/h200-zoo.json`), for larger fleets. `zoo`,
which only runs when it is named, does some functions of the zoo by one worker, by one daemon and with a cluster, each for at most
--seconds: how many answers in how long, and how busy the GPU was. What stands in FILE is not done again. Needs Ray:
pip install -e '.[cluster]'
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from daemonbench.process import Row, row  # noqa: E402
from fleetbench import failures, simulation, ways, zoo_ways  # noqa: E402
from fleetbench.functions import chosen  # noqa: E402
from fleetbench.nodes import LocalNodes  # noqa: E402
from fleetbench.ways import Kept  # noqa: E402

PARTS = ("compare", "kills", "cancel", "simulate")
ZOO, LEAST_TIMES = "zoo", 3.0
NODES, CANCELS, MOST_OVERHEAD, MOST_CANCEL_S = 2, 5, 0.15, 2.0
FUNCTIONS, LONGER = 1000, (1.0, 10.0)
HERE_PHASES = ("trace", "emission", "verdict", "compile", "explaining")
GPU_PHASES = ("tuning", "baselines")
LAYOUTS = (
    simulation.Layout("one machine of 20 cores, 1 GPU", 1, 10, 1, 0),
    simulation.Layout("the same, and 180 cores of nodes", 1, 10, 1, 180),
    simulation.Layout("one machine of 20 cores, 10 GPUs, and 180 cores of nodes", 1, 10, 10, 180),
    simulation.Layout("one machine of 100 cores, 10 GPUs, and 100 cores of nodes", 1, 50, 10, 100),
    simulation.Layout("ten machines of 20 cores, 1 GPU each", 10, 10, 1, 0),
    simulation.Layout("ten machines of 10 cores, 1 GPU each, and 100 cores of nodes", 10, 5, 1, 100),
)


def compared(kept: Kept) -> Iterator[Row]:
    by_way = {way: {r["name"]: r for r in kept.find(way=way) if "name" in r} for way in ("here", "cluster")}
    here, cluster = by_way["here"], by_way["cluster"]
    names = sorted(set(here) & set(cluster))
    if not names:
        return
    yield row("functions", len(names), "")
    for answer in sorted({r["answer"] for r in here.values()}):
        yield row(f"answers: {answer}", sum(r["answer"] == answer for r in here.values()), "")
    ended = {n for n in names if here[n]["cut"] or cluster[n]["cut"]}
    yield {**row("functions whose search a clock ended, not compared", len(ended), ""), "said": sorted(ended)}
    unequal = ways.unequal(kept)
    yield {**row("answers that differ", len(unequal), "", "== 0"), "said": unequal or ""}
    times = {way: sum(b["wall_s"] for b in kept.find(way=way) if "batch" in b) for way in by_way}
    yield row("two workers alone", times["here"], "s")
    yield row("with two nodes on the same processors", times["cluster"], "s")
    if times["here"]:
        yield row("overhead", times["cluster"] / times["here"] - 1, "", f"<= {MOST_OVERHEAD}")
        used = {way: sum(b["processor_s"] for b in kept.find(way=way) if "batch" in b) for way in by_way}
        yield row("overhead in processor time, Ray's own with it", used["cluster"] / used["here"] - 1, "")
    yield row("searched at the nodes", sum(r["at_nodes_s"] for r in cluster.values()), "s")
    yield row("parts from the nodes", sum(r["bytes"] for r in cluster.values()) / 1e6, "MB")


def failed(kept: Kept) -> Iterator[Row]:
    known = {r["name"]: r for r in kept.find(way="here") if "name" in r}
    right = {n: {r["digest"] for r in kept.rows if r.get("name") == n} for n in known}
    for found in (r for r in kept.rows if "kills" in r):
        answers = found["answers"]
        clock = {n for n, _, ended in answers if ended} | {n for n in known if known[n]["cut"]}
        lost = [n for n, said, _ in answers if n in known and n not in clock and said not in right[n]]
        results = sum(known[n]["answer"].islower() for n, *_ in answers if n in known)
        yield row("rounds in which a node was killed", found["kills"], "")
        yield row("of them with workers on that node", found["working"], "")
        yield row("answers asked for meanwhile", len(answers), "")
        yield {**row("answers lost, or other ones", len(lost), "", "== 0"), "said": lost}
        yield row("results in the cache, but for one for each", found["results"] - results, "", "== 0")
    for found in (r for r in kept.rows if "cancels" in r):
        yield row("cancelled, until the last process ended", max(found["took_s"]), "s", f"<= {MOST_CANCEL_S}")


def zoo(kept: Kept) -> Iterator[Row]:
    found = {r["zoo"]: r for r in kept.rows if "zoo" in r}
    for way, r in found.items():
        last = max((a["at_s"] for a in r["answers"]), default=0.0)
        said = sorted(f"{a['name']} {a['answer']}" for a in r["answers"])
        yield {**row(f"zoo by {way}: answers of {r['asked']}", len(r["answers"]), ""), "said": said}
        yield row(f"zoo by {way}: until the last one", last, "s")
        if r["busy"]:
            yield row(f"zoo by {way}: the GPU was busy", zoo_ways.busy(r), "of the time")
    alone, here, cluster = (found.get(way) for way in zoo_ways.WAYS)
    if here and cluster:
        yield row(
            "answers a second with the cluster, over those of one daemon",
            zoo_ways.rate(cluster) / zoo_ways.rate(here),
            "x",
        )
    if alone and cluster:
        times = zoo_ways.rate(cluster) / zoo_ways.rate(alone)
        yield row("answers a second with the cluster, over those of one worker", times, "x", f">= {LEAST_TIMES}")


def measured_tasks(kept: Kept) -> list[simulation.Task]:
    """The phases of the functions that were done without nodes, in processor seconds: on a busy machine those of a clock are longer."""
    rows = [r for r in kept.find(way="here") if r.get("phases")]
    walls = sum(r["wall_s"] for r in rows)
    share = sum(b.get("processor_s", 0.0) for b in kept.find(way="here") if "batch" in b) / max(walls, 1e-9)
    return [
        simulation.Task(p["search"] * share, sum(p[name] for name in HERE_PHASES) * share, 0.0)
        for p in (r["phases"] for r in rows)
    ]


def simulated(kept: Kept) -> Iterator[Row]:
    measured = measured_tasks(kept)
    on_gpu = json.loads((ROOT / "benchmarks" / "results" / "h200-zoo.json").read_text())["answers"].values()
    gpu = [sum(a["phases"][name] for name in GPU_PHASES) for a in on_gpu if a.get("phases")]
    if not measured:
        return
    yield row("measured: a search, mean", sum(t.search for t in measured) / len(measured), "s")
    yield row("measured: what else a worker does, mean", sum(t.here for t in measured) / len(measured), "s")
    yield row("measured: on a GPU, mean", sum(gpu) / len(gpu), "s")
    for times, gpus in ((t, g) for g in ((), gpu) for t in LONGER):
        tasks = simulation.drawn(measured, gpus, FUNCTIONS, search=times)
        for layout in LAYOUTS:
            found = simulation.simulate(tasks, layout)
            busy = ", ".join(f"{kind} {share:.0%}" for kind, share in found.busy.items())
            name = f"{'timed' if gpus else 'estimated'}, searches x{times:g}: {layout.name}"
            yield {**row(name, found.seconds / 60, "min"), "said": f"{found.bottleneck}; busy: {busy}"}


def measure(options: argparse.Namespace, wanted: set[str], kept: Kept) -> None:
    if ZOO in wanted:
        zoo_ways.measure(options.match, options.seconds, kept, [w for w in zoo_ways.WAYS if fnmatch(w, options.way)])
    if not wanted & {"compare", "kills", "cancel"}:
        return
    functions = chosen(options.functions)
    with LocalNodes(NODES) as nodes:
        if "compare" in wanted:
            ways.compare(functions, nodes.address, kept, options.batches)
        if "kills" in wanted:
            failures.kills(functions, options.rounds, nodes, kept)
        if "cancel" in wanted:
            failures.cancels(min(CANCELS, options.rounds), nodes, kept)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--functions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--batches", type=int, default=1000, help="at most so many batches of `compare` now")
    parser.add_argument("--only", default="")
    parser.add_argument("--match", default=zoo_ways.MATCH, help="of `zoo`: patterns of FAMILY/NAME")
    parser.add_argument("--way", default="*", help=f"of `zoo`: {', '.join(zoo_ways.WAYS)}")
    parser.add_argument("--seconds", type=float, default=280.0, help="of `zoo`: for one way")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    wanted = set(filter(None, options.only.split(","))) or set(PARTS)
    if wanted - {*PARTS, ZOO}:
        parser.error(f"there are {', '.join((*PARTS, ZOO))}")
    kept = Kept(options.out)
    if wanted - {"simulate"}:
        measure(options, wanted, kept)
    found: list[dict[str, Any]] = [*compared(kept), *failed(kept), *zoo(kept)]
    found += simulated(kept) if "simulate" in wanted else ()
    if options.json:
        print(json.dumps({"bench": "fleet", "rows": found}, indent=1))
    else:
        for r in found:
            mark = "" if r["bound"] is None else f"  {'ok' if r['ok'] else 'MISSED'} ({r['bound']})"
            said = f"  {r['said']}" if r.get("said") else ""
            print(f"{r['name']:72} {r['value']:>10g} {r['unit']}{mark}{said}")
    return 0 if all(r["ok"] for r in found) else 1


if __name__ == "__main__":
    logging.disable(logging.INFO)
    raise SystemExit(main())

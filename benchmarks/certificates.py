"""Are certificates replayed, and can a false one be made? Those of known programs, and attacks on them.

python benchmarks/certificates.py [--json] [--count 100] [--batches 1,8,16]

Written and replayed: the examples, the workloads of points.py, and `--count` random programs, each with the µGraph that the search ranks
first. A program whose algebra is not PROVED asks for none. Attacked: each of some certificates changed in one place and
sealed again, certificates of false equalities made by hand, and hostile texts. What is accepted is evaluated in numbers:
a change may leave an equation true, a false one is a fault and is printed on standard error.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from forgery.forged import FALSE, Forge, hostile, sealed  # noqa: E402
from forgery.row_values import all_agree  # noqa: E402
from forgery.tampering import tampered  # noqa: E402
from points import WORKLOADS  # noqa: E402
from program.random_programs import random_programs  # noqa: E402

from mirage.certificates.certificate import NoCertificate, Side, certificate, of_case  # noqa: E402
from mirage.devices.table import device  # noqa: E402
from mirage.errors import MirageError  # noqa: E402
from mirage.mugraph.text import to_text  # noqa: E402
from mirage.pipeline.request import Request, read  # noqa: E402
from mirage.pipeline.search_problems import problems, which  # noqa: E402
from mirage.plan import plan  # noqa: E402
from mirage.profile.roofline import estimate  # noqa: E402
from mirage.search.engine import Bounds, Search  # noqa: E402
from mirage.search.one_row import bounds_for  # noqa: E402
from mirage.source import detect  # noqa: E402
from mirage.verify.judge import Case  # noqa: E402
from mirage.verify.output_terms import Output  # noqa: E402
from mirage.verify.proof.opinion import proof_opinion  # noqa: E402
from mirage_certificate.certificate import check  # noqa: E402
from mirage_certificate.polynomials import Refused  # noqa: E402

TARGET = "sm_90"
ATTACKED = 12  # certificates that are changed in every place
SECONDS = 10.0  # of the processor, for the refusal of a hostile text


@dataclass(frozen=True)
class Program:
    """A decorated function by its text."""

    name: str
    text: str
    function: str


@dataclass(frozen=True)
class Written:
    """A certificate, the bytes of its two files, and the processor seconds of writing and of replaying it."""

    name: str
    data: dict[str, Any]
    files: tuple[bytes, bytes]
    write: float
    replay: float


def programs(count: int, batches: list[int]) -> Iterator[Program]:
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text("utf-8")
        yield from (Program(path.stem, text, f.name) for f in detect.find(text, str(path)).functions)
    for name, workload in WORKLOADS.items():
        yield from (Program(f"{name}/bs{b}", workload.text(name, (b,)), name) for b in batches)
    for seed in range(count):
        (made,) = random_programs(1, seed) if seed else random_programs(1)
        yield Program(f"random {seed}", made.decorated(), made.function)


def case_of(p: Program) -> Case | None:
    """The program with the µGraph that the search ranks first; None if it finds none, or the algebra is not proved."""
    from mirage.program.trace import trace

    dev = device(TARGET)
    found = read(Request(p.text, f"{p.name}.py", p.function))
    program = trace(found.slice.text, p.function, list(found.inputs))
    searches: list[Search] = []
    best: list[Any] = []
    for posed in problems(program):
        searches.append(Search(posed, lambda g: estimate(g, dev), bounds=bounds_for(posed, Bounds(), best)))
        list(searches[-1].run())
        best = sorted([*best, *searches[-1].best], key=lambda c: c.us)
    if not best:
        return None
    problem = searches[which([s.problem for s in searches], best[0].mugraph)].problem
    outputs = [Output(o.tensor, o.term, o.dims) for o in problem.outputs]
    case = Case(problem.t, outputs, plan(best[0].mugraph, dev), "", program, "", "", None, problem.calls)
    proof = proof_opinion(case.t, {o.tensor: (o.term, o.dims) for o in outputs}, case.inner)
    return case if proof is not None and proof.word == "PROVED" else None


def written(p: Program, case: Case) -> Written:
    """The program's certificate, replayed. Raises NoCertificate and Refused."""
    graph = to_text(case.mugraph).encode()
    first, second = Side("function", p.name, p.text.encode()), Side("mugraph", p.name, graph)
    start = time.process_time()
    data = certificate(first, second, [of_case(case, case.mugraph)])
    middle = time.process_time()
    check(json.dumps(data).encode(), first.file, second.file)
    return Written(p.name, data, (first.file, second.file), middle - start, time.process_time() - middle)


@dataclass
class Attacks:
    """What the checker said of attacks: refused; accepted with a true equation; accepted with a false one."""

    refused: int = 0
    true: int = 0
    false: int = 0
    slowest: float = 0.0

    def make(self, name: str, data: bytes, files: tuple[bytes, bytes] | tuple[()] = (), forged: bool = False) -> None:
        start = time.process_time()
        try:
            check(data, *files)
        except Refused:
            self.refused += 1
        else:
            if not forged and all_agree(json.loads(data)):
                self.true += 1
            else:
                self.false += 1
                print(f"ACCEPTED {name}", file=sys.stderr)
        self.slowest = max(self.slowest, time.process_time() - start)


def row(name: str, value: float, unit: str, bound: str | None = None, ok: bool = True) -> dict[str, Any]:
    return {"name": name, "value": round(value, 4), "unit": unit, "bound": bound, "ok": ok}


def replayed(count: int, batches: list[int]) -> tuple[list[Written], int, int]:
    """(the certificates, programs without a proof or a µGraph, proofs without a certificate)."""
    found, unproved, missing = list[Written](), 0, 0
    for p in programs(count, batches):
        try:
            case = case_of(p)
        except MirageError as e:
            print(f"{p.name}: {e}", file=sys.stderr)
            case = None
        if case is None:
            unproved += 1
            continue
        try:
            found.append(written(p, case))
        except (NoCertificate, Refused) as e:
            missing += 1
            print(f"NOT REPLAYED {p.name}: {e}", file=sys.stderr)
    return found, unproved, missing


def attacked(found: list[Written]) -> tuple[Attacks, Attacks, Attacks]:
    """(changes of certificates that hold, forged ones, hostile texts)."""
    changes, forged, texts = Attacks(), Attacks(), Attacks()
    longest = sorted(found, key=lambda w: -sum(len(e["steps"]) for r in w.data["rows"] for e in r["equations"]))
    for w in longest[:: max(1, len(found) // ATTACKED)][:ATTACKED]:
        for name, data in tampered(w.data):
            changes.make(f"{w.name}: {name}", data, w.files)
    for name, forge in FALSE.items():
        forged.make(name, sealed(forge(Forge())), forged=True)
    for name, data in hostile(longest[0].data):
        texts.make(name, data, forged=True)
    return changes, forged, texts


def rows(count: int, batches: list[int]) -> list[dict[str, Any]]:
    found, unproved, missing = replayed(count, batches)
    sizes = [len(json.dumps(w.data)) for w in found]
    steps = [sum(len(e["steps"]) for r in w.data["rows"] for e in r["equations"]) for w in found]
    changes, forged, texts = attacked(found)
    every = changes.refused + changes.false + forged.refused + forged.false + texts.refused + texts.false
    false = changes.false + forged.false + texts.false
    return [
        row("proofs replayed", len(found), "certificates"),
        row("proofs not replayed", missing, "proofs", "== 0", missing == 0),
        row("programs without a proof", unproved, "programs"),
        row("steps, median", statistics.median(steps), "steps"),
        row("steps, most", max(steps), "steps"),
        row("size, largest", max(sizes) / 1000, "kB"),
        row("writing, median", 1000 * statistics.median(w.write for w in found), "ms of the processor"),
        row("replaying, median", 1000 * statistics.median(w.replay for w in found), "ms of the processor"),
        row("replaying, slowest", 1000 * max(w.replay for w in found), "ms of the processor"),
        row("changed certificates refused", changes.refused, "certificates", ">= 200", changes.refused >= 200),
        row("changed, the equations still true", changes.true, "certificates"),
        row("forged certificates refused", forged.refused, "certificates"),
        row("hostile texts refused", texts.refused, "texts"),
        row("slowest refusal", max(x.slowest for x in (changes, forged, texts)), "s of the processor",
            f"<= {SECONDS:g}", max(x.slowest for x in (changes, forged, texts)) <= SECONDS),
        row(f"false ones accepted, of {every}", false, "certificates", "== 0", false == 0),
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--count", type=int, default=100, help="random programs")
    parser.add_argument("--batches", default="1,8,16", help="of the workloads of points.py")
    args = parser.parse_args()
    os.environ["TRITON_INTERPRET"] = "1"
    found = rows(args.count, [int(b) for b in args.batches.split(",")])
    if args.json:
        print(json.dumps({
            "bench": "certificates", "date": datetime.date.today().isoformat(),
            "device": platform.processor() or platform.machine(), "versions": {"python": platform.python_version()},
            "rows": found,
        }))  # fmt: skip
    else:
        for r in found:
            bound = f"{r['bound'] or ''}{'' if r['ok'] else ' **missed**'}"
            print(f"{r['name']:40} {r['value']:10.3f} {r['unit']:22} {bound}")
    return 0 if all(r["ok"] for r in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())

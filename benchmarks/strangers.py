"""Cases written by a stranger to the verifier (`tests/strangers`): which wrong ones are accepted, which equal ones are not?

    python benchmarks/strangers.py [--match 'pairs/casts/*'] [--every N] [--out FILE] [--json] [--list]

With --out it goes on where FILE stopped, a line of JSON a case. The exit code is 1 if a wrong case is accepted.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

from strangers.cases import Case, all_cases  # noqa: E402

from mirage.cli import before_trace, verify, verify_by_size, verify_subjects  # noqa: E402
from mirage.cli.worker_queue import WorkerQueue  # noqa: E402
from mirage.devices.table import device  # noqa: E402
from mirage.errors import MirageError  # noqa: E402
from mirage.isolate import imported_ahead  # noqa: E402
from mirage.isolate.forked_task import InChildren  # noqa: E402
from mirage.isolate.runner import Worker  # noqa: E402
from mirage.mugraph.check import Limits  # noqa: E402
from mirage.results.verdict import Verdict, strength  # noqa: E402

TARGET = "sm_90"


@dataclass(frozen=True)
class Judged:
    """What came of a case. `word`: the headline's first word, or the code of the error; `stated`: wrong, but the verdict
    says of the inputs that show it that it is not for them."""

    case: str
    wrong: bool
    accepted: bool
    word: str
    headline: str
    stated: bool = False


def judge(case: Case, folder: Path, worker: Worker) -> Judged:
    """The verdict of `mirage verify` on a case, by a worker that has judged others. What is not as it should be is asked again alone."""
    left, right = folder / "wanted.py", folder / "judged.py"
    left.write_text(case.wanted, "utf-8")
    right.write_text(case.judged, "utf-8")
    found = _said(case, partial(shared, worker), str(left), str(right))
    if found.accepted == case.wrong and not found.stated:
        found = _said(case, lambda a, b: verify.every_row(a, b, TARGET, None).weakest, str(left), str(right))
    return found


def shared(worker: Worker, a: str, b: str) -> Verdict:
    """As `verify.every_row` of one row, but for the worker, which has its imports already."""
    limits, tracing = Limits.of(device(TARGET)), InChildren(worker)
    for where in (a, b):
        before_trace.read(Path(where).read_text("utf-8"), limits)
    left, right = (verify_subjects.rows(x, tracing, limits) for x in (a, b))
    rows, _ = verify_by_size.pairs(left, right)
    with WorkerQueue(worker, verify.TASK_S) as queue:
        return min((verify.judged(x, y, worker, None, queue) for x, y in rows), key=strength)


def _said(case: Case, asked: Callable[[str, str], Verdict], left: str, right: str) -> Judged:
    try:
        verdict = asked(left, right)
        said = [verdict.headline, *verdict.notes, *(e.summary for e in verdict.evidence)]
        stated = bool(case.scope) and any(case.scope in x for x in said)
        return Judged(case.name, case.wrong, verdict.accepted, verdict.word, verdict.headline, stated)
    except MirageError as e:
        return Judged(case.name, case.wrong, False, e.code, str(e).splitlines()[0])


def outcome(x: Judged) -> str:
    """In a word or three."""
    return x.word if not x.accepted else "accepted with its limits said" if x.stated else "accepted"


def counts(found: list[Judged]) -> Iterator[str]:
    """A line for each family of cases: wrong ones accepted, rejected, undecided; equal ones likewise."""
    for family in dict.fromkeys(x.case.rpartition("/")[0] for x in found):
        for wrong in (True, False):
            some = [x for x in found if x.case.rpartition("/")[0] == family and x.wrong == wrong]
            if some:
                words = Counter(outcome(x) for x in some)
                said = ", ".join(f"{n} {word}" for word, n in sorted(words.items()))
                yield f"{family:24} {'wrong' if wrong else 'equal'} {len(some):4}: {said}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--match", default="*")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--list", action="store_true")
    asked = parser.parse_args()
    cases = [x for x in all_cases() if fnmatch(x.name, asked.match)][:: asked.every]
    if asked.list:
        print("\n".join(f"{x.name}{'' if x.wrong else ' (equal)'}: {x.why}" for x in cases))
        return 0
    lines = asked.out.read_text("utf-8").splitlines() if asked.out and asked.out.exists() else []
    done = {x.case: x for x in (Judged(**json.loads(line)) for line in lines)}
    with tempfile.TemporaryDirectory() as folder, Worker(env=verify.WORKER) as worker:
        worker.warm(*imported_ahead.TRACING, calls=[imported_ahead.REHEARSAL])
        for case in cases:
            if case.name in done:
                continue
            done[case.name] = judge(case, Path(folder), worker)
            print(f"{time.strftime('%H:%M:%S')} {case.name} {done[case.name].headline}", file=sys.stderr, flush=True)
            if asked.out:
                with asked.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(done[case.name])) + "\n")
    found = [done[x.name] for x in cases]
    slips = [x for x in found if x.wrong and x.accepted and not x.stated]
    if asked.json:
        print(json.dumps([asdict(x) for x in found], indent=1))
    else:
        print("\n".join(counts(found)))
        print("\n".join(f"wrong and accepted: {x.case}: {x.headline}" for x in slips))
    return 1 if slips else 0


if __name__ == "__main__":
    sys.exit(main())

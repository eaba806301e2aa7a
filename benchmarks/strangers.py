"""Cases written by a stranger to the verifier (`tests/strangers`): which wrong ones are accepted, which equal ones are not?

    python benchmarks/strangers.py [--match 'pairs/casts/*'] [--every N] [--out FILE] [--json] [--list]

With --out it goes on where FILE stopped, a line of JSON a case. The exit code is 1 if a wrong case is accepted.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

from strangers.cases import Case, all_cases  # noqa: E402


@dataclass(frozen=True)
class Judged:
    """What came of a case. `word`: the headline's first word, or the code of the error; `seconds`: of processor time, workers included."""

    case: str
    wrong: bool
    accepted: bool
    word: str
    headline: str
    seconds: float


def processor_time() -> float:
    """Seconds of this process and of its children that have ended."""
    found = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(x.ru_utime + x.ru_stime for x in found)


def judge(case: Case, folder: Path) -> Judged:
    """The verdict of `mirage verify` on a case, in this process."""
    from mirage.cli.verify import every_row
    from mirage.errors import MirageError

    left, right = folder / "wanted.py", folder / "judged.py"
    left.write_text(case.wanted, "utf-8")
    right.write_text(case.judged, "utf-8")
    start = processor_time()
    try:
        verdict = every_row(str(left), str(right), "sm_90", None).weakest
        accepted, word, headline = verdict.accepted, verdict.word, verdict.headline
    except MirageError as e:
        accepted, word, headline = False, e.code, str(e).splitlines()[0]
    return Judged(case.name, case.wrong, accepted, word, headline, processor_time() - start)


def counts(found: list[Judged]) -> Iterator[str]:
    """A line for each family of cases: wrong ones accepted, rejected, undecided; equal ones likewise."""
    for family in dict.fromkeys(x.case.rpartition("/")[0] for x in found):
        for wrong in (True, False):
            some = [x for x in found if x.case.rpartition("/")[0] == family and x.wrong == wrong]
            if some:
                words = Counter("accepted" if x.accepted else x.word for x in some)
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
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            if case.name in done:
                continue
            done[case.name] = judge(case, Path(folder))
            print(f"{time.strftime('%H:%M:%S')} {case.name} {done[case.name].headline}", file=sys.stderr, flush=True)
            if asked.out:
                with asked.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(done[case.name])) + "\n")
    found = [done[x.name] for x in cases]
    slips = [x for x in found if x.wrong and x.accepted]
    if asked.json:
        print(json.dumps([asdict(x) for x in found], indent=1))
    else:
        print("\n".join(counts(found)))
        print("\n".join(f"wrong and accepted: {x.case}: {x.headline}" for x in slips))
    return 1 if slips else 0


if __name__ == "__main__":
    sys.exit(main())

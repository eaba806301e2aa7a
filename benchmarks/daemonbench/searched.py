"""A search that says what it does: the finished parts on its standard input (JSON), an event a line on its output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

from workloads.terms import problem  # noqa: E402

from mirage.devices.table import DEVICES  # noqa: E402
from mirage.pipeline.job_task import Sent  # noqa: E402
from mirage.profile.roofline import estimate  # noqa: E402
from mirage.search.engine import Search  # noqa: E402
from mirage.search.executor import Serial  # noqa: E402
from mirage.search.subproblems import Key, Part, SharedWork  # noqa: E402

WORKLOAD = "norm_mlp"  # about twenty-five parts


def say(event: dict[str, Any]) -> None:
    print(json.dumps(event), flush=True)


class Told(SharedWork):
    """Says which part is searched."""

    def search(self, key: Key, guard: Any) -> Part:
        say({"searched": str(key)})
        return super().search(key, guard)


def main() -> None:
    checkpoint = Sent(json.load(sys.stdin), say)
    search = Search(
        problem(WORKLOAD), lambda g: estimate(g, DEVICES["sm_90"]), checkpoint=checkpoint, executor=Serial(),
        progress=lambda p: say({"state": p.state, "counts": p.counts.told(), "best": p.best}),
    )  # fmt: skip
    search.work = Told(**vars(search.work))
    list(search.run())
    say({"ended": [search.counts.resumed, search.counts.parts]})


main()

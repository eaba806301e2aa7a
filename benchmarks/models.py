"""Modules run by the backend, by the decorator and by eager (`tests/strangers/modules`): random small ones, and nasty ones by hand.

    python benchmarks/models.py --modules 200 [--seed S] [--way NAME...] [--match 'nasty_*'] [--out FILE] [--json] [--shrink] [--text NAME]

Outputs, gradients, buffers, parameters, who shares memory with whom, and exceptions are compared after each step of a module's session,
within the rounding that float64 shows. On a machine without a device a region's kernel is its function as written, put in between two
calls. What PyTorch's own backend (`inductor`, or `aot_eager` under `rest_eager`) shows too counts apart. With --out it goes on
where FILE stopped, a line of JSON a module and way; --shrink prints the smallest text of each random module that is wrong;
--text the text of one. The exit code is 1 if one is wrong.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

import torch  # noqa: E402
from strangers.modules import generator, ways  # noqa: E402
from strangers.modules.generator import Plan  # noqa: E402
from strangers.modules.nasty import NASTY  # noqa: E402
from torch import nn  # noqa: E402

LIMIT_S = 300.0  # of one module in one way
DEFAULT = ("rest_eager_kernels", "backend_kernels", "decorated_kernels")


@dataclass(frozen=True)
class Row:
    """One module in one way. `own`: what differs from eager; `pytorchs`: what differs with PyTorch's own backend too; `kernels`: how
    often a region's kernel ran; `steps`: of the session; `cpu_s`: processor time, with eager's and the comparison's."""

    module: str
    way: str
    own: list[str]
    pytorchs: list[str]
    kernels: int
    steps: int
    cpu_s: float

    @property
    def word(self) -> str:
        return "WRONG" if self.own else "as PyTorch's" if self.pytorchs else "equal"


Make = Callable[[Path], type[nn.Module]]


def modules(count: int, seed: int) -> dict[str, Make]:
    """Every nasty module and `count` random ones, by name."""
    found: dict[str, Make] = {n: partial(_by_hand, kind) for n, kind in NASTY.items()}
    return found | {f"random/{i}": partial(generator.loaded, generator.drawn(i)) for i in range(seed, seed + count)}


def _by_hand(kind: type[nn.Module], folder: Path) -> type[nn.Module]:
    return kind


def _judge(name: str, make: Make, way: str, folder: Path, answer: Connection) -> None:
    """In a process of its own: the row, or a traceback."""
    logging.disable(logging.WARNING)
    try:
        kind = make(folder)
        wanted = ways.expected(kind)
        own, theirs = ways.not_pytorchs(kind, ways.WAYS[way], wanted)
        own_said, theirs_said = (
            [f"{x.step}: {x.what} {x.name} {x.said}"[:500] for x in some] for some in (own, theirs)
        )
        runs, spent = ways.Kernels.runs, time.process_time()
        answer.send(Row(name, way, own_said, theirs_said, runs, len(wanted.eager), round(spent, 2)))
    except Exception:
        answer.send(traceback.format_exc())


def judged(name: str, make: Make, way: str, folder: Path) -> Row:
    """The row of a module; a process that ends by itself or takes too long is wrong."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_judge, args=(name, make, way, folder, there))
    process.start()
    there.close()
    found: Row | str
    try:
        found = here.recv() if here.poll(LIMIT_S) else f"longer than {LIMIT_S:.0f} s"
    except EOFError:
        process.join()
        found = f"the process ended by {process.exitcode}"
    process.kill()
    process.join()
    return found if isinstance(found, Row) else Row(name, way, [found], [], 0, 0, 0.0)


def smallest(seed: int, way: str, folder: Path) -> str:
    """The text of the smallest part of a random module that is still wrong."""

    def wrong(plan: Plan) -> bool:
        return bool(judged(plan.name, partial(generator.loaded, plan), way, folder).own)

    found: Plan = generator.shrunk(generator.drawn(seed), wrong)
    return str(found.text())


def prepared(folder: Path) -> None:
    """No daemon, no cache of another run, every call looks for kernels; imports before the processes are forked."""
    os.environ |= {"MIRAGE_HOME": str(folder / "home"), "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}
    from torch._inductor import config

    import mirage  # noqa: F401
    from mirage.dynamo import swapped_graph

    torch.set_num_threads(1)
    config.compile_threads = 1
    swapped_graph.LOOK_S = 0.0


def counts(rows: list[Row]) -> Iterator[str]:
    """A line for each way."""
    for way in dict.fromkeys(r.way for r in rows):
        some = [r for r in rows if r.way == way]
        words = Counter(r.word for r in some)
        said = ", ".join(f"{n} {word}" for word, n in sorted(words.items()))
        ran = sum(r.kernels > 0 for r in some)
        yield f"{way}: {len(some)} modules, {sum(r.steps for r in some)} steps: {said}; kernels ran in {ran}"


def shown(row: Row) -> str:
    lines = [
        f"{row.word:12} {row.way:20} {row.module:40} {row.steps:3} steps {row.kernels:4} kernel runs {row.cpu_s:6.1f} s"
    ]
    return "\n".join(lines + [f"    {x}" for x in row.own[:8]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--way", nargs="+", choices=list(ways.WAYS), default=DEFAULT)
    parser.add_argument("--match", default="*")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--text")
    asked = parser.parse_args()
    if asked.text:
        print(generator.drawn(int(asked.text.rpartition("/")[2])).text())
        return 0
    chosen = {n: m for n, m in modules(asked.modules, asked.seed).items() if fnmatch(n, asked.match)}
    lines = asked.out.read_text("utf-8").splitlines() if asked.out and asked.out.exists() else []
    done = {(r.module, r.way): r for r in (Row(**json.loads(line)) for line in lines)}
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared(folder)
        for way in asked.way:
            for module, make in list(chosen.items())[:: asked.every]:
                row = done.get((module, way)) or judged(module, make, way, folder)
                rows.append(row)
                print(shown(row), file=sys.stderr if asked.json else sys.stdout, flush=True)
                if asked.out and (module, way) not in done:
                    with asked.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(row)) + "\n")
        wrong = [r for r in rows if r.own]
        for row in wrong if asked.shrink else []:
            if row.module.startswith("random/"):
                print(f"# {row.module} {row.way}", smallest(int(row.module[7:]), row.way, folder), sep="\n", flush=True)
    print(json.dumps([asdict(r) for r in rows], indent=1) if asked.json else "\n".join(counts(rows)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""The functions that a fleet is asked for: some of the zoo, the examples, and random programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from program.random_programs import random_program
from zoo import every_function

from mirage.errors import MirageError
from mirage.source import detect

ROOT = Path(__file__).resolve().parents[2]
FROM_ZOO, FROM_EXAMPLES = 0.5, 0.15  # parts of all; the others are random programs
OPTIONS = {"seconds": 60.0}  # of a search: on a busy machine fewer would end some, and two runs would differ

# Its search takes some seconds and many parts: what is ended in the middle is under way
LONG = """\
import mirage
import torch


@mirage.optimize(inputs=[((16, 4096), "fp16"), ((4096, 4096), "fp16"), ((4096, 4096), "fp16"), ((4096, 4096), "fp16")])
def f(x, a, b, c):
    y = torch.nn.functional.silu(x @ a) * (x @ b)
    return torch.softmax(y * torch.rsqrt((y * y).mean(-1, keepdim=True)), -1) @ c
"""


@dataclass(frozen=True)
class AskedFunction:
    name: str
    text: str
    path: str
    function: str

    def payload(self, interpreter: str) -> dict[str, Any]:
        """What the daemon's pool is asked."""
        return {
            "text": self.text, "path": self.path, "function": self.function, "target": "sm_90", "trusted": True,
            "options": OPTIONS, "interpreter": interpreter, "project": "/fleet",
        }  # fmt: skip


def chosen(count: int) -> list[AskedFunction]:
    """So many functions of different kinds, mixed; the same ones each time."""
    zoo, examples = list(every_function()), sorted((ROOT / "examples").glob("*.py"))
    of_zoo, of_examples = round(count * FROM_ZOO), round(count * FROM_EXAMPLES)
    files = [f.path for f in zoo[:: max(1, len(zoo) // max(1, of_zoo))][:of_zoo]]
    found = [f for path in [*files, *examples] if (f := _first(path)) is not None][: of_zoo + of_examples]
    programs = (random_program(seed) for seed in range(count))
    found += [
        AskedFunction(f"random/{i}", p.decorated(), f"/fleet/random_{i}.py", p.function) for i, p in enumerate(programs)
    ]
    step = next(n for n in range(7, 7 + count) if count % n or count == 1)  # neighbours of one kind come apart
    found = found[:count]
    return sorted(found, key=lambda f: (found.index(f) * step) % len(found))


def _first(path: Path) -> AskedFunction | None:
    """The first decorated function of a file; None where it has none."""
    text = path.read_text("utf-8")
    try:
        functions = detect.find(text, str(path)).functions
    except MirageError:
        return None
    return AskedFunction(f"{path.parent.name}/{path.stem}", text, str(path), functions[0].name) if functions else None

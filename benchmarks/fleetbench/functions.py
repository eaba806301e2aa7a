"""The functions that a fleet is asked for: some of the zoo, the examples, and random programs."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from program.random_programs import random_program
from zoo import every_function

from mirage.errors import MirageError
from mirage.source import detect, shapes

ROOT = Path(__file__).resolve().parents[2]
FROM_ZOO, FROM_EXAMPLES = 0.5, 0.1  # parts of all; the others are random programs
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
    """So many functions of different kinds, the smaller ones of each, mixed; the same ones each time."""
    zoo = [f for path in (f.path for f in every_function()) if (f := _first(path)) is not None]
    examples = [f for path in sorted((ROOT / "examples").glob("*.py")) if (f := _first(path)) is not None]
    programs = [random_program(seed) for seed in range(4 * count)]
    random = [AskedFunction(f"random/{i}", p.decorated(), f"/fleet/{i}.py", p.function) for i, p in enumerate(programs)]
    of_zoo, of_examples = round(count * FROM_ZOO), round(count * FROM_EXAMPLES)
    found = _smallest(zoo, of_zoo) + _smallest(examples, of_examples)
    found += _smallest(random, count - len(found))
    step = next(n for n in range(7, 7 + count) if count % n or count == 1)  # neighbours of one kind come apart
    return [found[i * step % count] for i in range(count)] if math.gcd(step, count) == 1 else found


def _smallest(functions: list[AskedFunction], count: int) -> list[AskedFunction]:
    return sorted(functions, key=_operations)[:count]


def _operations(asked: AskedFunction) -> int:
    """How much the function's text computes, about, at all of the sizes that it asks for."""
    sizes = len(list(shapes.rows(detect.find(asked.text, asked.path).functions[0])))
    body = next(
        n for n in ast.walk(ast.parse(asked.text)) if isinstance(n, ast.FunctionDef) and n.name == asked.function
    )
    return sizes * sum(isinstance(n, ast.Call | ast.BinOp) for n in ast.walk(body))


def _first(path: Path) -> AskedFunction | None:
    """The first decorated function of a file; None where it has none."""
    text = path.read_text("utf-8")
    try:
        functions = detect.find(text, str(path)).functions
    except MirageError:
        return None
    return AskedFunction(f"{path.parent.name}/{path.stem}", text, str(path), functions[0].name) if functions else None

"""Runs one module and its mutants in Triton's interpreter, in a process of their own: how does each differ from the module?

`python -m hostile_modules.run_mutants JOBS REFERENCE FIRST [SECONDS]`: JOBS is a JSON list of texts, the module's first; from the text
FIRST on, a line with its number stands before each answer, so that the caller knows at which one the process died. What the module
itself gives is kept in REFERENCE, so that no other process need run it.
"""

from __future__ import annotations

import importlib.util
import json
import math
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import torch

# For all calls of one mutant: of the processor, beside so many times what the module itself takes; and of the clock, where it waits.
SECONDS, TIMES, LATEST = 20, 3, 900
FINITE = 5  # the first of the settings, whose inputs are numbers
UNKNOWN = "the function itself has no number"
ROUNDING = 4.0  # in units of the output's roundoff at the size of its largest value
Answer = list[torch.Tensor] | str
_empty = torch.empty


def poisoned(*shape: object, **options: object) -> torch.Tensor:
    """torch.empty with NaN or a large integer: what no kernel writes is seen."""
    made = _empty(*shape, **options)  # type: ignore[call-overload]
    return made.fill_(math.nan if made.is_floating_point() else 1 << 20)


def loaded(text: str, folder: Path, number: int) -> ModuleType:
    path = folder / f"mutant_{number}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def random_tensors(
    expected: tuple[tuple[tuple[int, ...], torch.dtype], ...], seed: int, scale: float
) -> list[torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    return [(torch.randn(shape, generator=g) * scale).to(dtype) for shape, dtype in expected]


def spread(t: torch.Tensor) -> torch.Tensor:
    """The same values, every second element of the storage."""
    return torch.stack([t, t], -1)[..., 0]


def settings(expected: tuple[tuple[tuple[int, ...], torch.dtype], ...]) -> Iterator[list[torch.Tensor]]:
    """Inputs of several sizes and kinds, then those for which the module has its guards."""
    for seed, scale in ((1, 1.0), (2, 1.0), (3, 30.0), (4, 1e-3), (5, 0.0)):
        yield random_tensors(expected, seed, scale)
    for value in (math.inf, math.nan):
        found = random_tensors(expected, 6, 1.0)
        found[0].view(-1)[found[0].numel() // 2] = value
        yield found
    first, *rest = random_tensors(expected, 7, 1.0)
    yield [spread(first), *rest]
    yield [first.clone().requires_grad_(first.is_floating_point()), *rest]
    yield [first.double(), *(t.double() for t in rest)]
    yield [torch.cat([first, first[:1]]), *rest]


def called(function: Callable[..., object], tensors: list[torch.Tensor]) -> Answer:
    """The results, and after them the inputs as they are then; or the name of what was raised."""
    try:
        made = function(*tensors)
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        NameError,
        RuntimeError,
        TypeError,
        ValueError,
        AssertionError,
    ) as e:
        return type(e).__name__
    except Exception as e:  # Triton's own errors, of many kinds
        if type(e).__module__.split(".")[0] != "triton":
            raise
        return type(e).__name__
    results = made if isinstance(made, tuple) else (made,)
    if not all(isinstance(t, torch.Tensor) for t in results):
        return f"gave {type(made).__name__}"
    return [t.detach().clone() for t in (*results, *tensors) if isinstance(t, torch.Tensor)]


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """0 for the same bits up to the sign of zero; else the largest difference in roundoffs, infinite for another kind of value."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return math.inf
    x, y = a.double().flatten(), b.double().flatten()
    alike = (x == y) | (x.isnan() & y.isnan())
    if bool(alike.all()):
        return 0.0
    if not a.is_floating_point() or bool(((~x.isfinite() | ~y.isfinite()) & ~alike).any()):
        return math.inf
    fine = x.isfinite() & y.isfinite()
    x, y = x[fine], y[fine]
    size = max(float(x.abs().max()), float(y.abs().max()))
    return float((x - y).abs().max()) / (size * torch.finfo(a.dtype).eps)


def answers(module: ModuleType, name: str) -> Iterator[Answer]:
    """What the module gives for each setting, and what its first answer is after all of them."""
    function = getattr(module, name)
    first = function(*random_tensors(module._EXPECTED, 1, 1.0))
    for tensors in settings(module._EXPECTED):
        yield called(function, tensors)
    yield [t.clone() for t in (first if isinstance(first, tuple) else (first,))]


def overflows(module: ModuleType, name: str) -> Iterator[bool]:
    """Of each setting, whether the function as written, in its own dtypes, makes what is no number of inputs that are: what a kernel
    gives then is no difference."""
    for k, tensors in enumerate(settings(module._EXPECTED)):
        made = called(getattr(module, f"_original_{name}"), tensors) if k < FINITE else ""
        yield not isinstance(made, str) and not all(bool(t.isfinite().all()) for t in made)


def compared(reference: list[Answer], found: Iterator[Answer]) -> str:
    """equal, rounding, wrong, or breaks, with the number of the setting that shows it."""
    worst = 0.0
    for k, (a, b) in enumerate(zip(reference, found)):
        if a == UNKNOWN:
            continue
        if isinstance(a, str) or isinstance(b, str):
            if a != b:
                return f"breaks {k}" if isinstance(b, str) else f"wrong {k}"
            continue
        if len(a) != len(b):
            return f"wrong {k}"
        worst = max([worst, *(distance(x, y) for x, y in zip(a, b))])
        if worst > ROUNDING:
            return f"wrong {k}"
    return "equal" if worst == 0 else "rounding"


def references(text: str, folder: Path, name: str, kept: Path) -> tuple[list[Answer], float]:
    """What the module gives for each setting, and how many seconds of the processor that took; from the file where it is there."""
    if kept.exists():
        found: tuple[list[Answer], float] = torch.load(kept)
        return found
    begun = time.process_time()
    module = loaded(text, folder, 0)
    made = list(answers(module, name))
    for k, unknown in enumerate(overflows(module, name)):
        made[k] = UNKNOWN if unknown else made[k]
    took = time.process_time() - begun
    written = folder / "reference.pt"
    torch.save((made, took), written)
    shutil.move(written, kept)
    return made, took


class Late:
    """Whether the time was up, which whatever runs then may raise under another name."""

    was = False


def late(*_: object) -> None:
    Late.was = True
    raise TimeoutError


def main(jobs: str, kept: str, start: str, seconds: str = str(SECONDS)) -> None:
    texts = json.loads(Path(jobs).read_text())
    torch.empty = poisoned
    signal.signal(signal.SIGALRM, late)
    signal.signal(signal.SIGPROF, late)
    found = re.search(r"^def _original_(\w+)", texts[0], re.MULTILINE)
    assert found is not None
    with tempfile.TemporaryDirectory() as folder:
        reference, took = references(texts[0], Path(folder), found[1], Path(kept))
        limit = float(seconds) + TIMES * took
        for number in range(int(start), len(texts)):
            print(number, flush=True)
            signal.alarm(LATEST)
            Late.was = False
            signal.setitimer(signal.ITIMER_PROF, limit)
            try:
                word = compared(reference, answers(loaded(texts[number], Path(folder), number), found[1]))
            except TimeoutError:
                word = "late"
            except (
                ArithmeticError,
                AttributeError,
                LookupError,
                NameError,
                RuntimeError,
                TypeError,
                ValueError,
                AssertionError,
            ):
                word = "breaks"
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
            print("late" if Late.was else word, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

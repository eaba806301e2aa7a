"""Says of each mutant of a module whether Triton's interpreter shows a difference: the label of families that are to be certified."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hostile_modules.mutant import Mutant

TESTS = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Outcome:
    """What a run shows of a mutant: "wrong", "breaks" (it raises or dies), "rounding" (it differs by less than 4 roundoffs),
    "equal", or "late" where it takes too long to say; `setting`: which of the inputs of `run_mutants.settings` shows it first,
    None where none does or the process ended."""

    word: str
    setting: int | None = None

    @classmethod
    def read(cls, said: str) -> Outcome:
        word, _, setting = said.partition(" ")
        return cls(word, int(setting) if setting.isdigit() else None)


Start = Callable[[list[str], dict[str, str], Path], str]


def in_a_python(arguments: list[str], environment: dict[str, str], folder: Path) -> str:
    """What a Python process of its own prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return done.stdout


def lines(
    texts: Sequence[str], first: int, folder: Path, reference: Path, *seconds: str, start: Start = in_a_python
) -> list[str]:
    """What one process says of the texts from the number `first` on, until it ends or dies. What the first text, the module, gives
    is read from the file `reference`, or kept there. `start` makes the process."""
    jobs = folder / "jobs.json"
    jobs.write_text(json.dumps(list(texts)))
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"}
    asked = ["-m", "hostile_modules.run_mutants", str(jobs), str(reference), str(first), *seconds]
    return start(asked, environment, folder).splitlines()


def outcomes(
    module_text: str, mutants: Sequence[Mutant], reference: Path | None = None, start: Start = in_a_python
) -> Iterator[tuple[Mutant, Outcome]]:
    """For each mutant what a run shows; `reference`: where what the module gives is kept for the next call.

    A mutant that must be refused whatever a run shows is not run: it may change the process that runs the others.
    """
    asked = [m for m in mutants if m.expected != "wrong"]
    texts = [module_text, *(m.text for m in asked)]
    number = 1
    with tempfile.TemporaryDirectory() as folder:
        while number < len(texts):
            said = lines(texts, number, Path(folder), reference or Path(folder) / "given.pt", start=start)
            if not said:
                raise RuntimeError("the module itself does not run in Triton's interpreter")
            for at, word in zip(said[::2], [*said[1::2], "breaks"]):
                yield asked[int(at) - 1], Outcome.read(word)
                number = int(at) + 1


def is_wrong(mutant: Mutant, outcome: Outcome | None) -> bool:
    """Is it a mistake to accept the mutant? `outcome` None: it was not run."""
    return mutant.expected == "wrong" or (outcome is not None and outcome.word in ("wrong", "breaks"))

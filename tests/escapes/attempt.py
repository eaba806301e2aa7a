"""What an attempt to get out of a worker is: its text, the workers that it is for, and the witness that decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

# A traced function or what its environment imports; an emitted module under verification or timing; code beside the GPU.
Kind = Literal["traced", "verification", "gpu"]
KINDS: tuple[Kind, ...] = get_args(Kind)

WitnessName = Literal[
    "leaked",
    "tree",
    "victim",
    "harness",
    "reached",
    "served",
    "survivor",
    "ipc",
    "memory",
    "disk",
    "inodes",
    "processes",
    "starved",
    "overdue",
    "swollen",
    "forged",
    "terminal",
    "setuid",
    "left",
    "lock",
    "system",
]
WITNESSES: tuple[WitnessName, ...] = get_args(WitnessName)


@dataclass(frozen=True)
class Attempt:
    """One attempt. `source` is Python's standard library and ctypes, run below the constants and tools of `preamble.py`.

    `root` marks what no ordinary user can do even without a sandbox.
    """

    name: str
    family: str
    witness: WitnessName
    source: str
    kinds: tuple[Kind, ...] = KINDS
    root: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a job let out: all text that reaches its caller (printed, errors, the answer), and whether it was accepted.

    `accepted` is the verdict of a verification; the corpus holds no module that deserves one.
    """

    text: str
    accepted: bool = False


@dataclass(frozen=True)
class Limits:
    """What a job is promised to be held to: bytes, processes and threads, files, and seconds until it is ended."""

    memory: int = 384 << 20
    disk: int = 384 << 20
    processes: int = 64
    inodes: int = 10_000
    seconds: float = 3.0


def table(
    family: str,
    witness: WitnessName,
    sources: dict[str, str],
    kinds: tuple[Kind, ...] = KINDS,
    root: bool = False,
) -> tuple[Attempt, ...]:
    """The attempts of one family with one witness, from their texts by name."""
    return tuple(Attempt(f"{family}: {name}", family, witness, text, kinds, root) for name, text in sources.items())

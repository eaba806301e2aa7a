"""The caller's side of the sandbox: what the launcher is told, what it says back, and what holds on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mirage.errors import MirageError
from mirage.isolate import visible_files
from mirage.isolate.cores import usable_cores
from mirage.isolate.launch_order import REQUIRED, WALLS, LaunchOrder, ProcessLimits
from mirage.link import user_settings

DEFAULT_MEMORY = 12 << 30  # bytes
DISK = 1 << 30  # bytes of a worker's private folder, and of each folder in memory beside it
MORE_PROCESSES = 512
PROCESSES_EACH_CORE = 32  # a pool of compilers has one process a core, each with its threads
LAUNCHER = Path(__file__).resolve().with_name("launcher.py")
_PROBE_S = 20.0
_inherited: list[tuple[tuple[str, ...], bool]] = []


@dataclass(frozen=True)
class WorkerOrder:
    """Which worker is wanted; `env` is added to its environment."""

    interpreter: str
    bounds: ProcessLimits
    unix: bool
    env: Mapping[str, str]


@dataclass(frozen=True)
class Said:
    """What a launcher said: which limits hold, why there are no namespaces, what is missing that has to hold, why the program
    did not start, what there was too much of."""

    held: tuple[tuple[str, bool], ...] = ()
    why: str = ""
    refused: tuple[str, ...] = ()
    failed: str = ""
    over: str = ""


def bounds(memory: int, total: int, cpu: int) -> ProcessLimits:
    tasks = MORE_PROCESSES + PROCESSES_EACH_CORE * usable_cores()
    return ProcessLimits(memory=memory, total=total, disk=min(DISK, total), tasks=tasks, cpu=cpu)


def most_of_memory() -> int:
    """Bytes: three quarters of the machine's, for what holds several workers."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4 * 3


def inherit(required: tuple[str, ...], private: bool) -> None:
    """In a worker: its own workers need what it needed, by the word of whoever started it, and lie in its private view, if any."""
    _inherited[:] = [(required, private)]


def required() -> tuple[str, ...]:
    """What has to hold before a worker starts; nothing where the user's settings say so."""
    if _inherited:
        return _inherited[0][0]
    return () if user_settings.allows(user_settings.UNCONFINED) else REQUIRED


def command(
    order: WorkerOrder, folder: Path, locks: str, ends: tuple[int, int, int], walls: tuple[str, ...] = WALLS
) -> list[str]:
    """The launcher's command line for a worker; `ends`: its requests, its answers, the launcher's report."""
    requests, answers, report = ends
    needed = required()
    program = (order.interpreter, "-m", "mirage.isolate.worker", str(requests), str(answers), ",".join(needed))
    return launch(
        LaunchOrder(
            program, os.getpid(), str(folder), (requests, answers), report,
            visible_files.visible(order.interpreter, gpu=order.unix, locks=locks),
            order.bounds, order.unix, walls, needed, bool(_inherited) and _inherited[0][1],
        )
    )  # fmt: skip


def launch(order: LaunchOrder) -> list[str]:
    """This process's own interpreter, with nothing of a project's: no `.pth`, no `sitecustomize`, no PYTHON variables."""
    return [sys.executable, "-I", "-S", str(LAUNCHER), order.written()]


def understood(report: bytes) -> Said:
    """The launcher's lines, together."""
    facts: dict[str, object] = {}
    for line in report.splitlines():
        facts |= json.loads(line)
    held = facts.get("held")
    flags = dict(held) if isinstance(held, dict) else {}
    if "namespaces" in facts:
        flags["namespaces"] = facts["namespaces"]
    refused = facts.get("refused")
    return Said(
        held=tuple((str(name), flag is True) for name, flag in flags.items()),
        why=str(facts.get("why", "")),
        refused=tuple(map(str, refused)) if isinstance(refused, list) else (),
        failed=str(facts.get("failed", "")),
        over=str(facts.get("over", "")),
    )


@cache
def report(walls: tuple[str, ...] = WALLS) -> Said:
    """What holds for workers on this machine, tried once in this process: a launcher starts a program that does nothing."""
    folder = Path(tempfile.mkdtemp(prefix="mirage-probe-"))
    read, write = os.pipe()
    try:
        order = LaunchOrder(
            ("/bin/true",), os.getpid(), str(folder), (), write, visible_files.visible("/bin/true", gpu=False),
            bounds(DEFAULT_MEMORY, DEFAULT_MEMORY, 0), walls=walls, required=(),
        )  # fmt: skip
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                launch(order),
                pass_fds=(write,),
                cwd=folder,
                env={},
                timeout=_PROBE_S,
                stdin=subprocess.DEVNULL,
                capture_output=True,
            )
        os.set_blocking(read, False)
        try:
            return understood(os.read(read, 1 << 16))
        except BlockingIOError:
            return Said()
    except (OSError, MirageError):
        return Said()
    finally:
        os.close(read)
        os.close(write)
        folder.rmdir()


def holds() -> dict[str, bool]:
    """For `status` and `doctor`: what of the sandbox holds on this machine, by name."""
    found = dict(report().held)
    names = ("namespaces", "filesystem", "calls", "signals", "network", "no_new_privileges", "no_capabilities",
             "dies_with_parent", "memory", "file_size")  # fmt: skip
    return {name: found.get(name, False) for name in names}

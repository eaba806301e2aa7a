"""The caller's side of the sandbox: what the launcher is told, what it says back, and what holds on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mirage.errors import MirageError
from mirage.isolate import private_view, visible_files
from mirage.isolate.cores import usable_cores
from mirage.isolate.launch_order import REQUIRED, WALLS, LaunchOrder, ProcessLimits
from mirage.link import user_settings

DEFAULT_MEMORY = 12 << 30  # bytes
DISK = 1 << 30  # bytes of a worker's private folder, and of each folder in memory beside it
MORE_PROCESSES = 512
PROCESSES_EACH_CORE = 32  # a pool of compilers has one process a core, each with its threads
LAUNCHER = Path(__file__).resolve().with_name("launcher.py")
TRIALS = LAUNCHER.with_name("wall_trials.py")
_TRIAL_S = 20.0
# what the launcher says and a trial may refute, and what a trial alone shows
NAMES = ("namespaces", "filesystem", "calls", "signals", "network", "no_new_privileges", "no_capabilities", "dies_with_parent",
         "memory", "file_size")  # fmt: skip
TRIED_ALONE = ("other_processes", "shared_memory")
_inherited: list[tuple[tuple[str, ...], bool]] = []


@dataclass(frozen=True)
class WorkerOrder:
    """Which worker is wanted; `env` is added to its environment."""

    interpreter: str
    bounds: ProcessLimits
    unix: bool
    unix_below: bool
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


def limits_of(memory: int, total: int, cpu: int) -> ProcessLimits:
    tasks = MORE_PROCESSES + PROCESSES_EACH_CORE * usable_cores()
    return ProcessLimits(memory=memory, total=total, disk=min(DISK, total), tasks=tasks, cpu=cpu)


def most_of_memory() -> int:
    """Bytes: three quarters of the machine's, for what holds several workers."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4 * 3


def inherit(required: tuple[str, ...], private: bool) -> None:
    """In a worker: its own workers need what it needed, by the word of whoever started it, and lie in its private view, if any."""
    _inherited[:] = [(required, private)]


def inside() -> bool:
    """Whether this process is a worker itself, so that the walls of its own workers are already chosen."""
    return bool(_inherited)


def in_view() -> bool:
    """Whether this process is a worker in a private view, which its own workers share."""
    return inside() and _inherited[0][1]


def folder_of_workers() -> str:
    """Where a worker's own workers have their folders; "" in a process that is none."""
    return "" if not inside() else private_view.TMP if in_view() else tempfile.gettempdir()


def empty_shared() -> None:
    """In a private view: removes what this worker's own workers left to each other in shared memory, once they have ended."""
    if not in_view():
        return  # there it is the machine's, and nobody knows whose
    for entry in os.scandir(private_view.SHARED):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(entry.path)


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
            order.bounds, order.unix, order.unix_below, walls, needed, in_view(),
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


@dataclass(frozen=True)
class TrialResult:
    """What was tried on this machine: whether each wall holds, by name, and why there is no private view, if there is none."""

    holds: dict[str, bool]
    why: str = ""


@cache
def tried(walls: tuple[str, ...] = WALLS) -> TrialResult:
    """What holds for workers on this machine, tried once in this process by a program in the sandbox (`wall_trials`). What the
    launcher says that it built and the trial does not bear out does not hold."""
    names = (*NAMES, *TRIED_ALONE)
    with tempfile.TemporaryDirectory(prefix="mirage-trial-") as outside, _shared_file() as shared, _listener() as port:
        folder, secret = Path(outside, "private"), Path(outside, "secret")
        folder.mkdir()
        secret.write_bytes(b"s")
        read, write = os.pipe()
        try:
            program = (sys.executable, "-I", "-S", str(TRIALS), str(secret), str(os.getpid()), shared, str(port))
            order = LaunchOrder(
                program, os.getpid(), str(folder), (), write, visible_files.visible(sys.executable, gpu=False),
                limits_of(DEFAULT_MEMORY, DEFAULT_MEMORY, 0), walls=walls, required=(),
            )  # fmt: skip
            done = subprocess.run(
                launch(order),
                pass_fds=(write,),
                cwd=folder,
                env={},
                timeout=_TRIAL_S,
                stdin=subprocess.DEVNULL,
                capture_output=True,
            )
            os.set_blocking(read, False)
            said = understood(os.read(read, 1 << 16))
            seen = json.loads(done.stdout)
        except (OSError, MirageError, ValueError, subprocess.TimeoutExpired) as e:
            return TrialResult(dict.fromkeys(names, False), f"the trial failed: {e}")
        finally:
            os.close(read)
            os.close(write)
    built = dict(said.held)
    holds = {name: built.get(name, False) and seen.get(name, True) is True for name in NAMES}
    return TrialResult({**holds, **{name: seen.get(name) is True for name in TRIED_ALONE}}, said.why)


@contextlib.contextmanager
def _listener() -> Iterator[int]:
    """A port at which this process takes connections; 0 where it may take none."""
    try:
        server = socket.create_server(("127.0.0.1", 0))
    except OSError:
        yield 0
        return
    with server:
        yield int(server.getsockname()[1])


@contextlib.contextmanager
def _shared_file() -> Iterator[str]:
    """A new file in the machine's shared memory; "" where it has none."""
    try:
        descriptor, path = tempfile.mkstemp(prefix="mirage-trial-", dir=private_view.SHARED)
    except OSError:
        yield ""
        return
    os.close(descriptor)
    try:
        yield path
    finally:
        os.unlink(path)


def holds() -> dict[str, bool]:
    """For `status` and `doctor`: what of the sandbox holds on this machine, by name."""
    return dict(tried().holds)

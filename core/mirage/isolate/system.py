"""Starting, watching and killing processes, and the clock: one object, so that a test can hand in another clock."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mirage.isolate import process_tree
from mirage.isolate.launch_order import WALLS

_FOLDER = "mirage-worker-"
ABANDONED_S = 7 * 24 * 3600.0  # a worker is replaced long before
# A worker dies with the *thread* that started it (PR_SET_PDEATHSIG), so one thread that lives as long as this process
# starts them all.
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mirage-start")


def _start(
    command: list[str], folder: Path, env: dict[str, str], descriptors: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    """A process group of its own in the folder; it inherits the descriptors and nothing else. OSError."""
    return _starter.submit(
        lambda: subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=env,
            pass_fds=descriptors,
            start_new_session=True,
            bufsize=0,
        )
    ).result()


def channel() -> tuple[int, int]:
    """(where to read, where to write). Two ends of a socket: either end of a pipe could be opened anew by whatever sees the process in
    /proc and is its user's."""
    reads, writes = socket.socketpair()
    return reads.detach(), writes.detach()


def ended(process: subprocess.Popen[bytes]) -> int | None:
    """Its exit status (negative: the signal) once it has ended, as Popen.poll; but its number stays taken until `wait`,
    so that its group can still be killed without meeting somebody else's."""
    if not hasattr(os, "waitid") or process.returncode is not None:
        return process.poll()
    found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def kill_tree(pid: int) -> None:
    """SIGKILL to all below `pid`, then to `pid` and its group. The launcher above a worker is the one to whom whatever the worker
    started comes back, in whatever session and with whatever environment."""
    process_tree.kill_below(pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def make_folder(of_worker: str = "") -> Path:
    """A new private folder for a worker; its name says whose it is, and where that process's number means anything. `of_worker`: for
    a worker's worker, the folder to lie in, which goes with that worker. Its name is short: a socket's path has 107 bytes."""
    if of_worker:
        return Path(tempfile.mkdtemp(prefix="w-", dir=of_worker))
    return Path(tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-{numbering()}-"))


def numbering() -> str:
    """Which machine and container give processes their numbers: others that share the temporary folder have other processes."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        said = f"{boot.strip()} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:  # not Linux
        said = platform.node()
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def sweep() -> int:
    """Remove the folders of workers whose parent was killed before it could: of processes with numbers of this machine and
    container once they are over, of others (whose numbers say nothing here) after a time that no worker lives. Gives how many."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*-*"):
        owner, _, rest = folder.name[len(_FOLDER) :].partition("-")
        with contextlib.suppress(OSError):  # another is removing it too
            facts = folder.lstat()
            ours = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid()
            here = rest.startswith(f"{numbering()}-")
            over = not _exists(int(owner)) if here and owner.isdigit() else time.time() - facts.st_mtime > ABANDONED_S
            if ours and owner.isdigit() and over:
                shutil.rmtree(folder)
                removed += 1
    return removed


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's has the number now
        return True
    return True


@dataclass(frozen=True)
class OperatingSystem:
    """`monotonic` in seconds; `start(command, folder, environment, descriptors)` a worker's launcher; `kill_tree(pid)`
    ends a worker and all it started. `walls`: those that are asked for, which are all of them."""

    monotonic: Callable[[], float] = time.monotonic
    start: Callable[[list[str], Path, dict[str, str], tuple[int, ...]], subprocess.Popen[bytes]] = _start
    kill_tree: Callable[[int], None] = kill_tree
    walls: tuple[str, ...] = WALLS


SYSTEM = OperatingSystem()

"""Start of the daemon on demand.

Any number of clients may start one at the same time: a lock in the daemon's own folder decides which one lives, the others leave,
and every client connects to that one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mirage.errors import DaemonUnavailable
from mirage.link import paths
from mirage.link.user_settings import TOKEN_VARIABLE
from mirage.link.version import SOURCE, package_version

START_TIMEOUT_S = 30.0  # an owner that ends takes up to 15 s, if its workers do
CLUSTER_TIMEOUT_S = 90.0  # one that reaches a cluster before it listens
AGAIN_S = 1.0  # after a daemon left in favour of another one that nobody can reach
# What the daemon takes over from the client that starts it: where it lives, never what code is loaded.
_KEPT = (
    *("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "PATH", "TMPDIR"),
    *("XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME", "MIRAGE_HOME", "MIRAGE_IDLE_S"),
    *("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"),
    TOKEN_VARIABLE,  # sent to the cache that the user's own settings name, and nowhere else
)
T = TypeVar("T")


def environment() -> dict[str, str]:
    """The daemon's environment."""
    kept = list(_KEPT)
    if package_version() == SOURCE:  # a checkout that is not installed can only be found through this
        kept.append("PYTHONPATH")
    found = {name: os.environ[name] for name in kept if name in os.environ} | {"PYTHONSAFEPATH": "1"}
    home = paths.mirage_home()
    if home is not None:
        found["MIRAGE_HOME"] = str(home)  # as it is written out here
    return found


def spawn(cluster: str = "") -> tuple[subprocess.Popen[bytes], Path]:
    """A detached daemon process, with the cluster at an address where one is named, and the file that what it says before its log
    opens goes to."""
    folder = paths.ensure_private(paths.runtime_dir())
    try:
        descriptor, name = tempfile.mkstemp(".txt", "start-", folder)  # several threads may start one
    except OSError as e:
        raise DaemonUnavailable(
            f"nothing can be written in {folder}: {e.strerror}", next_step=paths.ELSEWHERE
        ) from None
    said = Path(name)
    with open(descriptor, "wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "mirage_daemon", *([f"--cluster={cluster}"] if cluster else [])],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment(),
            cwd="/",  # never a workspace: its modules would come first on the path
            start_new_session=True,
        )
    threading.Thread(target=process.wait, daemon=True, name="mirage-daemon-end").start()  # a long-lived client reaps it
    return process, said


def start_until(connect: Callable[[], T], timeout_s: float = START_TIMEOUT_S, cluster: str = "") -> T:
    """What `connect` gives, as soon as it stops raising DaemonUnavailable; it is started when it is not there, with the cluster at
    an address where one is named."""
    deadline, pause, ended = time.monotonic() + timeout_s, 0.01, 0.0
    try:
        return connect()
    except DaemonUnavailable:
        process, said = spawn(cluster)
    try:
        while True:
            try:
                return connect()
            except DaemonUnavailable:
                status = process.poll()
                if status == 0:  # another daemon has the lock, and will listen soon; unless it was just ending
                    ended = ended or time.monotonic()
                    if time.monotonic() - ended > AGAIN_S:
                        said.unlink(missing_ok=True)
                        (process, said), ended = spawn(cluster), 0.0
                elif status is not None:
                    words = said.read_text("utf-8", "replace").strip().rpartition("\n")[2]
                    raise DaemonUnavailable(
                        f"the daemon ended with status {status} while it started: {words}",
                        next_step="run `mirage daemon run` to see why",
                    ) from None
                if time.monotonic() > deadline:
                    raise DaemonUnavailable(
                        f"the daemon did not listen within {timeout_s:g} s", next_step="look at `mirage daemon logs`"
                    ) from None
            time.sleep(pause)
            pause = min(0.1, pause * 1.5)
    finally:
        said.unlink(missing_ok=True)

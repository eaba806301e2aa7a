"""A lock for each GPU across processes: two timings at once would both be wrong."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from mirage.errors import MirageError
from mirage.isolate.launch_order import TOKEN
from mirage.isolate.sandbox import LOCKS
from mirage.link import paths


def folder() -> str:
    """Where the locks lie: one folder for all processes of this user, made if it is missing; "" where it cannot be made
    privately. A worker has it from its parent, since it can neither name nor make another."""
    if TOKEN in os.environ:
        return os.environ.get(LOCKS, "")
    try:
        return str(paths.ensure_private(paths.ensure_private(paths.runtime_dir()) / "locks"))
    except (MirageError, OSError):
        return ""


@contextmanager
def locked(device: str) -> Iterator[bool]:
    """Held by this process alone among this user's; waits for it. It ends with the process, however that ends. False where
    there is no folder for it."""
    place = folder()
    if not place:
        yield False
        return
    name = f"gpu-{hashlib.sha256(device.encode()).hexdigest()[:32]}.lock"
    lock = os.open(os.path.join(place, name), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield True
    finally:
        os.close(lock)

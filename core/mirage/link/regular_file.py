"""Reading a file of somebody else's: a regular one, no longer than a limit, without waiting for anybody."""

from __future__ import annotations

import os
import stat


def read_regular(path: str, limit: int, *, follow: bool = True) -> bytes | None:
    """The file's bytes if it is a regular file of at most `limit` bytes; never waits, as on a pipe it would. Not `follow`: a link
    is no regular file."""
    links = 0 if follow else os.O_NOFOLLOW
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | links)
    except (OSError, ValueError):
        return None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > limit:
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    except OSError:
        return None
    finally:
        os.close(descriptor)

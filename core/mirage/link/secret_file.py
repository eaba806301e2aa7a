"""A secret of this user's in a file that nobody else can read: the key of a MAC, made at its first use."""

from __future__ import annotations

import logging
import os
import secrets
import stat
from pathlib import Path

log = logging.getLogger("mirage.link")
MAC_BYTES = 32


def load_secret(path: Path) -> bytes:
    """The MAC's key, made if it is missing. One that others could have read is replaced: what it signed is then
    foreign, and nothing is lost but time. Where it cannot be written it holds as long as the process."""
    found = known_secret(path)
    return _new_secret(path) if found is None else found


def known_secret(path: Path) -> bytes | None:
    """The key that is there, if it is a whole one in a private regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        facts = os.fstat(descriptor)
        private = facts.st_uid == os.geteuid() and not stat.S_IMODE(facts.st_mode) & 0o077
        secret = os.read(descriptor, MAC_BYTES + 1) if stat.S_ISREG(facts.st_mode) else b""
    except OSError as e:
        log.warning("the key %s cannot be read: %s", path, e)
        private, secret = False, b""
    finally:
        os.close(descriptor)
    if private and len(secret) == MAC_BYTES:
        return secret
    log.warning("the key %s was not private or not whole; nothing that it signed is believed", path)
    return None


def _new_secret(path: Path) -> bytes:
    secret, draft = secrets.token_bytes(MAC_BYTES), path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as e:
        log.warning("the key %s cannot be written: %s", path, e)
        return secret
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secret)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)  # of several processes that make one, the first
            draft.unlink()
        except FileExistsError:
            there = known_secret(path)
            if there is not None:
                draft.unlink()
                return there
            os.replace(draft, path)
    except OSError as e:
        log.warning("the key %s cannot be written: %s", path, e)
        draft.unlink(missing_ok=True)
        return secret
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return secret

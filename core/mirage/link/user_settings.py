"""The user's own settings: one JSON file that no project can name, and that counts only while nobody else can write it."""

from __future__ import annotations

import json
import os
import pwd
import stat
from pathlib import Path

from mirage.errors import MirageError
from mirage.link import paths

FILE = "settings.json"
UNCONFINED = "run_code_even_where_it_cannot_be_confined"
REMOTE_CACHE = "remote_cache"  # the URL of a cache that several machines share
CLUSTER = "cluster"  # the address of a Ray cluster whose nodes search, or "auto"
REMOTE_FIRST_BYTE_MS = "remote_cache_first_byte_ms"
TOKEN_FILE, TOKEN_VARIABLE = "remote_cache.token", "MIRAGE_REMOTE_CACHE_TOKEN"
_MOST, _MOST_TOKEN = 1 << 16, 1 << 12  # bytes
_OTHERS_WRITE, _OTHERS_DO_ANYTHING = 0o022, 0o077


def settings_path() -> Path:
    """Neither HOME nor XDG_CONFIG_HOME has a say: a project's shell may set them. UntrustedFolder, as `paths.mirage_home`."""
    home = paths.mirage_home()
    return (home or Path(pwd.getpwuid(os.getuid()).pw_dir) / ".config" / "mirage") / FILE


def allows(name: str) -> bool:
    """Whether the user set `name` to true. A file that is not this user's alone to write, or cannot be read, says nothing."""
    return value(name) is True


def value(name: str) -> object:
    """What the user set `name` to; None where the file does not say it, or says nothing (see `allows`)."""
    try:
        found = json.loads(_own_file(FILE, _MOST, _OTHERS_WRITE))
    except (ValueError, RecursionError):
        return None
    return found.get(name) if isinstance(found, dict) else None


def remote_cache_token() -> str:
    """What the shared cache asks for: the variable's, else that of a file beside the settings which nobody else can read; "" for
    none."""
    said = os.environ.get(TOKEN_VARIABLE) or _own_file(TOKEN_FILE, _MOST_TOKEN, _OTHERS_DO_ANYTHING).decode("latin-1")
    return said.strip()


def _own_file(name: str, most: int, refused: int) -> bytes:
    """At most so many bytes of a regular file beside the settings that is this user's; nothing where its mode has one of the bits
    `refused`, or where it cannot be read."""
    try:
        place = settings_path().with_name(name)
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, KeyError, MirageError):
        return b""
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & refused:
            return b""
        return file.read(most)

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
_MOST = 1 << 16  # bytes


def settings_path() -> Path:
    """Neither HOME nor XDG_CONFIG_HOME has a say: a project's shell may set them. UntrustedFolder, as `paths.mirage_home`."""
    home = paths.mirage_home()
    return (home or Path(pwd.getpwuid(os.getuid()).pw_dir) / ".config" / "mirage") / FILE


def allows(name: str) -> bool:
    """Whether the user set `name` to true. A file that is not this user's alone to write, or cannot be read, says nothing."""
    try:
        descriptor = os.open(settings_path(), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, KeyError, MirageError):
        return False
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
            return False
        try:
            found = json.loads(file.read(_MOST))
        except ValueError:
            return False
    return isinstance(found, dict) and found.get(name) is True

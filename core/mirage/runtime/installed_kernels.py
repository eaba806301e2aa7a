"""The kernels that a user installed: one module a file, named by the digest of the slice that it replaces.

The folder is `$MIRAGE_HOME/kernels`, or `kernels` in the user's data folder. Its files are imported, so it must belong
to the user and be writable by nobody else; a folder or file that is not is refused, never mended.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path

from mirage.errors import CannotWrite, UntrustedFolder

_DIGEST = re.compile(r"[0-9a-f]{64}")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def kernels_dir() -> Path:
    """Where kernels are installed; it need not exist."""
    home = os.environ.get("MIRAGE_HOME")
    if not home:
        from platformdirs import user_data_dir

        home = user_data_dir("mirage")
    return Path(home) / "kernels"


def install(digest: str, module_text: str) -> Path:
    """Put a kernel module in place of any earlier one for the slice; a reader sees the old text or the new one, never a
    part. Raises CannotWrite, UntrustedFolder."""
    path = _path(digest)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_folders(path)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(module_text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CannotWrite(f"the kernel cannot be installed: {error}", path=str(path)) from error
    return path


def install_for(text: str, function: str, module_text: str) -> Path:
    """`install` for a decorated function of a text; the digest is that of its slice. Raises what `slice.cut` does."""
    from mirage.source.slice import cut

    return install(cut(text, function).digest, module_text)


def lookup(digest: str) -> Path | None:
    """The kernel module for a slice, or None. Raises UntrustedFolder where somebody else could have written it."""
    path = _path(digest)
    try:
        found = os.lstat(path)
    except OSError:
        return None
    _check_folders(path)
    if not stat.S_ISREG(found.st_mode) or not _is_private(found):
        raise UntrustedFolder(f"{path} is not a file that only you can write", path=str(path))
    return path


def remove(digest: str) -> bool:
    """Take a kernel out; whether there was one."""
    try:
        _path(digest).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CannotWrite(f"the kernel cannot be removed: {error}", path=str(_path(digest))) from error
    return True


def digests() -> list[str]:
    """Those of the slices that a kernel is installed for."""
    try:
        with os.scandir(kernels_dir()) as entries:
            names = sorted(e.name.removesuffix(".py") for e in entries if e.name.endswith(".py"))
    except OSError:
        return []
    return [name for name in names if _DIGEST.fullmatch(name)]


def is_empty() -> bool:
    """Whether no kernel is installed at all: then a function need not even be read."""
    try:
        with os.scandir(kernels_dir()) as entries:
            return not any(e.name.endswith(".py") for e in entries)
    except OSError:
        return True


def _path(digest: str) -> Path:
    if not _DIGEST.fullmatch(digest):
        raise ValueError(f"not a digest: {digest!r}")
    return kernels_dir() / f"{digest}.py"


def _check_folders(path: Path) -> None:
    for folder in (path.parent, path.parent.parent):
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or not _is_private(found):
            raise UntrustedFolder(f"{folder} is not a folder that only you can write", path=str(folder))


def _is_private(found: os.stat_result) -> bool:
    if os.name != "posix":
        return True  # mode bits say nothing there; the user's data folder is private by its place
    return found.st_uid == os.getuid() and not found.st_mode & _OTHERS_WRITE

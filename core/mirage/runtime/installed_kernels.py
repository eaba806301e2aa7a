"""The installed kernels: one module a file, named by the digest of the slice that it replaces; behind it stands, where a program
took the kernel from the daemon, for which GPU and versions (`daemon_kernels.place`).

The folder is `$MIRAGE_HOME/kernels`, or `kernels` in the user's data folder. Its files are imported, so it must belong
to the user and be writable by nobody else; a folder or file that is not is refused, never mended. Each ends with a line
that only who knows the user's key can write; a file without it is not read.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from pathlib import Path

from mirage.errors import CannotWrite, KernelUnsigned, UntrustedFolder
from mirage.link import paths
from mirage.link.secret_file import known_secret, load_secret

_NAME = re.compile(r"[0-9a-f]{64}(-sm_[0-9]+-[0-9a-f]{16})?")
KEY = "kernels.key"
SIGNED = "# mirage:signed "
MAX_BYTES = 4 << 20
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def install(digest: str, module_text: str) -> Path:
    """Put a kernel module in place of any earlier one for the slice; a reader sees the old text or the new one, never a
    part. Raises CannotWrite, UntrustedFolder."""
    path = _path(digest)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_folders(path)
        key = load_secret(paths.ensure_private(paths.data_dir()) / KEY)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(f"{module_text}{SIGNED}{signature(digest, module_text, key)}\n")
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


def read(digest: str) -> str | None:
    """The module's text, None where none is installed. Raises UntrustedFolder as `lookup` does, and KernelUnsigned where the
    file is not what `install` wrote for this digest."""
    if lookup(digest) is None:
        return None
    path = _path(digest)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise UntrustedFolder(f"{path} cannot be opened: {error.strerror}", path=str(path)) from None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or not _is_private(found) or found.st_size > MAX_BYTES:
            raise UntrustedFolder(f"{path} is not a file that only you can write", path=str(path))
        text, mark, said = file.read(MAX_BYTES).decode("utf-8", "surrogateescape").rpartition(SIGNED)
    paths.check_private(paths.data_dir())
    key = known_secret(paths.data_dir() / KEY)
    if (
        key is None
        or not mark
        or not hmac.compare_digest(
            said.encode("utf-8", "surrogateescape"), f"{signature(digest, text, key)}\n".encode()
        )
    ):
        raise KernelUnsigned(f"{path} is not as this user's Mirage wrote it", path=str(path))
    return text


def signature(digest: str, module_text: str, key: bytes) -> str:
    """What only who knows the key can say of a text in its place."""
    return hmac.new(
        key, f"kernel {digest}\n{module_text}".encode("utf-8", "surrogateescape"), hashlib.sha256
    ).hexdigest()


def remove(digest: str) -> bool:
    """Take a kernel out; whether there was one."""
    try:
        _path(digest).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CannotWrite(f"the kernel cannot be removed: {error}", path=str(_path(digest))) from error
    return True


def names(digest: str = "") -> list[str]:
    """Those of all kernels, or of the ones for a slice. Raises UntrustedFolder."""
    try:
        with os.scandir(paths.kernels_dir()) as entries:
            found = sorted(e.name.removesuffix(".py") for e in entries if e.name.endswith(".py"))
    except OSError:
        return []
    return [name for name in found if _NAME.fullmatch(name) and name.startswith(digest)]


def is_empty() -> bool:
    """Whether no kernel is installed at all: then a function need not even be read. Raises UntrustedFolder."""
    try:
        with os.scandir(paths.kernels_dir()) as entries:
            return not any(e.name.endswith(".py") for e in entries)
    except OSError:
        return True


def _path(digest: str) -> Path:
    if not _NAME.fullmatch(digest):
        raise ValueError(f"not a digest: {digest!r}")
    return paths.kernels_dir() / f"{digest}.py"


def _check_folders(path: Path) -> None:
    for folder in (path.parent, path.parent.parent):
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or not _is_private(found):
            raise UntrustedFolder(f"{folder} is not a folder that only you can write", path=str(folder))


def _is_private(found: os.stat_result) -> bool:
    if os.name != "posix":
        return True  # mode bits say nothing there; the user's data folder is private by its place
    return found.st_uid == os.getuid() and not found.st_mode & _OTHERS_WRITE

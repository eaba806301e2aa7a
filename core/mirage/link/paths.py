"""Paths of the daemon's socket, cache and log, and the check that they are private to this user.

`MIRAGE_HOME` moves both folders (for tests, and for a second daemon of one user). Nothing that a workspace contains can
name either of them.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import sys
from pathlib import Path

import platformdirs

from mirage.errors import DaemonUnavailable, UntrustedFolder, UntrustedSocket
from mirage.link.regular_file import read_regular
from mirage.link.secret_file import known_secret

ELSEWHERE = "set MIRAGE_HOME to a folder of yours"
PROJECT_MARKS = (".git", "pyproject.toml", "setup.py")  # a folder that has one of these is a project's
SOCKET = "daemon.sock"
MAX_SOCKET_PATH = 103  # bytes; the kernel's structure holds 104 to 108 with the closing zero
_LOCAL_PEERCRED = 1  # macOS: struct xucred, the uid is its second word


def mirage_home() -> Path | None:
    """The folder that MIRAGE_HOME names, `~` written out; None where it names none. UntrustedFolder where the present folder
    would decide which one it is, or where it lies in a project: whoever wrote the project could have filled it."""
    said = os.environ.get("MIRAGE_HOME")
    if not said:
        return None
    folder = Path(os.path.normpath(os.path.expanduser(said)))
    if not folder.is_absolute():
        raise UntrustedFolder(
            f"MIRAGE_HOME is {said!r}, which is no full path", next_step="give it the full path of a folder"
        )
    user = os.path.expanduser("~")
    for above in (folder, *folder.parents):
        if str(above) == user:
            break
        mark = next((m for m in PROJECT_MARKS if os.path.lexists(above / m)), None)
        if mark is not None:
            raise UntrustedFolder(
                f"MIRAGE_HOME is {folder}, inside the project {above} (it has {mark})",
                path=str(folder),
                next_step="name a folder outside of every project, or unset it",
            )
    return folder


def runtime_dir() -> Path:
    """The folder of the socket and its lock."""
    home = mirage_home()
    if home is not None:
        return home / "run"
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isabs(runtime):
        return Path(runtime) / "mirage"
    return _user_home() / ".cache" / "mirage" / "run"


def _user_home() -> Path:
    """The user's folder, by the system's word where HOME is none: a relative one would be a workspace's."""
    import pwd

    with contextlib.suppress(RuntimeError):
        if (home := Path.home()).is_absolute():
            return home
    with contextlib.suppress(KeyError):
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    raise DaemonUnavailable("this user has no home folder", next_step=ELSEWHERE)


def data_dir() -> Path:
    """The folder of the cache, its key and the log."""
    home = mirage_home()
    return home / "data" if home is not None else user_data()


def kernels_dir() -> Path:
    """The folder of the installed kernels; it need not exist."""
    home = mirage_home()
    return (user_data() if home is None else home) / "kernels"


def user_data() -> Path:
    """The user's data folder for Mirage. UntrustedFolder where its variable is no full path."""
    folder = Path(platformdirs.user_data_path("mirage"))
    if not folder.is_absolute():
        raise UntrustedFolder(f"{folder} is no full path", next_step=ELSEWHERE)
    return folder


def socket_path() -> Path:
    """The socket itself. UntrustedSocket when its path is longer than the kernel takes."""
    path = runtime_dir() / SOCKET
    if len(os.fsencode(path)) > MAX_SOCKET_PATH:
        raise UntrustedSocket(
            f"the socket's path is longer than {MAX_SOCKET_PATH} bytes: {path}",
            next_step="set MIRAGE_HOME to a shorter path",
        )
    return path


def place_path() -> Path:
    """The file beside the cache that says at which socket the daemon listens that has it: each session of a user may have a
    runtime folder of its own, and all have one cache."""
    return data_dir() / "daemon.place"


def other_socket() -> Path | None:
    """The socket that `place_path` names, if it is another than this session's and can be one: a full path in a private folder."""
    said = read_regular(str(place_path()), MAX_SOCKET_PATH + 1, follow=False)
    if said is None:
        return None
    check_private(data_dir())
    path = Path(os.fsdecode(said.strip()))
    fits = path.is_absolute() and path.name == SOCKET and len(os.fsencode(path)) <= MAX_SOCKET_PATH
    return path if fits and path != socket_path() and is_there(path) else None


def token_path(beside: Path) -> Path:
    """What a client of that socket has to know."""
    return beside.with_name("daemon.token")


def token(connection: socket.socket) -> str:
    """What lies beside the socket that a connection leads to; "" where nothing does."""
    try:
        place = os.fsdecode(connection.getpeername())
    except OSError:
        return ""
    found = known_secret(token_path(Path(place))) if place else None
    return "" if found is None else found.hex()


def log_path() -> Path:
    return data_dir() / "daemon.log"


def ensure_private(folder: Path) -> Path:
    """`folder` itself, made if it is missing, once it is known to be a real folder of this user's with mode 0700.

    Nothing is mended: a folder that another could have written to may hold another's socket. DaemonUnavailable where the
    system does not let it be made.
    """
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):  # made before: it is checked like any other
            folder.mkdir(mode=0o700)
    except OSError as e:
        raise DaemonUnavailable(f"{folder} cannot be made: {e.strerror}", next_step=ELSEWHERE) from None
    check_private(folder)
    return folder


def is_there(path: Path) -> bool:
    """Whether something, if only a link, has that name. DaemonUnavailable where the system does not let it be known."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as e:
        raise DaemonUnavailable(f"{path} cannot be reached: {e.strerror}", next_step=ELSEWHERE) from None
    return True


def check_private(folder: Path) -> None:
    """UntrustedSocket unless `folder` is this user's alone, and nobody else can put another in its place."""
    try:
        found = folder.lstat()
    except OSError as e:
        raise UntrustedSocket(f"{folder}: {e.strerror}") from None
    if stat.S_ISLNK(found.st_mode) or not stat.S_ISDIR(found.st_mode):
        raise UntrustedSocket(f"{folder} is not a real folder")
    if found.st_uid != os.geteuid():
        raise UntrustedSocket(f"{folder} belongs to user {found.st_uid}")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise UntrustedSocket(f"{folder} has mode {stat.S_IMODE(found.st_mode):04o}, so others reach into it")
    for above in folder.resolve().parents:
        mode = above.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise UntrustedSocket(f"{above} can be written by everyone", next_step=f"mend its mode: chmod o-w {above}")


def peer(connection: socket.socket) -> tuple[int | None, int]:
    """(process id or None, user id) of the other end of a connected unix socket, as the kernel knows them. A process that
    this one's container does not see has no id."""
    if sys.platform == "darwin":
        words = struct.unpack_from("=II", connection.getsockopt(0, _LOCAL_PEERCRED, 76))
        return None, int(words[1])
    size = struct.calcsize("3i")
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return pid or None, uid


def check_peer(connection: socket.socket) -> int | None:
    """The other end's process id, once its user is known to be this one; UntrustedSocket otherwise."""
    pid, uid = peer(connection)
    if uid != os.geteuid():
        raise UntrustedSocket(f"the other end of the socket is user {uid}", next_step="end that user's process")
    return pid

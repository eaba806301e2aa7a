"""Which files a worker of an interpreter reads, found without running that interpreter: a project's may do anything when it starts."""

from __future__ import annotations

import glob
import os
import stat
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from mirage.errors import MirageError
from mirage.isolate.launch_order import Visible
from mirage.isolate.worker_environment import same_interpreter
from mirage.link import paths

# what an installed system consists of; none of them holds a user's own files
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/sys", "/nix/store", "/gnu/store")
_SETTINGS = "/etc"
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_GPUS = ("/dev/nvidia*", "/dev/kfd", "/dev/dri", "/dev/dxg")
_LINKS = 40  # that a path may go through, as for the kernel


def visible(interpreter: str, *, gpu: bool, locks: str = "") -> Visible:
    """For a worker of `interpreter`; `gpu` adds the nodes of the GPUs, `locks` is the folder of their locks, if any."""
    found: list[str] = []
    links: dict[str, str] = {}
    for path in dict.fromkeys(_wanted(interpreter)):
        real = resolve(path, links)
        if not real.startswith("/proc/") and os.path.exists(real) and not too_broad(real):
            found.append(real)
    devices = [*_DEVICES, *(sorted(p for pattern in _GPUS for p in glob.glob(pattern)) if gpu else ())]
    return Visible(
        read=tuple(outermost(found)),
        links=tuple(links.items()),
        devices=tuple(d for d in devices if os.path.exists(d)),
        locks=(os.path.realpath(locks),) if locks and gpu else (),
        hidden=tuple(_own_folders()),
    )


def resolve(path: str, links: dict[str, str]) -> str:
    """The real path, as the kernel would walk it; every symbolic link on the way is noted (where -> what it says)."""
    done, rest = "/", [part for part in path.split("/") if part]
    for _ in range(1000):
        if not rest:
            return done
        part = rest.pop(0)
        if part in (".", ".."):
            done = os.path.dirname(done) if part == ".." else done
            continue
        here = os.path.join(done, part)
        try:
            what = "" if here == "/proc" or done == "/proc" else os.readlink(here)
        except OSError:  # no link, or not there
            what = ""
        if not what:
            done = here
            continue
        if len(links) > _LINKS * 50:
            break
        links[here] = what
        rest = [p for p in what.split("/") if p] + rest
        done = "/" if what.startswith("/") else done
    return os.path.realpath(path)


def outermost(found: Iterable[str]) -> list[str]:
    """Without those that lie below another."""
    kept: list[str] = []
    for path in sorted(set(found)):
        if not kept or not (path + "/").startswith(kept[-1] + "/"):
            kept.append(path)
    return kept


def _wanted(interpreter: str) -> Iterator[str]:
    yield from _SYSTEM
    yield from _settings()
    yield str(Path(__file__).resolve().parent.parent)
    if same_interpreter(interpreter):  # this process is it: what it imports from is known
        yield from (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
        yield from filter(None, sysconfig.get_paths().values())
        yield from filter(os.path.isabs, sys.path)
    yield from of_interpreter(os.path.abspath(interpreter))


def of_interpreter(interpreter: str) -> Iterator[str]:
    """The binary, its installation, its environment, and what lies beside that environment and is installed from there."""
    binary = os.path.realpath(interpreter)
    yield from (interpreter, binary)
    environment = os.path.dirname(os.path.dirname(interpreter))
    settings = _environment_settings(os.path.join(environment, "pyvenv.cfg"))
    homes = [os.path.dirname(os.path.dirname(binary))]
    if settings.get("home"):
        homes.append(os.path.dirname(settings["home"]))
    for home in homes:
        yield home
        if too_broad(os.path.realpath(home)):
            yield from glob.glob(f"{home}/lib/*python3*")
    if settings:
        yield environment
        yield from _editable(environment)
    if not settings or settings.get("include-system-site-packages", "").lower() == "true":
        yield from glob.glob(os.path.expanduser("~/.local/lib/python3*/site-packages"))


def _environment_settings(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            rows = [line.partition("=") for line in file.read(1 << 16).splitlines()]
    except OSError:
        return {}
    return {name.strip().lower(): value.strip() for name, sign, value in rows if sign}


def _editable(environment: str) -> Iterator[str]:
    """Folders that a `.pth` file of the environment adds to the path, if they lie in the folder in which the environment does: any
    other one would be opened by a word of the project's own."""
    project = os.path.realpath(os.path.dirname(environment))
    if too_broad(project):
        return
    for path in glob.glob(f"{glob.escape(environment)}/lib/python3*/site-packages/*.pth"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.read(1 << 16).splitlines()
        except OSError:
            continue
        for line in lines:
            if os.path.isabs(line) and os.path.realpath(line).startswith(project + "/"):
                yield line


def _settings() -> Iterator[str]:
    """The system's settings that everybody may read: the superuser's worker reads no more of them than another's."""
    if os.geteuid() != 0:
        yield _SETTINGS
        return
    try:
        yield from _for_everybody(_SETTINGS)[1]
    except PermissionError:  # this process is behind such a wall itself
        yield _SETTINGS


def _for_everybody(folder: str) -> tuple[bool, list[str]]:
    """Whether all below `folder` can be read by everybody, and the largest parts of it that can."""
    whole, parts = True, []
    for entry in os.scandir(folder):
        if entry.is_symlink():
            parts.append(entry.path)
        elif not entry.stat(follow_symlinks=False).st_mode & stat.S_IROTH:
            whole = False
        elif entry.is_dir():
            clean, inner = _for_everybody(entry.path)
            whole = whole and clean
            parts += [entry.path] if clean else inner
        else:
            parts.append(entry.path)
    return whole, [folder] if whole else parts


def too_broad(path: str) -> bool:
    """Whether a folder is too much to open because an interpreter lies in it: the root, a home, or what holds one of Mirage's own."""
    real = os.path.realpath(path)
    if real in (
        "/",
        "/home",
        "/root",
        "/tmp",
        "/var",
        "/mnt",
        "/srv",
        "/run",
        "/dev",
        "/proc",
        os.path.realpath(tempfile.gettempdir()),
    ):
        return True
    inside = [os.path.realpath(Path.home()), *_own_folders()]
    return any((p + "/").startswith(real.rstrip("/") + "/") for p in inside)


def _own_folders() -> Iterator[str]:
    """Where the daemon's socket, its cache and its key lie."""
    for place in (paths.runtime_dir, paths.data_dir):
        try:
            yield os.path.realpath(place())
        except MirageError:  # there is none
            continue

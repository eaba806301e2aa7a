"""A private view of the machine: new namespaces, and a root that holds what a worker reads and nothing else.

The view is a mount namespace whose root is an empty folder in memory: what is named is bound there read-only, /tmp, /dev/shm and the
private folder are new and bounded, /proc shows the processes of the view, /dev the devices of a list. Nothing of it needs rights:
the namespaces are those of a new user namespace. Imports the standard library and its neighbour alone.
"""

from __future__ import annotations

import os
import stat

from mirage.isolate import linux_calls as linux
from mirage.isolate.launch_order import LaunchOrder
from mirage.isolate.process_tree import EACH_FILE

NEW = (
    linux.CLONE_NEWUSER | linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWIPC | linux.CLONE_NEWNET
    | linux.CLONE_NEWUTS | linux.CLONE_NEWCGROUP
)  # fmt: skip
_STREAMS = (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2"))
_MEMORY = linux.MS_NOSUID | linux.MS_NODEV
TMP, SHARED, PROC = "/tmp", "/dev/shm", "/proc"
SHARE = 4  # a folder in memory has one in so many parts of it: all three, filled at one stroke, leave room for the processes


def writable(folder: str) -> tuple[str, ...]:
    """The folders of the view that can be written, each in memory."""
    return (folder, TMP, SHARED)


def map_user(uid: int, gid: int) -> None:
    """This process's user is the same inside and outside, and there is no other."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def enter(order: LaunchOrder) -> None:
    """Make the view and enter it. For the first process of new namespaces. OSError names the step that failed."""
    root = order.folder
    linux.mount("", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("tmpfs", root, "tmpfs", _MEMORY, "size=4m,mode=755")
    most = min(order.bounds.disk, order.bounds.total // SHARE)
    size = f"size={most},nr_inodes={most // EACH_FILE},mode=700"
    _make_folder(root + TMP)
    linux.mount("tmpfs", root + TMP, "tmpfs", _MEMORY, size)
    home = os.environ.get("HOME", "")
    if os.path.isabs(home):
        _make_folder(root + home)
    for where, what in order.visible.links:
        _make_link(root, where, what)
    for path in sorted(order.visible.read):  # a folder before what lies below it
        _bind(path, root + path)
    for path in order.visible.hidden:
        if os.path.isdir(root + path):
            linux.mount("tmpfs", root + path, "tmpfs", _MEMORY, "size=4k,mode=500")
    _devices(order, root + "/dev")
    written = [order.folder, SHARED]
    for path in written:
        _make_folder(root + path)
    _make_folder(root + "/proc")
    linux.mount("proc", root + "/proc", "proc", _MEMORY | linux.MS_NOEXEC)
    _limit_processes(root + "/proc/sys/kernel/pid_max", order.bounds.tasks)
    for path in _of_the_machine(root + PROC):
        _bind(path, path)
    for path in order.visible.locks:
        _bind(path, root + path)
    linux.set_mount(root, read_only=True, recursive=True)
    for path in (TMP, *order.visible.locks, *(("/proc",) if order.unix else ())):
        if os.path.exists(root + path):
            linux.set_mount(root + path, read_only=False)
    for path in written:
        linux.mount("tmpfs", root + path, "tmpfs", _MEMORY, size)
    linux.enter_root(root)


def _limit_processes(path: str, most: int) -> None:
    """The kernel's own limit, for this namespace alone: before Linux 6.14 it was the machine's, and is not touched."""
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    if release >= (6, 14):
        with open(path, "w", encoding="ascii") as file:
            file.write(str(most))


def machine_is_read_only() -> bool:
    """Whether this user's processes are all that he can write in this machine's /proc, the superuser without capabilities too."""
    return os.geteuid() != 0 or all(os.statvfs(path).f_flag & os.ST_RDONLY for path in _of_the_machine(PROC))


def _of_the_machine(proc: str) -> list[str]:
    """What speaks to the whole machine: all that can be written there and is not a process's."""
    with os.scandir(proc) as entries:
        kept = [(e.path, e.stat().st_mode) for e in entries if not e.name.isdigit() and not e.is_symlink()]
    return [path for path, mode in kept if stat.S_ISDIR(mode) or mode & 0o222]


def _make_folder(path: str) -> None:
    os.makedirs(path, mode=0o755, exist_ok=True)


def _make_link(root: str, where: str, what: str) -> None:
    _make_folder(root + os.path.dirname(where))
    if not os.path.lexists(root + where):
        os.symlink(what, root + where)


def _bind(source: str, target: str) -> None:
    """The same file or folder at `target`, with all that is mounted below it. What is not there is left out."""
    try:
        is_folder = stat.S_ISDIR(os.stat(source).st_mode)
    except OSError:
        return
    if not os.path.exists(target):
        if is_folder:
            _make_folder(target)
        else:
            _make_folder(os.path.dirname(target))
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    linux.mount(source, target, flags=linux.MS_BIND | linux.MS_REC)


def _devices(order: LaunchOrder, folder: str) -> None:
    _make_folder(folder)
    for path in order.visible.devices:
        _bind(path, folder + path.removeprefix("/dev"))
    for name, target in _STREAMS:
        os.symlink(target, f"{folder}/{name}")

"""The kernel's calls that Python has no name for, by ctypes: numbers, flags, and one way to fail (OSError).

Imports the standard library alone: the launcher runs without any package.
"""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWUTS, CLONE_NEWCGROUP = 0x20000000, 0x40000000, 0x04000000, 0x02000000
PR_SET_PDEATHSIG, PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_SET_SECCOMP, PR_SET_SECUREBITS = 1, 23, 24, 22, 28
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 36, 38, 47
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID = -100, 0x8000, 1, 2


@dataclass(frozen=True)
class _Numbers:
    clone: int
    pivot_root: int
    capset: int
    mount_setattr: int = 442


_NUMBERS = {"x86_64": _Numbers(56, 155, 126), "aarch64": _Numbers(220, 41, 91)}


def known() -> bool:
    """Whether this machine's numbers are in the table."""
    return sys.platform.startswith("linux") and os.uname().machine in _NUMBERS and sys.maxsize > 1 << 32


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _number(name: str) -> int:
    return int(getattr(_NUMBERS[os.uname().machine], name))


def prctl(option: int, value: int, more: int = 0) -> int:
    """OSError where the kernel refuses."""
    arguments = [ctypes.c_ulong(x) for x in (value, more, 0, 0)]
    return _checked(int(libc().prctl(option, *arguments)), f"prctl {option}")


def clone(flags: int) -> int:
    """As `os.fork`, into the new namespaces that `flags` name. Only for a process with one thread."""
    arguments = [ctypes.c_ulong(x) for x in (flags | 17, 0, 0, 0, 0)]  # 17: SIGCHLD at its end
    return _checked(int(libc().syscall(_number("clone"), *arguments)), "clone")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    texts = [os.fsencode(t) or None for t in (source, target, kind)]
    done = libc().mount(*texts, ctypes.c_ulong(flags), os.fsencode(data) or None)
    _checked(int(done), f"mount {target}")


def set_mount(target: str, *, read_only: bool, recursive: bool = False) -> None:
    """Whether a mount (and those below it) may be written; no set-user-id program counts there."""
    attributes = (ctypes.c_uint64 * 4)(_MOUNT_ATTR_NOSUID, 0, 0, 0)
    attributes[0 if read_only else 1] |= _MOUNT_ATTR_RDONLY
    flags = ctypes.c_uint(_AT_RECURSIVE if recursive else 0)
    done = libc().syscall(
        _number("mount_setattr"), _AT_FDCWD, os.fsencode(target), flags, ctypes.byref(attributes), ctypes.c_size_t(32)
    )
    _checked(int(done), f"mount_setattr {target}")


def enter_root(folder: str) -> None:
    """Make `folder`, a mount, the root, and let go of the old one."""
    os.chdir(folder)
    _checked(int(libc().syscall(_number("pivot_root"), b".", b".")), "pivot_root")
    _checked(int(libc().umount2(b".", MNT_DETACH)), "umount of the old root")
    os.chdir("/")


def drop_capabilities() -> None:
    """None are left, and none can be had again, by the superuser either. OSError."""
    capability = 0
    while True:
        try:
            if prctl(PR_CAPBSET_READ, capability):
                prctl(PR_CAPBSET_DROP, capability)
        except OSError as e:
            if capability and e.errno == 22:  # past the last one that the kernel knows
                break
            if e.errno != 1:  # a user without any may not drop, and has none
                raise
        capability += 1
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _checked(
        int(libc().syscall(_number("capset"), ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))), "capset"
    )


def capabilities() -> int:
    """Effective, permitted and bounding ones, as one mask; what /proc says."""
    found = 0
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith(("CapEff:", "CapPrm:", "CapInh:")):
                found |= int(line.split()[1], 16)
    return found

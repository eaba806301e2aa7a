"""A seccomp filter of system calls: no sockets to others, no looking into other processes. Needs no rights, holds for all children.

`socketpair` stays: it reaches nobody but this process and its children.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from dataclasses import dataclass

_PR_SET_SECCOMP, _FILTER = 22, 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; the argument's low half on these machines
_X32 = 0x40000000  # a second set of numbers for the same calls
_AF_UNIX = 1


@dataclass(frozen=True)
class _Machine:
    """AUDIT_ARCH, the number of `socket`, and those of ptrace, process_vm_readv, process_vm_writev, io_uring_setup (which
    opens sockets by itself), bpf, userfaultfd, keyctl, add_key, request_key, pidfd_getfd."""

    arch: int
    socket: int
    refused: tuple[int, ...]


_MACHINES = {
    "x86_64": _Machine(0xC000003E, 41, (101, 310, 311, 425, 321, 323, 250, 248, 249, 438)),
    "aarch64": _Machine(0xC00000B7, 198, (117, 270, 271, 425, 280, 282, 219, 217, 218, 438)),
}


def _program(m: _Machine, unix: bool) -> bytes:
    """Classic BPF. Calls of another architecture, and x32's, are refused altogether."""
    # (operation, value, where to go if so, where to go if not): None is the next line
    lines: list[tuple[int, int, str | None, str | None]] = [
        (_LOAD, _ARCH, None, None),
        (_EQUAL, m.arch, None, "refuse"),
        (_LOAD, _NUMBER, None, None),
        (_AT_LEAST, _X32, "refuse", None),
        *((_EQUAL, call, "refuse", None) for call in m.refused),
        (_EQUAL, m.socket, None if unix else "refuse", "allow"),
        *([(_LOAD, _FIRST_ARGUMENT, None, None), (_EQUAL, _AF_UNIX, "allow", "refuse")] if unix else []),
        (_RETURN, _ALLOW, None, None),
        (_RETURN, _REFUSE, None, None),
    ]
    places = {"allow": len(lines) - 2, "refuse": len(lines) - 1}

    def steps(i: int, name: str | None) -> int:
        return 0 if name is None else places[name] - i - 1

    return b"".join(
        struct.pack("=HBBI", op, steps(i, yes), steps(i, no), value) for i, (op, value, yes, no) in enumerate(lines)
    )


def supported() -> bool:
    """Whether `restrict` knows this machine's calls."""
    return sys.platform.startswith("linux") and platform.machine() in _MACHINES and sys.maxsize > 1 << 32


def restrict(*, unix: bool = False) -> bool:
    """Refuse the calls from here on, for good; `unix` leaves sockets of this machine. Needs no_new_privs. Whether it holds."""
    if not supported():
        return False
    code = _program(_MACHINES[platform.machine()], unix)
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    program = Program(len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)) == 0

"""A seccomp filter of system calls: no sockets to others, no reach into other processes or the machine. Needs no rights, holds for
all children.

`socketpair` stays, but for datagrams: its two ends reach nobody but this process and its children. Imports the standard library and its
neighbours alone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from dataclasses import dataclass, replace

from mirage.isolate import linux_calls as linux

_FILTER = 2
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; the argument's low half on these machines
_X32 = 0x40000000  # a second set of numbers for the same calls
_AF_UNIX = 1
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SET_ID = 0o6000  # the bits of a mode that make a program run as its owner
_CREATES = os.O_CREAT | 0x400000  # O_CREAT, O_TMPFILE without the bit for folders
_NEW_NAMESPACE = (
    linux.CLONE_NEWNS | linux.CLONE_NEWIPC | linux.CLONE_NEWUSER | linux.CLONE_NEWPID | linux.CLONE_NEWNET
    | linux.CLONE_NEWUTS | linux.CLONE_NEWCGROUP
)  # fmt: skip

# numbers on x86_64 and aarch64; None where the machine has no such call
Numbers = tuple[int | None, int | None]


@dataclass(frozen=True)
class CallRule:
    """A call that is refused with `error`: always; or where the argument `argument` has one of the bits `bits`; or is not `only`;
    or is `equal`. `where` (argument, bits): the rule is asked only if that argument has one of those bits. `ignored`: where it is
    not refused, it is said to be done and is not, as on a file system that keeps no modes."""

    numbers: Numbers
    argument: int | None = None
    bits: int = 0
    only: int | None = None
    equal: int | None = None
    where: tuple[int, int] | None = None
    error: int = errno.EACCES
    ignored: bool = False


def _same(number: int) -> Numbers:
    return number, number


def _always(*numbers: Numbers) -> list[CallRule]:
    return [CallRule(n) for n in numbers]


RULES: tuple[CallRule, ...] = (
    # other processes' memory and descriptors: ptrace, process_vm_readv, process_vm_writev, pidfd_getfd, kcmp, process_madvise,
    # process_mrelease
    *_always((101, 117), (310, 270), (311, 271), _same(438), (312, 272), _same(440), _same(448)),
    # calls that do what other calls are refused: io_uring (three), bpf, userfaultfd, memfd_secret
    *_always(_same(425), _same(426), _same(427), (321, 280), (323, 282), _same(447)),
    # keyrings: add_key, request_key, keyctl
    *_always((248, 217), (249, 218), (250, 219)),
    # System V shared memory (get, at, ctl, dt), semaphores (get, op, ctl, timedop), messages (get, snd, rcv, ctl); POSIX queues
    *_always((29, 194), (30, 196), (31, 195), (67, 197), (64, 190), (65, 193), (66, 191), (220, 192)),
    *_always((68, 186), (69, 189), (70, 188), (71, 187), (240, 180), (241, 181)),
    # namespaces and mounts: unshare, setns, mount, umount2, pivot_root, chroot, open_tree, move_mount, fsopen, fsconfig, fsmount,
    # fspick, mount_setattr, open_tree_attr
    *_always((272, 97), (308, 268), (165, 40), (166, 39), (155, 41), (161, 51), _same(428), _same(429), _same(430)),
    *_always(_same(431), _same(432), _same(433), _same(442), _same(467)),
    CallRule((56, 220), argument=0, bits=_NEW_NAMESPACE),  # clone
    CallRule(_same(435), error=errno.ENOSYS),  # clone3: its flags lie in memory, and the C library then takes clone
    CallRule(_same(437), error=errno.ENOSYS),  # openat2: its mode lies in memory
    # the machine: perf_event_open, modules (init, finit, delete), kexec (two), reboot, swapon, swapoff, acct, clocks (settimeofday,
    # clock_settime, adjtimex, clock_adjtime), names (host, domain), quotactl (two), iopl, ioperm, modify_ldt, file handles (two),
    # fanotify_init, syslog, vhangup, lookup_dcookie
    *_always(
        (298, 241), (175, 105), (313, 273), (176, 106), (246, 104), (320, 294), (169, 142), (167, 224), (168, 225)
    ),
    *_always((163, 89), (164, 170), (227, 112), (159, 171), (305, 266), (170, 161), (171, 162), (179, 60), _same(443)),
    *_always(
        (172, None), (173, None), (154, None), (303, 264), (304, 265), (300, 262), (103, 116), (153, 58), (212, 18)
    ),
    # of which a user has few, whoever of his processes holds them: inotify_init, inotify_init1
    *_always((253, None), (294, 26)),
    # others' limits and turns. Of this process itself (0) some may be set: setpriority, ioprio_set; prlimit64, sched_setaffinity,
    # sched_setscheduler, sched_setparam, sched_setattr, migrate_pages, move_pages
    *_always(_same(140), (251, 30)),
    *(
        CallRule(n, argument=0, only=0)
        for n in ((302, 261), (203, 122), (144, 119), (142, 118), (314, 274), (256, 238), (279, 239))
    ),
    # programs that run as their owner: chmod, fchmod; fchmodat, fchmodat2; creat, mkdir, mknod; mkdirat, mknodat; open, openat
    *(_CHMOD := tuple(CallRule(n, argument=1, bits=_SET_ID) for n in ((90, None), (91, 52)))),
    *(_CHMOD_AT := tuple(CallRule(n, argument=2, bits=_SET_ID) for n in ((268, 53), _same(452)))),
    *(CallRule(n, argument=1, bits=_SET_ID) for n in ((85, None), (83, None), (133, None))),
    *(CallRule(n, argument=2, bits=_SET_ID) for n in ((258, 34), (259, 33))),
    CallRule((2, None), argument=2, bits=_SET_ID, where=(1, _CREATES)),
    CallRule((257, 56), argument=3, bits=_SET_ID, where=(2, _CREATES)),
    CallRule((16, 29), argument=1, equal=0x5412),  # ioctl TIOCSTI: typing into a terminal
)
# modes, times, owners and attributes of files that can be named: a private view has none of the user's that may be written, and
# Landlock asks nobody about them. utime, utimes, futimesat, utimensat; chown, fchown, lchown, fchownat; (l, f)setxattr,
# (l, f)removexattr, setxattrat, removexattrat
_OF_FILES: tuple[CallRule, ...] = (
    *(replace(rule, ignored=True) for rule in (*_CHMOD, *_CHMOD_AT)),
    *(CallRule(n, error=0) for n in ((132, None), (235, None), (261, None), (280, 88))),
    *_always(
        (92, None), (93, 55), (94, None), (260, 54), (188, 5), (189, 6), (190, 7), (197, 14), (198, 15), (199, 16)
    ),
    *_always(_same(463), _same(466)),
)
_SOCKET: Numbers = (41, 198)
# socketpair with a type that has this bit, SOCK_DGRAM or SOCK_RAW: such an end can be connected anew, to any socket of the machine
_DATAGRAM_PAIR = CallRule((53, 199), argument=1, bits=2)
_MEMORY_FILE = CallRule(
    (319, 279), error=errno.ENOSYS
)  # memfd_create: what is reserved in it at one stroke has no bound of the kernel's
_RESERVE = CallRule(
    (285, 47), error=errno.EOPNOTSUPP
)  # fallocate, in such a file or in a folder on disk: the C library then writes to it page by page
# kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_open
_SIGNALS: tuple[Numbers, ...] = ((62, 129), (200, 130), (234, 131), (129, 138), (297, 240), _same(434))


def rules(*, unix: bool, private: bool, spared: int) -> list[CallRule]:
    """The table's, and what depends on the worker: its sockets and files in memory (a GPU's driver needs both), the files that it
    sees, and a process that it may not signal (0: none)."""
    sockets = (
        [CallRule(_SOCKET, argument=0, only=_AF_UNIX)] if unix else [CallRule(_SOCKET), _DATAGRAM_PAIR, _MEMORY_FILE]
    )
    reserve = [_RESERVE] if unix or not private else []
    signals = [CallRule(n, argument=0, equal=spared) for n in _SIGNALS] if spared else []
    return [*(() if private else _OF_FILES), *RULES, *sockets, *reserve, *signals]  # the first one for a call counts


def _line(operation: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, yes, no, value)


def _argument(index: int) -> bytes:
    return _line(_LOAD, _FIRST_ARGUMENT + 8 * index)


def _block(number: int, rule: CallRule) -> bytes:
    """The lines for one call: each of them ends in an answer, or is skipped whole for another call."""
    refuse, allow = _line(_RETURN, _ERROR | rule.error), _line(_RETURN, _ERROR if rule.ignored else _ALLOW)
    if rule.argument is None:
        body = refuse
    else:
        if rule.bits:
            test = _line(_ANY_BIT, rule.bits, 0, 1)
        elif rule.equal is not None:
            test = _line(_EQUAL, rule.equal, 0, 1)
        else:
            test = _line(_EQUAL, rule.only or 0, 1, 0)
        body = _argument(rule.argument) + test + refuse + allow
        if rule.where is not None:
            body = _argument(rule.where[0]) + _line(_ANY_BIT, rule.where[1], 0, 3) + body
    return _line(_EQUAL, number, 0, len(body) // 8) + body


def program(machine: str, found: list[CallRule]) -> bytes:
    """Classic BPF. Calls of another architecture, and x32's, are refused altogether."""
    refuse = _line(_RETURN, _ERROR | errno.EACCES)
    code = _line(_LOAD, _ARCH) + _line(_EQUAL, _ARCHITECTURES[machine], 1, 0) + refuse
    code += _line(_LOAD, _NUMBER) + _line(_AT_LEAST, _X32, 0, 1) + refuse
    index = list(_ARCHITECTURES).index(machine)
    for rule in found:
        number = rule.numbers[index]
        if number is not None:
            code += _block(number, rule)
    return code + _line(_RETURN, _ALLOW)


def supported() -> bool:
    """Whether `restrict` knows this machine's calls."""
    return linux.known() and os.uname().machine in _ARCHITECTURES


def restrict(*, unix: bool = False, private: bool = False, spared: int = 0) -> bool:
    """Refuse the calls from here on, for good; `unix` leaves sockets of this machine, `private` the modes of files, `spared` is a
    process that may not be signalled. Needs no_new_privs. Whether it holds."""
    if not supported():
        return False
    code = program(os.uname().machine, rules(unix=unix, private=private, spared=spared))
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    filled = Program(len(code) // 8, ctypes.addressof(buffer))
    return int(linux.libc().prctl(linux.PR_SET_SECCOMP, _FILTER, ctypes.byref(filled), 0, 0)) == 0

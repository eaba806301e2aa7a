"""The text that stands before each attempt: the constants of its arena, and a few tools on system calls."""

from __future__ import annotations

from collections.abc import Mapping

from .attempt import Attempt

STARTED = "started:"

TOOLS = '''
import ctypes, errno, fcntl, mmap, os, resource, signal, socket, struct, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

def call(number, *args):
    """A system call of x86-64 by number. Errors: OSError."""
    if number < 424 and os.uname().machine != "x86_64":
        raise OSError(errno.ENOSYS, "another machine")
    given = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) if isinstance(a, bytes) else a for a in args]
    result = libc.syscall(ctypes.c_long(number), *given)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def mark(letter="s"):
    """Give this process the name by which its survival, memory and files are seen from outside."""
    libc.prctl(15, (TOKEN + letter).encode(), 0, 0, 0)

def leak(data):
    """Give what was read to whoever reads the job's output."""
    text = data.decode("latin-1") if isinstance(data, bytes) else str(data)
    print("leaked:", text, flush=True)

def child(work):
    """Run `work` in a child that never comes back. Returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    finally:
        os._exit(0)

def quiet():
    """Let go of the job's output, so that nobody waits for it."""
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)

def linger(seconds=8, silent=True):
    mark()
    if silent:
        quiet()
    time.sleep(seconds)

def hold(seconds=0.5):
    time.sleep(seconds)

def machine_code(code):
    """Call x86-64 instructions that take nothing. Returns rax."""
    if os.uname().machine != "x86_64":
        raise OSError(errno.ENOSYS, "another machine")
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_long)(address)()

def low_memory(data):
    """Bytes below 4 GiB, where a 32-bit system call can point. Returns their address."""
    libc.mmap.restype = ctypes.c_void_p
    place = libc.mmap(None, ctypes.c_size_t(8192), 3, 0x62, -1, ctypes.c_long(0))
    ctypes.memmove(place, data, len(data))
    return place

def int80(number, *args):
    """A 32-bit system call by `int 0x80` of at most five arguments. Errors: OSError."""
    registers = [0xB9, 0xBA, 0xBE, 0xBF]
    code = b"\\x53\\x56\\x57\\xb8" + struct.pack("<I", number) + b"\\xbb" + struct.pack("<I", args[0] & 0xFFFFFFFF)
    for register, value in zip(registers, args[1:]):
        code += bytes([register]) + struct.pack("<I", value & 0xFFFFFFFF)
    code += b"\\xcd\\x80\\x48\\x98\\x5f\\x5e\\x5b\\xc3"
    result = machine_code(code)
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result

class Ring:
    """io_uring with one entry under way at a time."""

    def __init__(self):
        params = (ctypes.c_uint32 * 30)()
        self.fd = call(425, 4, params)
        sq, cq = list(params[10:20]), list(params[20:30])
        self.sq = mmap.mmap(self.fd, sq[6] + params[0] * 4, offset=0)
        self.cq = mmap.mmap(self.fd, cq[5] + params[1] * 16, offset=0x8000000)
        self.entries = mmap.mmap(self.fd, params[0] * 64, offset=0x10000000)
        self.sq_tail, self.sq_mask, self.sq_array = sq[1], sq[2], sq[6]
        self.cq_head, self.cq_mask, self.cq_entries = cq[0], cq[2], cq[5]

    def do(self, opcode, fd=-1, offset=0, address=0, length=0, flags=0, index=0):
        """Submit one operation and wait for it. Returns its result. Errors: OSError."""
        entry = struct.pack("<BBHiQQIIQHHiQQ", opcode, 0, 0, fd, offset, address, length, flags, 0, 0, 0, index, 0, 0)
        tail = struct.unpack_from("<I", self.sq, self.sq_tail)[0]
        slot = tail & struct.unpack_from("<I", self.sq, self.sq_mask)[0]
        self.entries[slot * 64 : slot * 64 + 64] = entry
        struct.pack_into("<I", self.sq, self.sq_array + slot * 4, slot)
        struct.pack_into("<I", self.sq, self.sq_tail, tail + 1)
        call(426, self.fd, 1, 1, 1, 0, 0)
        head = struct.unpack_from("<I", self.cq, self.cq_head)[0]
        slot = head & struct.unpack_from("<I", self.cq, self.cq_mask)[0]
        result = struct.unpack_from("<Qi", self.cq, self.cq_entries + slot * 16)[1]
        struct.pack_into("<I", self.cq, self.cq_head, head + 1)
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return result

def kept(data):
    """Bytes that stay where they are. Returns their address."""
    buffer = ctypes.create_string_buffer(data, len(data) + 1)
    KEPT.append(buffer)
    return ctypes.addressof(buffer)

KEPT = []

def new_user_namespace(*flags):
    """Enter a user namespace as its root, and the namespaces of the flags."""
    uid, gid = os.geteuid(), os.getegid()
    total = 0x10000000
    for flag in flags:
        total |= flag
    if libc.unshare(total):
        raise OSError(ctypes.get_errno(), "unshare")
    with open("/proc/self/setgroups", "w") as out:
        out.write("deny")
    with open("/proc/self/uid_map", "w") as out:
        out.write(f"0 {uid} 1")
    with open("/proc/self/gid_map", "w") as out:
        out.write(f"0 {gid} 1")

def mounted(source, target, kind, flags=0, data=None):
    if libc.mount(source, target, kind, ctypes.c_ulong(flags), data):
        raise OSError(ctypes.get_errno(), "mount")
'''


def compose(attempt: Attempt, constants: Mapping[str, str | int]) -> str:
    """The whole text that a worker is to run: constants, tools, a line that says that it started, and the attempt. The line comes
    again at the end: of much text the end is kept."""
    lines = "".join(f"{name} = {value!r}\n" for name, value in constants.items())
    say = f"print({STARTED!r} + TOKEN, flush=True)\n"
    return f"{lines}{TOOLS}\n{say}mark('w')\n{attempt.source.strip()}\n{say}"

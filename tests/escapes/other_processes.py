"""Attempts on processes that are not the attempt's own: to end, stop, slow, limit, trace, read or change them."""

from __future__ import annotations

from .attempt import table

SIGNALS = {
    "SIGKILL": "os.kill(VICTIM, signal.SIGKILL)",
    "SIGSTOP": "os.kill(VICTIM, signal.SIGSTOP)",
    "SIGTERM": "os.kill(VICTIM, signal.SIGTERM)",
    "SIGUSR1": "os.kill(VICTIM, signal.SIGUSR1)",
    "its process group": "os.killpg(VICTIM, signal.SIGUSR1)",
    "tkill": "call(200, VICTIM, signal.SIGUSR1)",
    "tgkill": "call(234, VICTIM, VICTIM, signal.SIGUSR1)",
    "rt_sigqueueinfo": """
info = struct.pack("<iii", signal.SIGUSR1, 0, -1) + bytes(116)
call(129, VICTIM, signal.SIGUSR1, info)
""",
    "rt_tgsigqueueinfo": """
info = struct.pack("<iii", signal.SIGUSR1, 0, -1) + bytes(116)
call(297, VICTIM, VICTIM, signal.SIGUSR1, info)
""",
    "pidfd": "call(424, os.pidfd_open(VICTIM), signal.SIGUSR1, 0, 0)",
    "pidfd that is a folder of /proc": """
call(424, os.open(f"/proc/{VICTIM}", os.O_RDONLY | os.O_DIRECTORY), signal.SIGUSR1, 0, 0)
""",
    "owner of an asynchronous pipe": """
near, far = os.pipe()
fcntl.fcntl(near, fcntl.F_SETOWN, VICTIM)
fcntl.fcntl(near, fcntl.F_SETFL, os.O_ASYNC)
os.write(far, b"1")
hold(0.1)
""",
    "owner of an asynchronous pipe, with SIGKILL": """
near, far = os.pipe()
fcntl.fcntl(near, 10, int(signal.SIGKILL))
fcntl.fcntl(near, fcntl.F_SETOWN, VICTIM)
fcntl.fcntl(near, fcntl.F_SETFL, os.O_ASYNC)
os.write(far, b"1")
hold(0.1)
""",
    "owner of an asynchronous socket": """
near, far = socket.socketpair()
fcntl.ioctl(near, 0x8901, struct.pack("i", VICTIM))
fcntl.fcntl(near, fcntl.F_SETFL, os.O_ASYNC)
far.send(b"1")
hold(0.1)
""",
    "owner of a lease": """
open(TOKEN + "own", "w").close()
fd = os.open(TOKEN + "own", os.O_RDONLY)
fcntl.fcntl(fd, fcntl.F_SETOWN, VICTIM)
fcntl.fcntl(fd, 1024, 0)
fcntl.fcntl(fd, fcntl.F_SETOWN, VICTIM)
try:
    os.open(TOKEN + "own", os.O_WRONLY | os.O_NONBLOCK)
except BlockingIOError:
    hold(0.1)
""",
    "by a child in a session of its own": """
os.waitpid(child(lambda: (os.setsid(), os.kill(VICTIM, signal.SIGUSR1))), 0)
""",
    "by a thread": """
thread = threading.Thread(target=os.kill, args=(VICTIM, signal.SIGUSR1))
thread.start()
thread.join()
""",
    "by another program": "subprocess.run(['/bin/sh', '-c', f'kill -USR1 {VICTIM}'])",
    "32-bit kill": "int80(37, VICTIM, signal.SIGUSR1)",
    "x32 kill": "call(0x40000000 | 62, VICTIM, signal.SIGUSR1)",
    "from a user namespace": """
new_user_namespace()
os.kill(VICTIM, signal.SIGUSR1)
""",
}

ATTRIBUTES = {
    "nice": "os.setpriority(os.PRIO_PROCESS, VICTIM, 15)",
    "nice of its group": "os.setpriority(os.PRIO_PGRP, VICTIM, 15)",
    "32-bit nice": "int80(97, 0, VICTIM, 15)",
    "priority of its input and output": "call(251, 1, VICTIM, 3 << 13)",
    "affinity": "os.sched_setaffinity(VICTIM, [min(os.sched_getaffinity(VICTIM))])",
    "policy: batch": "os.sched_setscheduler(VICTIM, os.SCHED_BATCH, os.sched_param(0))",
    "policy: idle": "os.sched_setscheduler(VICTIM, os.SCHED_IDLE, os.sched_param(0))",
    "policy by sched_setattr": """
call(314, VICTIM, struct.pack("<IIQiIQQQ", 48, 3, 0, 19, 0, 0, 0, 0), 0)
""",
    "limit of open files": "resource.prlimit(VICTIM, resource.RLIMIT_NOFILE, (3, 64))",
    "limit of processor time": "resource.prlimit(VICTIM, resource.RLIMIT_CPU, (100, 1000))",
    "limit of memory": "resource.prlimit(VICTIM, resource.RLIMIT_AS, (1 << 24, 1 << 36))",
    "limit of file size": "resource.prlimit(VICTIM, resource.RLIMIT_FSIZE, (0, 1 << 40))",
    "32-bit limit": "int80(340, VICTIM, 7, low_memory(struct.pack('<QQ', 3, 64)), 0)",
    "who is killed for memory": "open(f'/proc/{VICTIM}/oom_score_adj', 'w').write('900')",
    "who is killed for memory, older file": "open(f'/proc/{VICTIM}/oom_adj', 'w').write('10')",
    "what its core holds": "open(f'/proc/{VICTIM}/coredump_filter', 'w').write('0')",
    "its scheduling group": "open(f'/proc/{VICTIM}/autogroup', 'w').write('10')",
    "ptrace attach": """
if libc.ptrace(16, VICTIM, None, None) == 0:
    hold(0.2)
    libc.ptrace(17, VICTIM, None, None)
""",
    "ptrace seize and interrupt": """
if libc.ptrace(0x4206, VICTIM, None, None) == 0:
    libc.ptrace(0x4207, VICTIM, None, None)
    hold(0.2)
""",
    "32-bit ptrace": """
int80(26, 16, VICTIM, 0, 0)
hold(0.2)
""",
    "write to its memory by /proc": """
with open(f"/proc/{VICTIM}/mem", "wb", buffering=0) as memory:
    memory.seek(CELL)
    memory.write(TOKEN.encode())
""",
    "write to its memory by process_vm_writev": """
own = ctypes.create_string_buffer(TOKEN.encode())
near = (ctypes.c_size_t * 2)(ctypes.addressof(own), len(TOKEN))
far = (ctypes.c_size_t * 2)(CELL, len(TOKEN))
call(311, VICTIM, near, 1, far, 1, 0)
""",
    "write to its memory by ptrace": """
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace(16, VICTIM, None, None)
os.waitpid(VICTIM, 0x40000000)
libc.ptrace(4, VICTIM, CELL, 0x2121212121212121)
libc.ptrace(17, VICTIM, None, None)
""",
    "write to its memory by io_uring": """
fd = os.open(f"/proc/{VICTIM}/mem", os.O_RDWR)
Ring().do(23, fd=fd, offset=CELL, address=kept(TOKEN.encode()), length=len(TOKEN))
""",
    "into a cgroup of its own": """
base = "/sys/fs/cgroup" + open("/proc/self/cgroup").read().split("::")[1].strip()
os.mkdir(base + "/" + TOKEN)
open(base + "/" + TOKEN + "/cgroup.procs", "w").write(str(VICTIM))
""",
}

READS = {
    "environment": "leak(open(f'/proc/{VICTIM}/environ').read())",
    "arguments": "leak(open(f'/proc/{VICTIM}/cmdline').read())",
    "arguments of all processes": """
for name in os.listdir("/proc"):
    try:
        leak(open(f"/proc/{name}/cmdline").read() if name.isdigit() else "")
    except OSError:
        continue
""",
    "arguments by another program": """
leak(subprocess.run(["ps", "-ewwo", "args"], stdout=subprocess.PIPE).stdout)
""",
    "memory by /proc": """
with open(f"/proc/{VICTIM}/mem", "rb", buffering=0) as memory:
    memory.seek(CELL)
    leak(memory.read(64))
""",
    "memory by process_vm_readv": """
own = ctypes.create_string_buffer(64)
near, far = (ctypes.c_size_t * 2)(ctypes.addressof(own), 64), (ctypes.c_size_t * 2)(CELL, 64)
call(310, VICTIM, near, 1, far, 1, 0)
leak(own.raw)
""",
    "memory by ptrace": """
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace(16, VICTIM, None, None)
os.waitpid(VICTIM, 0x40000000)
leak(b"".join(struct.pack("<q", libc.ptrace(2, VICTIM, CELL + i, None)) for i in range(0, 40, 8)))
libc.ptrace(17, VICTIM, None, None)
""",
    "memory by io_uring": """
fd, place = os.open(f"/proc/{VICTIM}/mem", os.O_RDONLY), kept(bytes(64))
Ring().do(22, fd=fd, offset=CELL, address=place, length=64)
leak(ctypes.string_at(place, 64))
""",
    "memory by 32-bit ptrace": """
int80(26, 0x4206, VICTIM, 0, 0)
leak(open(f"/proc/{VICTIM}/environ").read())
""",
    "a descriptor by pidfd_getfd": """
leak(os.pread(call(438, os.pidfd_open(VICTIM), VICTIM_FD, 0), 64, 0))
""",
    "a descriptor by /proc": "leak(os.pread(os.open(f'/proc/{VICTIM}/fd/{VICTIM_FD}', os.O_RDONLY), 64, 0))",
    "the caller's memory by /proc": """
with open(f"/proc/{HARNESS}/mem", "rb", buffering=0) as memory:
    memory.seek(HARNESS_CELL)
    leak(memory.read(64))
""",
    "the caller's memory by process_vm_readv": """
own = ctypes.create_string_buffer(64)
near, far = (ctypes.c_size_t * 2)(ctypes.addressof(own), 64), (ctypes.c_size_t * 2)(HARNESS_CELL, 64)
call(310, HARNESS, near, 1, far, 1, 0)
leak(own.raw)
""",
    "the caller's environment": "leak(open(f'/proc/{HARNESS}/environ').read())",
    "the environments of all ancestors": """
pid = os.getppid()
while pid > 0:
    try:
        leak(open(f"/proc/{pid}/environ").read())
    except OSError as error:
        print(error)
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
""",
    "the environments of all processes": """
for name in os.listdir("/proc"):
    try:
        leak(open(f"/proc/{name}/environ").read() if name.isdigit() else "")
    except OSError:
        continue
""",
    "what its environment inherited": "leak(dict(os.environ))",
    "what its environment began with": "leak(open('/proc/self/environ').read())",
}

CALLER = {
    "a signal to the caller": "os.kill(HARNESS, signal.SIGURG)",
    "a signal to the caller's pidfd": "call(424, os.pidfd_open(HARNESS), signal.SIGURG, 0, 0)",
    "the caller's limits": """
soft, hard = resource.prlimit(HARNESS, resource.RLIMIT_NOFILE)
resource.prlimit(HARNESS, resource.RLIMIT_NOFILE, (soft - 1, hard))
""",
    "limits of all ancestors": """
pid = os.getppid()
while pid > 1:
    if pid == HARNESS:
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft - 1, hard))
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
""",
    "the caller's memory": """
with open(f"/proc/{HARNESS}/mem", "wb", buffering=0) as memory:
    memory.seek(HARNESS_CELL)
    memory.write(b"!")
""",
    "the caller's memory by process_vm_writev": """
own = ctypes.create_string_buffer(b"!")
near, far = (ctypes.c_size_t * 2)(ctypes.addressof(own), 1), (ctypes.c_size_t * 2)(HARNESS_CELL, 1)
call(311, HARNESS, near, 1, far, 1, 0)
""",
}

ATTEMPTS = (
    *table("signals", "victim", SIGNALS),
    *table("other processes", "victim", ATTRIBUTES),
    *table("reading processes", "leaked", READS),
    *table("the caller", "harness", CALLER),
)

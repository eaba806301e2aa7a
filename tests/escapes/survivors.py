"""Attempts to outlive the job, to keep it from ending, and to hold what others wait for."""

from __future__ import annotations

from .attempt import table

SURVIVORS = {
    "a child": "child(linger)",
    "a child in a session of its own": "child(lambda: (os.setsid(), linger()))",
    "a grandchild without a parent": "child(lambda: (os.setsid(), child(linger)))",
    "a great-grandchild, each in a session of its own": """
child(lambda: (os.setsid(), child(lambda: (os.setsid(), child(lambda: (os.setsid(), linger()))))))
""",
    "a program with an empty environment": """
child(lambda: (os.setsid(), quiet(), os.execve("/bin/sleep", [TOKEN + "s", "8"], {})))
""",
    "a program in a session of its own": """
NOWHERE = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
subprocess.Popen([sys.executable, "-IS", "-c", "import time; time.sleep(8)", TOKEN + "s"], start_new_session=True, **NOWHERE)
""",
    "nohup in a shell": """
subprocess.Popen(["/bin/sh", "-c", f"nohup sh -c 'sleep 8; : {TOKEN}s' >/dev/null 2>&1 &"])
""",
    "setsid in a shell": """
subprocess.Popen(["/bin/sh", "-c", f"setsid sh -c 'sleep 8; : {TOKEN}s' >/dev/null 2>&1 </dev/null &"])
""",
    "a child that ignores signals": """
def work():
    for number in range(1, 65):
        if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
            signal.signal(number, signal.SIG_IGN)
    os.setsid()
    linger()
child(work)
""",
    "a child that is stopped": """
child(lambda: (mark(), quiet(), os.setsid(), os.kill(os.getpid(), signal.SIGSTOP)))
hold(0.1)
""",
    "a child that begins anew again and again": """
def work():
    mark()
    quiet()
    stop = time.monotonic() + 6
    while time.monotonic() < stop:
        if os.fork():
            os._exit(0)
        os.setsid()
        time.sleep(0.03)
child(work)
""",
    "two that replace each other": """
def watch():
    mark()
    quiet()
    os.setsid()
    stop = time.monotonic() + 6
    while time.monotonic() < stop:
        pid = os.fork()
        if pid == 0:
            continue
        os.waitpid(pid, 0)
        time.sleep(0.01)
child(lambda: child(watch))
""",
    "a sibling by CLONE_PARENT": """
if call(56, 0x8000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
    linger()
    os._exit(0)
""",
    "clone3": """
if call(435, struct.pack("<11Q", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), 88) == 0:
    os.setsid()
    linger()
    os._exit(0)
""",
    "32-bit fork": """
if int80(2, 0) == 0:
    os.setsid()
    linger()
    os._exit(0)
""",
    "posix_spawn": """
quiet()
os.posix_spawn("/bin/sleep", [TOKEN + "s", "8"], {}, setsid=True)
""",
    "a child in a process namespace": """
new_user_namespace(0x20000000)
child(lambda: (os.setsid(), linger()))
""",
    "a child in a user namespace": """
def work():
    os.setsid()
    new_user_namespace()
    linger()
child(work)
""",
    "an exit handler that starts it": """
import atexit
atexit.register(lambda: child(lambda: (os.setsid(), linger())))
""",
    "a destructor that starts it": """
class Last:
    def __del__(self, child=child, linger=linger, os=os):
        child(lambda: (os.setsid(), linger()))
last = Last()
del last
""",
    "a handler of SIGTERM that starts it": """
def again(*_):
    child(lambda: (os.setsid(), linger()))
    os._exit(0)
signal.signal(signal.SIGTERM, again)
child(lambda: (os.setsid(), linger()))
""",
    "a thread that starts it late": """
def late():
    time.sleep(0.05)
    child(lambda: (os.setsid(), linger()))
threading.Thread(target=late).start()
""",
    "a subreaper between": """
def work():
    libc.prctl(36, 1, 0, 0, 0)
    os.setsid()
    child(linger)
    linger()
child(work)
""",
    "without a signal at its parent's death": """
def work():
    libc.prctl(1, 0, 0, 0, 0)
    os.setsid()
    linger()
child(work)
""",
    "a child that is traced by another": """
def work():
    os.setsid()
    inner = child(linger)
    libc.ptrace(0x4206, inner, None, 0x100000)
    linger()
child(work)
""",
    "a child that cannot be inspected": """
def work():
    os.setsid()
    mark()
    quiet()
    libc.prctl(4, 0, 0, 0, 0)
    time.sleep(8)
child(work)
""",
    "a child in a cgroup of its own": """
base = "/sys/fs/cgroup" + open("/proc/self/cgroup").read().split("::")[1].strip()
def work():
    os.setsid()
    try:
        os.mkdir(base + "/" + TOKEN)
        open(base + "/" + TOKEN + "/cgroup.procs", "w").write(str(os.getpid()))
    except OSError:
        os._exit(1)
    linger()
child(work)
""",
    "multiprocessing's helpers": """
import multiprocessing
pid = os.fork()
if pid == 0:
    os.setsid()
    multiprocessing.Process(target=linger).start()
    os._exit(0)
""",
    "a user's service manager": """
subprocess.run(["systemd-run", "--user", "--no-block", "sh", "-c", f"sleep 8; : {TOKEN}s"])
""",
    "five hundred of them": """
def work():
    os.setsid()
    for _ in range(min(500, PROCESSES - 8)):
        child(linger)
child(work)
hold()
""",
}

LOCKS = {
    "flock by a child": """
def work():
    os.setsid()
    fcntl.flock(os.open(LOCK, os.O_RDWR), fcntl.LOCK_EX)
    linger()
child(work)
hold(0.1)
""",
    "flock with a descriptor for reading": """
def work():
    os.setsid()
    fcntl.flock(os.open(LOCK, os.O_RDONLY), fcntl.LOCK_EX)
    linger()
child(work)
hold(0.1)
""",
    "a record lock by a child": """
def work():
    os.setsid()
    fcntl.lockf(os.open(LOCK, os.O_RDWR), fcntl.LOCK_EX)
    linger()
child(work)
hold(0.1)
""",
    "flock that a child inherits": """
fcntl.flock(os.open(LOCK, os.O_RDWR), fcntl.LOCK_EX)
child(lambda: (os.setsid(), linger()))
""",
    "flock in a program with an empty environment": """
fd = os.open(LOCK, os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX)
os.set_inheritable(fd, True)
child(lambda: (os.setsid(), quiet(), os.execve("/bin/sleep", [TOKEN + "s", "8"], {})))
hold(0.1)
""",
}

OVERDUE = {
    "ignores SIGTERM and sleeps": """
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM, signal.SIGXCPU):
    signal.signal(number, signal.SIG_IGN)
child(lambda: (os.setsid(), linger(SECONDS + 4, False)))
time.sleep(SECONDS + 4)
""",
    "stops itself while a child holds its output": """
child(lambda: (os.setsid(), linger(SECONDS + 4, False)))
os.kill(os.getpid(), signal.SIGSTOP)
""",
    "a grandchild holds its output": """
child(lambda: child(lambda: (os.setsid(), linger(SECONDS + 4, False))))
""",
    "a program holds its output": """
child(lambda: (os.setsid(), os.execve("/bin/sleep", [TOKEN + "s", str(SECONDS + 4)], {})))
""",
    "waits for a FIFO that nobody opens": """
child(lambda: (os.setsid(), linger(SECONDS + 4, False)))
os.mkfifo(TOKEN + "fifo")
open(TOKEN + "fifo").read()
""",
    "every descriptor held by a child": """
for fd in range(3, 256):
    try:
        os.set_inheritable(fd, True)
    except OSError:
        continue
child(lambda: (os.setsid(), os.execve("/bin/sleep", [TOKEN + "s", str(SECONDS + 4)], {})))
""",
    "one instruction for very long": """
child(lambda: (os.setsid(), linger(SECONDS + 4, False)))
signal.signal(signal.SIGTERM, lambda *_: None)
pow(7, 10**9)
""",
}

SWOLLEN = {
    "much text": """
for _ in range(96):
    os.write(1, b"x" * (1 << 20))
""",
    "much text on the other stream": """
for _ in range(96):
    os.write(2, b"x" * (1 << 20))
""",
    "a huge error": "raise ValueError('x' * (96 << 20))",
}

ATTEMPTS = (
    *table("survivors", "survivor", SURVIVORS),
    *table("locks", "lock", LOCKS),
    *table("time", "overdue", OVERDUE),
    *table("output", "swollen", SWOLLEN),
)

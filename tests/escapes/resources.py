"""Attempts to hold more than the job was promised: memory, files, processes, and what a user has little of."""

from __future__ import annotations

from .attempt import table

# Beyond the limit, but little enough that a machine without a sandbox does not notice.
MEMORY = {
    "a private mapping": """
place = mmap.mmap(-1, MEMORY * 5 // 4, flags=mmap.MAP_PRIVATE)
for page in range(0, len(place), 4096):
    place[page] = 1
hold()
""",
    "bytes": """
data = [b"x" * (MEMORY // 8) for _ in range(10)]
data = [bytearray(MEMORY // 8 + i) for i in range(10)]
for part in data:
    part[::4096] = b"1" * len(part[::4096])
hold()
""",
    "a shared mapping": """
place = mmap.mmap(-1, MEMORY * 5 // 4)
for page in range(0, len(place), 4096):
    place[page] = 1
hold()
""",
    "a file in memory": """
fd = os.memfd_create("memory")
for _ in range(10):
    os.write(fd, bytes(MEMORY // 8))
hold()
""",
    "a file in memory, reserved": """
fd = os.memfd_create("memory")
os.posix_fallocate(fd, 0, MEMORY * 5 // 4)
hold()
""",
    "many files in memory": """
fds = [os.memfd_create("memory") for _ in range(20)]
for fd in fds:
    os.posix_fallocate(fd, 0, MEMORY // 16)
hold()
""",
    "a file in memory, mapped piece by piece": """
fd = os.memfd_create("memory")
os.ftruncate(fd, MEMORY * 5 // 4)
for at in range(0, MEMORY * 5 // 4, 1 << 22):
    with mmap.mmap(fd, 1 << 22, offset=at) as piece:
        piece[::4096] = b"1" * 1024
hold()
""",
    "children, each below the limit": """
def work():
    place = mmap.mmap(-1, MEMORY // 2, flags=mmap.MAP_PRIVATE)
    for page in range(0, len(place), 4096):
        place[page] = 1
    time.sleep(1.5)
for _ in range(3):
    child(work)
time.sleep(1.6)
""",
    "children that each hold a file in memory": """
def work():
    fd = os.memfd_create("memory")
    os.posix_fallocate(fd, 0, MEMORY // 2)
    time.sleep(1)
for _ in range(3):
    child(work)
time.sleep(1.1)
""",
    "a file in the shared folder of memory": """
fd = os.open("/dev/shm/" + TOKEN, os.O_CREAT | os.O_RDWR, 0o600)
os.posix_fallocate(fd, 0, MEMORY * 5 // 4)
hold()
""",
    "closed files in the shared folder of memory": """
for number in range(10):
    fd = os.open(f"/dev/shm/{TOKEN}{number}", os.O_CREAT | os.O_RDWR, 0o600)
    os.posix_fallocate(fd, 0, MEMORY // 8)
    os.close(fd)
hold()
""",
    "a System V segment": """
libc.shmat.restype = ctypes.c_void_p
number = libc.shmget(0, ctypes.c_size_t(MEMORY * 5 // 4), 0o1600)
place = libc.shmat(number, None, 0)
libc.shmctl(number, 0, None)
ctypes.memset(ctypes.c_void_p(place), 1, MEMORY * 5 // 4)
hold()
""",
    "stacks of threads": """
threading.stack_size(64 << 20)
count = MEMORY * 5 // 4 // (56 << 20) + 1
ready = threading.Event()
def work():
    libc.alloca = None
    place = mmap.mmap(-1, 56 << 20, flags=mmap.MAP_PRIVATE | 0x20000)
    for page in range(0, len(place), 4096):
        place[page] = 1
    ready.wait(3)
    len(place)
threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
for thread in threads:
    thread.start()
time.sleep(1.5)
""",
    "the heap's end": """
libc.sbrk.restype = ctypes.c_void_p
libc.sbrk.argtypes = [ctypes.c_ssize_t]
place = libc.sbrk(MEMORY * 5 // 4)
if place != ctypes.c_void_p(-1).value:
    ctypes.memset(ctypes.c_void_p(place), 1, MEMORY * 5 // 4)
hold()
""",
    "the limit raised first": """
for name in ("RLIMIT_DATA", "RLIMIT_AS", "RLIMIT_RSS"):
    resource.setrlimit(getattr(resource, name), (resource.getrlimit(getattr(resource, name))[1],) * 2)
place = mmap.mmap(-1, MEMORY * 5 // 4, flags=mmap.MAP_PRIVATE)
for page in range(0, len(place), 4096):
    place[page] = 1
hold()
""",
    "a stack without a limit": """
resource.setrlimit(resource.RLIMIT_STACK, (resource.getrlimit(resource.RLIMIT_STACK)[1],) * 2)
libc.mmap.restype = ctypes.c_void_p
size = MEMORY * 5 // 4
place = libc.mmap(None, ctypes.c_size_t(size), 3, 0x20022, -1, ctypes.c_long(0))
ctypes.memset(ctypes.c_void_p(place), 1, size)
hold()
""",
    "a mapping that was read-only": """
libc.mmap.restype = ctypes.c_void_p
size = MEMORY * 5 // 4
place = libc.mmap(None, ctypes.c_size_t(size), 1, 0x22, -1, ctypes.c_long(0))
libc.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(size), 3)
ctypes.memset(ctypes.c_void_p(place), 1, size)
hold()
""",
    "a private mapping of a file": """
open(TOKEN + "sparse", "w").close()
size = MEMORY * 5 // 4
os.truncate(TOKEN + "sparse", size)
libc.mmap.restype = ctypes.c_void_p
fd = os.open(TOKEN + "sparse", os.O_RDWR)
place = libc.mmap(None, ctypes.c_size_t(size), 3, 2, fd, ctypes.c_long(0))
ctypes.memset(ctypes.c_void_p(place), 1, size)
hold()
""",
    "a file system in memory": """
new_user_namespace(0x20000)
os.mkdir(TOKEN + "mnt")
mounted(b"tmpfs", (TOKEN + "mnt").encode(), b"tmpfs", 0, b"size=8g")
fd = os.open(TOKEN + "mnt/" + TOKEN, os.O_CREAT | os.O_RDWR, 0o600)
os.posix_fallocate(fd, 0, MEMORY * 5 // 4)
hold()
""",
}

DISK = {
    "one file": """
fd = os.open(TOKEN + "file", os.O_CREAT | os.O_RDWR, 0o600)
os.posix_fallocate(fd, 0, DISK * 5 // 4)
hold()
""",
    "one file, the limit raised first": """
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.getrlimit(resource.RLIMIT_FSIZE)[1],) * 2)
fd = os.open(TOKEN + "file", os.O_CREAT | os.O_RDWR, 0o600)
os.posix_fallocate(fd, 0, DISK * 5 // 4)
hold()
""",
    "many files": """
for number in range(40):
    fd = os.open(f"{TOKEN}file{number}", os.O_CREAT | os.O_RDWR, 0o600)
    os.posix_fallocate(fd, 0, DISK // 32)
    os.close(fd)
hold()
""",
    "removed files that stay open": """
fds = []
for number in range(40):
    fds.append(os.open(f"{TOKEN}file{number}", os.O_CREAT | os.O_RDWR, 0o600))
    os.posix_fallocate(fds[-1], 0, DISK // 32)
    os.unlink(f"{TOKEN}file{number}")
hold()
""",
    "nameless files": """
fds = [os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600) for _ in range(40)]
for fd in fds:
    os.posix_fallocate(fd, 0, DISK // 32)
hold()
""",
    "files of children": """
def work(number):
    fd = os.open(f"{TOKEN}file{number}", os.O_CREAT | os.O_RDWR, 0o600)
    os.posix_fallocate(fd, 0, DISK // 4)
    time.sleep(1)
for number in range(5):
    child(lambda: work(number))
time.sleep(1.1)
""",
    "reserved beyond a file's end": """
fds = [os.open(f"{TOKEN}file{n}", os.O_CREAT | os.O_RDWR, 0o600) for n in range(5)]
for fd in fds:
    call(285, fd, 1, 0, DISK // 4)
hold()
""",
    "by io_uring": """
ring = Ring()
for number in range(5):
    fd = os.open(f"{TOKEN}file{number}", os.O_CREAT | os.O_RDWR, 0o600)
    ring.do(17, fd=fd, address=DISK // 4)
hold()
""",
}

INODES = {
    "empty files": """
for number in range(INODES * 5 // 4):
    os.close(os.open(f"{TOKEN}{number}", os.O_CREAT | os.O_WRONLY, 0o600))
hold()
""",
    "links": """
for number in range(INODES * 5 // 4):
    os.symlink("/dev/null", f"{TOKEN}{number}")
hold()
""",
    "folders": """
for number in range(INODES * 5 // 4):
    os.mkdir(f"{TOKEN}{number}")
hold()
""",
}

PROCESSES = {
    "children": """
for _ in range(PROCESSES * 5 // 4):
    child(lambda: time.sleep(1.5))
hold()
""",
    "children in sessions of their own": """
for _ in range(PROCESSES * 5 // 4):
    child(lambda: (os.setsid(), time.sleep(1.5)))
hold()
""",
    "threads": """
threading.stack_size(65536)
for _ in range(PROCESSES * 5 // 4):
    threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
hold()
""",
    "threads of children": """
def work():
    threading.stack_size(65536)
    for _ in range(PROCESSES // 8):
        threading.Thread(target=time.sleep, args=(1.5,), daemon=True).start()
    time.sleep(1.2)
for _ in range(12):
    child(work)
hold(1)
""",
    "the limit raised first": """
resource.setrlimit(resource.RLIMIT_NPROC, (resource.getrlimit(resource.RLIMIT_NPROC)[1],) * 2)
for _ in range(PROCESSES * 5 // 4):
    child(lambda: time.sleep(1.5))
hold()
""",
    "as another user of a namespace": """
new_user_namespace()
for _ in range(PROCESSES * 5 // 4):
    child(lambda: time.sleep(1.5))
hold()
""",
    "in a tree": """
def work(depth):
    if depth:
        child(lambda: work(depth - 1))
        child(lambda: work(depth - 1))
    time.sleep(1.5)
child(lambda: work(max(1, PROCESSES.bit_length() - 1)))
hold(1)
""",
}

STARVED = {
    "inotify instances": """
while libc.inotify_init() >= 0:
    continue
hold()
""",
    "inotify instances, over children": """
def work():
    while libc.inotify_init() >= 0:
        continue
    time.sleep(1)
for _ in range(4):
    child(work)
hold()
""",
    "inotify instances in a user namespace": """
new_user_namespace()
while libc.inotify_init() >= 0:
    continue
hold()
""",
    "room in pipes": """
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
for _ in range(2000):
    near, far = os.pipe()
    try:
        fcntl.fcntl(near, 1031, 1 << 20)
    except PermissionError:
        if fcntl.fcntl(near, 1032) < 65536:
            break
hold()
""",
    "POSIX queues": """
for number in range(300):
    if libc.mq_open(f"/{TOKEN}{number}".encode(), os.O_RDWR | os.O_CREAT, 0o600, None) < 0:
        break
hold()
for number in range(300):
    libc.mq_unlink(f"/{TOKEN}{number}".encode())
""",
    "keys": """
for size in (64, 8, 1):
    for number in range(20000):
        try:
            call(248, b"user", f"{TOKEN}{size}.{number}".encode(), b"x" * size, size, ctypes.c_int(-4))
        except OSError:
            break
hold()
call(250, 7, ctypes.c_int(-4), 0, 0, 0)
""",
}

ATTEMPTS = (
    *table("memory", "memory", MEMORY),
    *table("disk", "disk", DISK),
    *table("files", "inodes", INODES),
    *table("processes", "processes", PROCESSES),
    *table("what a user has little of", "starved", STARVED),
)

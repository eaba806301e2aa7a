"""Attempts on what processes share through the kernel: memory, semaphores, queues, keys; and on terminals."""

from __future__ import annotations

from .attempt import table

OBJECTS = {
    "overwrite a shared segment": """
libc.shmat.restype = ctypes.c_void_p
place = libc.shmat(SHM_ID, None, 0)
if place != ctypes.c_void_p(-1).value:
    ctypes.memmove(place, TOKEN.encode(), len(TOKEN))
""",
    "overwrite a shared segment found by its key": """
libc.shmat.restype = ctypes.c_void_p
place = libc.shmat(libc.shmget(IPC_KEY, 0, 0), None, 0)
if place != ctypes.c_void_p(-1).value:
    ctypes.memmove(place, TOKEN.encode(), len(TOKEN))
""",
    "remove a shared segment": "libc.shmctl(SHM_ID, 0, None)",
    "open a shared segment to all": """
info = ctypes.create_string_buffer(256)
libc.shmctl(SHM_ID, 2, info)
info[20:24] = struct.pack("<I", 0o666)
libc.shmctl(SHM_ID, 1, info)
""",
    "set a semaphore": "libc.semctl(SEM_ID, 0, 16, 0)",
    "wait at a semaphore": """
libc.semop(SEM_ID, struct.pack("<Hhh", 0, -3, 0), 1)
""",
    "remove a semaphore": "libc.semctl(SEM_ID, 0, 0)",
    "take a message": """
text = ctypes.create_string_buffer(128)
libc.msgrcv(MSG_ID, text, 64, 0, 0x800)
""",
    "send a message": """
libc.msgsnd(MSG_ID, struct.pack("<q", 1) + TOKEN.encode(), len(TOKEN), 0x800)
""",
    "remove a queue of messages": "libc.msgctl(MSG_ID, 0, None)",
    "remove a segment by a 32-bit call": "int80(396, SHM_ID, 0, 0)",
    "remove a queue by the 32-bit call of all": "int80(117, 14, MSG_ID, 0, 0)",
    "leave a segment": "libc.shmget(LEFT_KEY, 1 << 20, 0o1600)",
    "leave a segment, from a child": """
os.waitpid(child(lambda: (os.setsid(), libc.shmget(LEFT_KEY, 1 << 20, 0o1600))), 0)
""",
    "leave a semaphore": "libc.semget(LEFT_KEY, 8, 0o1600)",
    "leave a queue of messages": "libc.msgget(LEFT_KEY, 0o1600)",
    "send to a POSIX queue": """
fd = libc.mq_open(QUEUE.encode(), os.O_WRONLY | os.O_NONBLOCK)
libc.mq_send(fd, TOKEN.encode(), len(TOKEN), 1)
""",
    "take from a POSIX queue": """
fd = libc.mq_open(QUEUE.encode(), os.O_RDONLY | os.O_NONBLOCK)
libc.mq_receive(fd, ctypes.create_string_buffer(65536), 65536, None)
""",
    "remove a POSIX queue": "libc.mq_unlink(QUEUE.encode())",
    "leave a POSIX queue": "libc.mq_open(b'/' + TOKEN.encode(), os.O_RDWR | os.O_CREAT, 0o600, None)",
    "change a key": "call(250, 2, KEY_ID, TOKEN.encode(), len(TOKEN), 0)",
    "revoke a key": "call(250, 3, KEY_ID, 0, 0, 0)",
    "a deadline on a key": """
call(250, 15, KEY_ID, 1, 0, 0)
time.sleep(1.1)
""",
    "leave a key": """
call(248, b"user", TOKEN.encode(), b"1", 1, ctypes.c_int(-4))
""",
}

READS = {
    "a shared segment": """
libc.shmat.restype = ctypes.c_void_p
place = libc.shmat(SHM_ID, None, 0o10000)
leak(ctypes.string_at(place, 64) if place != ctypes.c_void_p(-1).value else "")
""",
    "all shared segments": """
libc.shmat.restype = ctypes.c_void_p
for line in open("/proc/sysvipc/shm").read().splitlines()[1:]:
    place = libc.shmat(int(line.split()[1]), None, 0o10000)
    leak(ctypes.string_at(place, 64) if place != ctypes.c_void_p(-1).value else "")
""",
    "a message": """
text = ctypes.create_string_buffer(128)
libc.msgrcv(MSG_ID, text, 64, 0, 0x800)
leak(text.raw)
""",
    "a message, left in its place": """
text = ctypes.create_string_buffer(128)
libc.msgrcv(MSG_ID, text, 64, 0, 0x800 | 0o40000)
leak(text.raw)
""",
    "a POSIX queue": """
fd, text = libc.mq_open(QUEUE.encode(), os.O_RDONLY | os.O_NONBLOCK), ctypes.create_string_buffer(65536)
libc.mq_receive(fd, text, 65536, None)
leak(text.value)
""",
    "a key": """
text = ctypes.create_string_buffer(128)
call(250, 11, KEY_ID, text, 128, 0)
leak(text.raw)
""",
    "a key by its name": """
line = [part for part in open("/proc/keys") if f"{KEY_ID:08x}" in part][0]
text = ctypes.create_string_buffer(128)
call(250, 11, int(line.split()[0], 16), text, 128, 0)
leak(text.raw)
""",
    "all keys of the user": """
text = ctypes.create_string_buffer(4096)
length = call(250, 11, ctypes.c_int(-4), text, 4096, 0)
for number in struct.unpack(f"<{length // 4}i", text.raw[:length]):
    call(250, 11, number, text, 4096, 0)
    leak(text.raw[:64])
""",
}

TERMINAL = {
    "write": "os.write(os.open(PTS, os.O_WRONLY | os.O_NOCTTY), TOKEN.encode())",
    "write to all": """
for name in os.listdir("/dev/pts"):
    if "/dev/pts/" + name == PTS:
        os.write(os.open("/dev/pts/" + name, os.O_WRONLY | os.O_NOCTTY), TOKEN.encode())
""",
    "write through a descriptor of another process": """
os.write(os.open(f"/proc/{HARNESS}/root" + PTS, os.O_WRONLY | os.O_NOCTTY), TOKEN.encode())
""",
    "read what was typed": "os.read(os.open(PTS, os.O_RDONLY | os.O_NOCTTY), 64)",
    "type": """
def work():
    os.setsid()
    fd = os.open(PTS, os.O_RDWR)
    fcntl.ioctl(fd, 0x540E, 0)
    for letter in TOKEN.encode() + b"\\n":
        fcntl.ioctl(fd, 0x5412, bytes([letter]))
os.waitpid(child(work), 0)
""",
    "type, the number of the call with high bits": """
def work():
    os.setsid()
    fd = os.open(PTS, os.O_RDWR)
    fcntl.ioctl(fd, 0x540E, 0)
    for letter in TOKEN.encode() + b"\\n":
        call(16, fd, 0x5412 | (1 << 32), bytes([letter]))
os.waitpid(child(work), 0)
""",
    "settings": """
import termios
fd = os.open(PTS, os.O_RDWR | os.O_NOCTTY)
settings = termios.tcgetattr(fd)
settings[3] &= ~termios.ECHO
termios.tcsetattr(fd, termios.TCSANOW, settings)
""",
    "size": "fcntl.ioctl(os.open(PTS, os.O_RDWR | os.O_NOCTTY), 0x5414, struct.pack('<4H', 3, 3, 0, 0))",
    "throw away what was typed": "fcntl.ioctl(os.open(PTS, os.O_RDWR | os.O_NOCTTY), 0x540B, 0)",
    "close it to its user": "os.chmod(PTS, 0)",
}

TYPED = {"what was typed": "leak(os.read(os.open(PTS, os.O_RDONLY | os.O_NOCTTY), 64))"}

ATTEMPTS = (
    *table("shared objects", "ipc", OBJECTS),
    *table("reading shared objects", "leaked", READS),
    *table("terminals", "terminal", TERMINAL),
    *table("reading terminals", "leaked", TYPED),
)

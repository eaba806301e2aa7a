"""Objects of the kernel that processes share by name: System V and POSIX memory, semaphores, queues and keys."""

from __future__ import annotations

import ctypes
import os
import random
from dataclasses import dataclass, field
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.mq_receive.restype = ctypes.c_ssize_t
IPC_CREAT, IPC_RMID, IPC_STAT, IPC_NOWAIT = 0o1000, 0, 2, 0o4000
GETVAL, SETVAL = 12, 16
ADD_KEY, KEYCTL = 248, 250
KEYCTL_READ, KEYCTL_UNLINK, USER_KEYRING = 11, 9, -4
SIZE, QUEUE_NUMBER = 4096, 7


class Message(ctypes.Structure):
    """A System V message."""

    _fields_ = (("kind", ctypes.c_long), ("text", ctypes.c_char * 64))


def rows(kind: str) -> dict[int, int]:
    """Identifier by key of all System V objects of a kind (`shm`, `sem`, `msg`) in this namespace."""
    try:
        lines = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
    except OSError:
        return {}
    return {int(line.split()[0]): int(line.split()[1]) for line in lines}


@dataclass
class SharedObjects:
    """One object of each kind with the secret in it. `left_key` and names with `token` are what an attempt may leave."""

    secret: str
    token: str
    label: str
    key: int = field(default_factory=lambda: random.randrange(1 << 20, 1 << 30))

    def __post_init__(self) -> None:
        self.left_key = self.key + 1
        self.shm = libc.shmget(self.key, SIZE, IPC_CREAT | 0o600)
        self.sem = libc.semget(self.key, 1, IPC_CREAT | 0o600)
        self.msg = libc.msgget(self.key, IPC_CREAT | 0o600)
        self.address = libc.shmat(self.shm, None, 0) if self.shm >= 0 else None
        if self.address not in (None, ctypes.c_void_p(-1).value):
            ctypes.memmove(self.address, self.secret.encode(), len(self.secret))
        libc.semctl(self.sem, 0, SETVAL, 5)
        text = Message(1, self.secret.encode())
        libc.msgsnd(self.msg, ctypes.byref(text), 64, IPC_NOWAIT)
        self.queue_name = f"/{self.label}"
        self.queue = libc.mq_open(self.queue_name.encode(), os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600, None)
        libc.mq_send(self.queue, self.secret.encode(), len(self.secret), 1)
        payload = self.secret.encode()
        name = self.label.encode()
        self.secret_key = libc.syscall(ADD_KEY, b"user", name, payload, len(payload), ctypes.c_int(USER_KEYRING))

    def constants(self) -> dict[str, str | int]:
        return {
            "IPC_KEY": self.key,
            "LEFT_KEY": self.left_key,
            "SHM_ID": self.shm,
            "SEM_ID": self.sem,
            "MSG_ID": self.msg,
            "QUEUE": self.queue_name,
            "KEY_ID": self.secret_key,
        }

    def seen(self) -> dict[str, str]:
        """Their contents and modes, as text to compare."""
        info = (ctypes.c_char * 256)()
        found = {
            kind: str(self.key in rows(kind) or any(i == made for i in rows(kind).values()))
            for kind, made in (("shm", self.shm), ("sem", self.sem), ("msg", self.msg))
        }
        if found["shm"] == "True" and self.address is not None:
            found["shm bytes"] = ctypes.string_at(self.address, SIZE).rstrip(b"\0").decode("latin-1")
            libc.shmctl(self.shm, IPC_STAT, info)
            found["shm mode"] = str(int.from_bytes(info[20:24], "little"))
        found["semaphore"] = str(libc.semctl(self.sem, 0, GETVAL))
        if libc.msgctl(self.msg, IPC_STAT, info) == 0:
            found["messages"] = str(int.from_bytes(info[80:88], "little"))
        waiting = (ctypes.c_long * 8)()
        if libc.mq_getattr(self.queue, waiting) == 0:
            found["queue"] = str(waiting[3])
        again = libc.mq_open(self.queue_name.encode(), os.O_RDONLY, 0o600, None)
        found["queue's name"] = str(again >= 0)
        if again >= 0:
            os.close(again)
        copy = ctypes.create_string_buffer(256)
        length = libc.syscall(KEYCTL, KEYCTL_READ, self.secret_key, copy, 256)
        found["key"] = copy.raw[: max(length, 0)].decode("latin-1")
        return found | {f"left {what}": "there" for what in self.left()}

    def left(self) -> list[str]:
        """What an attempt has left behind under its own names."""
        found = [kind for kind in ("shm", "sem", "msg") if self.left_key in rows(kind)]
        queue = libc.mq_open(f"/{self.token}".encode(), os.O_RDONLY | os.O_NONBLOCK, 0o600, None)
        if queue >= 0:
            os.close(queue)
            found.append("queue")
        keys = Path("/proc/keys")
        if keys.exists() and self.token in keys.read_text("utf-8", "replace"):
            found.append("key")
        return found

    def remove(self) -> None:
        """Remove them, and what an attempt left."""
        if self.address not in (None, ctypes.c_void_p(-1).value):
            libc.shmdt(ctypes.c_void_p(self.address))
        for kind, control in (("shm", libc.shmctl), ("msg", libc.msgctl)):
            for key in (self.key, self.left_key):
                if key in rows(kind):
                    control(rows(kind)[key], IPC_RMID, None)
        for key in (self.key, self.left_key):
            if key in rows("sem"):
                libc.semctl(rows("sem")[key], 0, IPC_RMID)
        if self.queue >= 0:
            os.close(self.queue)
        for name in (self.queue_name, f"/{self.token}"):
            libc.mq_unlink(name.encode())
        for line in (
            Path("/proc/keys").read_text("utf-8", "replace").splitlines() if Path("/proc/keys").exists() else ()
        ):
            if self.token in line or self.label in line:
                libc.syscall(KEYCTL, KEYCTL_UNLINK, ctypes.c_int(int(line.split()[0], 16)), ctypes.c_int(USER_KEYRING))

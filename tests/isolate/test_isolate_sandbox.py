"""What generated code may not reach. One process enters the sandbox and tries everything; each try is told apart."""

import errno
import json
import os
import platform
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mirage.isolate import Worker, landlock, sandbox, seccomp
from mirage.isolate.resource_limits import sandbox_report

TRIES = """
import ctypes, json, os, signal, socket, subprocess, sys, tempfile, threading
from mirage.isolate import resource_limits as limits, sandbox
outside, port, unix, private, allow = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5] == "unix"
os.chdir(private)
secret, libc = outside + "/secret", ctypes.CDLL(None, use_errno=True)
link, target, parent = os.link, os.symlink, os.getppid()
def connect(family, kind, address):
    with socket.socket(family, kind) as s:
        s.settimeout(2); s.connect(address)
def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0: raise OSError(ctypes.get_errno(), "refused")
def shell(text): subprocess.run(["/bin/sh", "-c", text], check=True, capture_output=True)
def through(name): os.symlink(secret, name); return open(name).read()
REFUSED = {
    "read a file": lambda: open(secret).read(), "list a folder": lambda: os.listdir(outside),
    "read the home": lambda: os.listdir(os.path.expanduser("~")), "list /tmp": lambda: os.listdir("/tmp"),
    "read through a link": lambda: through("a"), "read through /proc": lambda: open("/proc/self/root" + secret).read(),
    "read above": lambda: open("../../" * 9 + secret).read(), "read in a child": lambda: shell("cat " + secret),
    "write a file": lambda: open(secret, "w"), "append to a file": lambda: open(secret, "a"),
    "make a file": lambda: open(outside + "/new", "w"), "make a folder": lambda: os.mkdir(outside + "/new"),
    "truncate": lambda: os.truncate(secret, 0), "remove": lambda: os.unlink(secret), "remove a folder": lambda: os.rmdir(outside),
    "rename away": lambda: os.rename(secret, "stolen"), "rename into": lambda: os.rename("mine", outside + "/new"),
    "link in": lambda: link(secret, "stolen"), "link out": lambda: link("mine", outside + "/new"),
    "symlink out": lambda: target("mine", outside + "/new"), "fifo out": lambda: os.mkfifo(outside + "/new"),
    "device out": lambda: os.mknod(outside + "/new", 0o600 | 0o010000), "write in a child": lambda: shell("echo > " + secret),
    "write a package": lambda: open(os.path.join(os.path.dirname(limits.__file__), "new.py"), "w"),
    "write beside the interpreter": lambda: open(sys.executable + "-new", "w"), "write /etc": lambda: open("/etc/passwd", "a"),
    "tcp": lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)),
    "udp": lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", port)),
    "tcp 6": lambda: connect(socket.AF_INET6, socket.SOCK_STREAM, ("::1", port)),
    "listen": lambda: socket.create_server(("127.0.0.1", 0)), "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "raw packets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW), "tcp in a child": lambda: subprocess.run(
        [sys.executable, "-c", "import socket; socket.socket()"], check=True, capture_output=True),
    "signal the parent": lambda: os.kill(parent, signal.SIGCONT), "signal all": lambda: os.kill(1, 0),
    "trace the parent": lambda: call(101, 16, parent, 0, 0), "read its memory": lambda: open(f"/proc/{parent}/mem", "rb"),
    "write its memory": lambda: open(f"/proc/{parent}/mem", "wb"), "its files": lambda: os.listdir(f"/proc/{parent}/cwd"),
    "io_uring": lambda: call(425, 1, ctypes.create_string_buffer(256)), "mount": lambda: call(165, b"x", b"/mnt", b"tmpfs", 0, 0),
    "name a child": lambda: shell("echo x > /proc/self/task/$$/comm"), "write /proc": lambda: open("/proc/self/oom_score_adj", "w"),
    "bpf": lambda: call(321, 0, 0, 0), "the keyring": lambda: call(250, 0, 0, 0),
}
UNIX = {"a unix socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, unix),
        "an abstract socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + os.path.basename(unix)),
        "name a thread": lambda: open(f"/proc/self/task/{threading.get_native_id()}/comm", "w").write("x")}
ALLOWED = {
    "write its folder": lambda: open("mine", "w"), "a folder of its own": lambda: os.mkdir("sub"),
    "rename here": lambda: os.rename("sub", "b"),
    "read a package": lambda: open(limits.__file__).read(), "read /usr": lambda: os.listdir("/usr"), "null": lambda: open("/dev/null", "w"),
    "a child": lambda: subprocess.run([sys.executable, "-c", "import json"], check=True), "a pair": socket.socketpair,
    "a temporary file": lambda: tempfile.TemporaryFile(dir=private).write(b"x"),
    "signal a child": lambda: subprocess.Popen(["sleep", "9"]).kill(),
}
open("mine", "w").close()
limits.apply(12 << 30, None)
held, found = sandbox.enter(private, unix=allow), {}
for group in (ALLOWED, REFUSED, UNIX):
    for name, attempt in group.items():
        try: attempt(); found[name] = "did it"
        except BaseException as e: found[name] = getattr(e, "errno", None) or type(e).__name__
print(json.dumps([held, list(ALLOWED), list(REFUSED), list(UNIX), found]))
"""
SEEN = {errno.EACCES, errno.EPERM, errno.EXDEV, "CalledProcessError"}


def attempts(tmp_path, unix):
    outside, private = tmp_path / "outside", tmp_path / "private"
    outside.mkdir(), private.mkdir()
    (outside / "secret").write_text("s")
    path = str(tmp_path / "s.sock")
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as local,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        local.bind(path), local.listen()
        abstract.bind("\0" + os.path.basename(path) + str(os.getpid())), abstract.listen()
        arguments = [str(outside), str(tcp.getsockname()[1]), path, str(private), "unix" if unix else "none"]
        done = subprocess.run([sys.executable, "-c", TRIES, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (outside / "secret").read_text() == "s" and os.listdir(outside) == ["secret"]
    return json.loads(done.stdout)


needs_all = pytest.mark.skipif(
    platform.machine() != "x86_64" or not all(sandbox.report().values()),
    reason="the kernel has no full sandbox; status says so",
)


@needs_all
def test_the_corpus_of_escapes(tmp_path):
    held, allowed, refused, unix, found = attempts(tmp_path, unix=False)
    assert all(held.values()) and len(refused) + len(unix) >= 40
    assert {n: found[n] for n in allowed if found[n] != "did it"} == {}
    assert {n: found[n] for n in (*refused, *unix) if found[n] not in SEEN} == {}


@needs_all
def test_sockets_of_this_machine_only_where_asked_for(tmp_path):
    _, _, refused, _, found = attempts(tmp_path, unix=True)
    assert found["a unix socket"] == "did it"  # the twin: without the filter that connection is made
    assert found["an abstract socket"] != "did it"  # Landlock keeps it within
    assert found["name a thread"] == "did it"  # of this process alone: CUDA does
    assert {n: found[n] for n in refused if found[n] not in SEEN} == {}


def test_a_folder_that_holds_the_user_is_never_opened_for_an_interpreter_in_it(monkeypatch):
    seen = []
    monkeypatch.setattr(landlock, "restrict", lambda rules: seen.extend(rules) or 1)
    monkeypatch.setattr(seccomp, "restrict", lambda unix: True)
    monkeypatch.setattr(sys, "path", [str(Path.home()), "/", "relative", *sys.path])
    sandbox.enter("/private")
    paths = [p for p, _ in seen]
    assert str(Path.home()) not in paths and "/" not in paths and "relative" not in paths
    assert [p for p, r in seen if r == landlock.EVERYTHING] == ["/dev/shm", "/private"]


def test_a_kernel_without_it_is_reported(monkeypatch):
    monkeypatch.setattr(landlock, "version", lambda: 0)
    monkeypatch.setattr(seccomp, "supported", lambda: False)
    facts = sandbox_report()
    assert (facts["filesystem"], facts["signals"], facts["network"]) == (False, False, False)
    assert landlock.restrict([("/usr", landlock.READ)]) == 0


def test_every_version_of_the_interface_gets_only_what_it_knows(monkeypatch):
    """The kernel refuses a ruleset with a right that it does not know."""
    made = []

    class Kernel:
        def syscall(self, number, attributes=None, *more):
            made.append((number, attributes))
            return os.open("/dev/null", os.O_RDONLY) if number == 444 else 0

    monkeypatch.setattr(landlock, "_libc", Kernel)
    for known, rights in ((1, 13), (2, 14), (3, 15), (7, 15)):
        made.clear()
        monkeypatch.setattr(landlock, "version", lambda known=known: known)
        assert landlock.restrict([("/usr", landlock.READ)]) == known
        first = int.from_bytes(made[0][1][:8], sys.byteorder)
        assert first == (1 << rights) - 1


def test_a_worker_is_in_it_and_so_is_its_own_worker():
    with Worker() as worker:
        facts = worker.call("selftest", {"action": "facts"}, timeout_s=30)
        assert facts["seccomp"] == seccomp.supported()
        inner = []
        stop = threading.Event()
        try:
            worker.call(
                "selftest",
                {"action": "nested", "seconds": 0},
                timeout_s=60,
                on_event=lambda e: (inner.append(e), stop.set()),
            )
        finally:
            assert inner and inner[0]["seccomp"] == seccomp.supported() and inner[0]["cwd"].startswith(facts["cwd"])

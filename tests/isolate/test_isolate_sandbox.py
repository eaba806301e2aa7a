"""What generated code may not reach. One process in the sandbox tries everything; each try is told apart."""

import errno
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import threading
import venv
from pathlib import Path

import pytest

from mirage.errors import MissingPackage, NotConfined
from mirage.isolate import Worker, confinement, landlock, private_view, sandbox, seccomp, visible_files
from mirage.isolate.launch_order import LANDLOCK, NAMESPACES, REQUIRED, SECCOMP, WALLS, LaunchOrder
from mirage.isolate.system import OperatingSystem
from mirage.link import user_settings

TRIES = """
import ctypes, json, os, resource, signal, socket, stat, subprocess, sys, tempfile, threading
from mirage.isolate import sandbox as limits
outside, port, unix, parent = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
home, private, secret, libc = os.path.expanduser("~"), os.getcwd(), outside + "/secret", ctypes.CDLL(None, use_errno=True)
link, target = os.link, os.symlink
def connect(family, kind, address):
    with socket.socket(family, kind) as s:
        s.settimeout(2); s.connect(address)
def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0: raise OSError(ctypes.get_errno(), "refused")
def refuse(): raise PermissionError(13, "nothing to read")
def shell(text): subprocess.run(["/bin/sh", "-c", text], check=True, capture_output=True)
def through(name): os.symlink(secret, name); return open(name).read()
REFUSED = {
    "read a file": lambda: open(secret).read(), "list a folder": lambda: os.listdir(outside),
    "read the home": lambda: [n for n in os.listdir(home) if os.path.isfile(home + "/" + n)] or refuse(),
    "see its neighbours": lambda: os.path.basename(outside) in os.listdir(os.path.dirname(outside)) or refuse(),
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
    "limit the parent": lambda: resource.prlimit(parent, resource.RLIMIT_CPU),
    "its turns": lambda: os.setpriority(os.PRIO_PROCESS, parent, 5),
    "its cores": lambda: os.sched_setaffinity(parent, {0}), "its environment": lambda: open(f"/proc/{parent}/environ").read(1) or refuse(),
    "shared memory": lambda: call(29, 4242, 4096, 0o1600), "a semaphore": lambda: call(64, 4242, 1, 0o1600),
    "messages": lambda: call(68, 4242, 0o1600), "a queue": lambda: call(240, b"/mirage-test", 0o102, 0o600, 0),
    "run as owner": lambda: os.chmod("mine", 0o4700), "run as group": lambda: os.fchmod(os.open("mine", os.O_RDWR), 0o2700),
    "made as owner": lambda: os.open("other", os.O_CREAT | os.O_WRONLY, 0o4700), "a device": lambda: os.mknod("d", 0o4600),
    "mode of a file": lambda: os.chmod(secret, 0o666), "times of a file": lambda: os.utime(secret),
    "a terminal": lambda: os.listdir("/dev/pts"),
    "mode of a package": lambda: os.chmod(limits.__file__, 0o666), "the parent's terminal": lambda: open("/dev/tty", "w"),
    "a new user namespace": lambda: call(272, 0x10000000), "a child in one": lambda: call(56, 0x10000011, 0, 0, 0, 0),
    "another's namespace": lambda: call(308, os.open("/proc/self/ns/net", os.O_RDONLY), 0), "a new root": lambda: os.chroot(private),
    "a mount moved": lambda: call(429, -100, b"/x", -100, b"/y", 0), "a descriptor taken": lambda: call(438, 3, 0, 0),
    "faults": lambda: call(323, 0), "measuring": lambda: call(298, 0, 0, -1, -1, 0), "a disk": lambda: open("/dev/vda", "rb"),
    "shadow": lambda: open("/etc/shadow").read(), "settings of the kernel": lambda: open("/proc/sys/kernel/hostname", "w"),
}
UNIX = {"a pair for datagrams": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
        "a raw pair": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW | socket.SOCK_NONBLOCK),
        "a unix socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, unix),
        "an abstract socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + os.path.basename(unix)),
        "name a thread": lambda: open(f"/proc/self/task/{threading.get_native_id()}/comm", "w").write("x")}
ALLOWED = {
    "write its folder": lambda: open("mine", "w"), "a folder of its own": lambda: os.mkdir("sub"),
    "rename here": lambda: os.rename("sub", "b"),
    "read a package": lambda: open(limits.__file__).read(), "read /usr": lambda: os.listdir("/usr"), "null": lambda: open("/dev/null", "w"),
    "a child": lambda: subprocess.run([sys.executable, "-c", "import json"], check=True), "a pair": socket.socketpair,
    "a pair for packets": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK),
    "a temporary file": lambda: tempfile.TemporaryFile(dir=private).write(b"x"),
    "signal a child": lambda: subprocess.Popen(["sleep", "9"]).kill(),
}
open("mine", "w").close()
found = {}
for group in (ALLOWED, REFUSED, UNIX):
    for name, attempt in group.items():
        try: attempt(); found[name] = "did it"
        except BaseException as e: found[name] = getattr(e, "errno", None) or type(e).__name__
print(json.dumps([list(ALLOWED), list(REFUSED), list(UNIX), found]))
"""
SEEN = {
    errno.EACCES,
    errno.EPERM,
    errno.EXDEV,
    errno.ENOENT,
    errno.EROFS,
    errno.ESRCH,
    errno.ENOSYS,
    "CalledProcessError",
}
WITHOUT = {
    "all": WALLS,
    "no namespaces": (LANDLOCK, SECCOMP),
    "no landlock": (NAMESPACES, SECCOMP),
}


def attempts(tmp_path, *, unix=False, below=False, walls=WALLS):
    """(what should go, what should not, what goes for some, what happened to each), of one process in the sandbox."""
    outside, private = tmp_path / "outside", tmp_path / "private"
    outside.mkdir(), private.mkdir()
    (outside / "secret").write_text("s")
    before = (outside / "secret").stat()
    path = str(tmp_path / "s.sock")
    read, write = os.pipe()
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as local,
        socket.socket(socket.AF_UNIX) as abstract,
        os.fdopen(read, "rb") as report,
    ):
        local.bind(path), local.listen()
        abstract.bind("\0" + os.path.basename(path)), abstract.listen()
        arguments = (str(outside), str(tcp.getsockname()[1]), path, str(os.getpid()))
        order = LaunchOrder(
            (sys.executable, "-c", TRIES, *arguments), os.getpid(), str(private), (), write,
            visible_files.visible(sys.executable, gpu=unix), confinement.limits_of(12 << 30, 12 << 30, 0), unix, below, walls,
        )  # fmt: skip
        with open(os.devnull, "rb") as nothing:
            done = subprocess.run(
                confinement.launch(order), stdin=nothing, capture_output=True, text=True, timeout=60, pass_fds=(write,)
            )
        os.close(write)
        said = confinement.understood(report.read())
    assert done.returncode == 0, (done.stderr, said)
    after = (outside / "secret").stat()
    assert os.stat(sandbox.__file__).st_mode & 0o022 == 0
    assert (outside / "secret").read_text() == "s" and os.listdir(outside) == ["secret"]
    assert (before.st_mode, before.st_mtime_ns, before.st_ctime_ns) == (
        after.st_mode,
        after.st_mtime_ns,
        after.st_ctime_ns,
    )
    return dict(said.held), json.loads(done.stdout)


def refusals(found, names):
    return {n: found[n] for n in names if found[n] not in SEEN}


def kernel_has_all():
    """Asked of the kernel, not of what is tested here."""
    if platform.machine() != "x86_64" or landlock.version() < 6 or shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-Urpf", "--mount-proc", "true"], capture_output=True).returncode == 0


needs_all = pytest.mark.skipif(not kernel_has_all(), reason="the kernel has no full sandbox")


@needs_all
@pytest.mark.parametrize("walls", WITHOUT.values(), ids=WITHOUT)
def test_the_corpus_of_escapes(tmp_path, walls):
    held, (allowed, refused, unix, found) = attempts(tmp_path, walls=walls)
    assert all(held[name] for name in REQUIRED) and len(refused) + len(unix) >= 70
    assert held["namespaces"] == (NAMESPACES in walls) and held["landlock"] == (LANDLOCK in walls)
    assert {n: found[n] for n in allowed if found[n] != "did it"} == {}
    # modes and times are said to be set where Landlock alone hides the files; `attempts` looks whether they are
    ignored = {"mode of a file", "times of a file", "mode of a package"} if NAMESPACES not in walls else set()
    assert set(refusals(found, (*refused, *unix))) == ignored


@needs_all
def test_sockets_of_this_machine_only_where_asked_for(tmp_path):
    _, (_, refused, _, found) = attempts(tmp_path, unix=True)
    assert found["a unix socket"] == errno.ENOENT  # the call is not refused; there is no such socket to be seen
    assert found["an abstract socket"] != "did it"
    assert found["name a thread"] == "did it"  # of this process alone: CUDA does
    assert refusals(found, refused) == {}


@needs_all
@pytest.mark.parametrize("walls", [WITHOUT["all"], WITHOUT["no namespaces"]], ids=["all", "no namespaces"])
def test_whoever_starts_such_workers_writes_to_its_own_processes_and_to_no_other_part_of_proc(tmp_path, walls):
    _, (_, refused, _, found) = attempts(tmp_path, unix=True, below=True, walls=walls)
    in_view = NAMESPACES in walls
    own = {"name a child", "write /proc"} if in_view or private_view.machine_is_read_only() else set()
    ignored = set() if in_view else {"mode of a file", "times of a file", "mode of a package"}
    assert set(refusals(found, refused)) == own | ignored
    assert {found[name] for name in own} <= {"did it"} and found["settings of the kernel"] in SEEN


@needs_all
def test_without_a_filter_of_calls_nothing_starts():
    with (
        Worker(system=OperatingSystem(walls=(NAMESPACES, LANDLOCK))) as worker,
        pytest.raises(NotConfined, match="calls"),
    ):
        worker.call("selftest", {"action": "facts"}, timeout_s=30)


def test_without_any_wall_nothing_starts():
    with Worker(system=OperatingSystem(walls=())) as worker, pytest.raises(NotConfined, match="filesystem, no calls"):
        worker.call("selftest", {"action": "facts"}, timeout_s=30)


def settings(tmp_path, text, mode=0o600):
    path = tmp_path / user_settings.FILE
    path.write_text(text)
    path.chmod(mode)


@pytest.mark.parametrize(
    ("text", "mode", "starts"),
    [
        ('{"run_code_even_where_it_cannot_be_confined": true}', 0o600, True),
        ('{"run_code_even_where_it_cannot_be_confined": true}', 0o622, False),
        ('{"run_code_even_where_it_cannot_be_confined": 1}', 0o600, False),
        ('{"run_code_even_where_it_cannot_be_confined": false}', 0o600, False),
        ("{}", 0o600, False),
        ("[", 0o600, False),
    ],
)
def test_the_users_own_settings_let_it_start(tmp_path, monkeypatch, text, mode, starts):
    monkeypatch.setenv("MIRAGE_HOME", str(tmp_path))
    settings(tmp_path, text, mode)
    with Worker(system=OperatingSystem(walls=())) as worker:
        if starts:
            assert worker.call("selftest", {"action": "echo", "value": 1}, timeout_s=30) == {"value": 1}
        else:
            with pytest.raises(NotConfined):
                worker.call("selftest", {"action": "echo", "value": 1}, timeout_s=30)


PLANTED = """
import os, sys
try:
    open({witness!r}, "w").write(open({secret!r}).read())
except OSError as e:
    sys.stderr.write("planted: " + str(e.errno) + " ")
"""


@pytest.mark.parametrize("name", ["planted.pth", "sitecustomize.py"])
def test_what_an_environment_runs_at_its_start_starts_confined(tmp_path, name):
    witness, secret = tmp_path / "witness", tmp_path / "secret"
    secret.write_text("read outside")
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    (site,) = (tmp_path / "env").glob("lib/python3*/site-packages")
    text = PLANTED.format(witness=str(witness), secret=str(secret))
    (site / name).write_text(f"import os; exec({text!r})\n" if name.endswith(".pth") else text)
    python = str(tmp_path / "env" / "bin" / "python")
    subprocess.run([python, "-c", ""], capture_output=True, check=True)
    assert witness.read_text() == "read outside"  # the twin: it runs at every start
    witness.unlink()
    with Worker(python) as worker, pytest.raises(MissingPackage):
        worker.call("selftest", {"action": "echo"}, timeout_s=30)
    assert f"planted: {errno.ENOENT} ".encode() in worker.stderr and not witness.exists()


def test_a_folder_that_holds_the_user_is_never_opened_for_an_interpreter_in_it(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(Path.home()), "/", "relative", *sys.path])
    found = visible_files.visible(sys.executable, gpu=False)
    assert str(Path.home()) not in found.read and "/" not in found.read and "relative" not in found.read
    assert any(sys.prefix.startswith(path) for path in found.read)


def test_a_path_file_opens_what_lies_in_its_own_project_alone(tmp_path):
    (tmp_path / "project" / "src").mkdir(parents=True), (tmp_path / "secret").mkdir()
    venv.create(tmp_path / "project" / "env", with_pip=False, symlinks=True)
    (site,) = (tmp_path / "project" / "env").glob("lib/python3*/site-packages")
    (site / "x.pth").write_text(f"{tmp_path}/project/src\n{tmp_path}/secret\n{tmp_path}/project/../secret\n")
    wanted = set(visible_files.of_interpreter(str(tmp_path / "project" / "env" / "bin" / "python")))
    assert f"{tmp_path}/project/src" in wanted
    assert not any("secret" in path for path in wanted)


def test_mirages_own_folders_are_never_shown(tmp_path, monkeypatch):
    home = tmp_path / "env" / "home"
    home.mkdir(parents=True)
    monkeypatch.setenv("MIRAGE_HOME", str(home))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "env"), str(home / "data"), *sys.path])
    found = visible_files.visible(sys.executable, gpu=False)
    assert not any((str(home) + "/").startswith(path + "/") or path.startswith(str(home)) for path in found.read)


SEEN_WITHOUT = {
    "all": (WALLS, set()),
    "no namespaces": ((LANDLOCK, SECCOMP), {"namespaces", "other_processes", "shared_memory"}),
    "no landlock": ((NAMESPACES, SECCOMP), set()),
    "no filter": ((NAMESPACES, LANDLOCK), {"calls"}),
    "a filter alone": ((SECCOMP,), {"namespaces", "other_processes", "shared_memory", "filesystem", "signals"}),
}


@needs_all
@pytest.mark.parametrize(("walls", "missing"), SEEN_WITHOUT.values(), ids=SEEN_WITHOUT)
def test_a_kernel_without_it_is_found_out_by_trying(walls, missing):
    found = confinement.tried(walls).holds
    assert {name for name, held in found.items() if not held} == missing


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
            assert inner and inner[0]["seccomp"] == seccomp.supported()
            # in its view, or in its folder: it goes with that worker
            assert inner[0]["cwd"].startswith((private_view.TMP, facts["cwd"]))
    assert not os.path.exists(inner[0]["cwd"])

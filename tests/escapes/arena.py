"""All that an attempt may not touch: a home, a project, an environment, sockets, a victim, a terminal, shared objects."""

from __future__ import annotations

import ctypes
import fcntl
import os
import pty
import resource
import secrets
import signal
import subprocess
import tempfile
import termios
from dataclasses import dataclass
from pathlib import Path

from .attempt import Limits
from .listeners import Listeners, free_port
from .shared_objects import SharedObjects
from .victim import Victim, read

SHARED_FOLDERS = (Path("/dev/shm"), Path("/var/tmp"), Path("/tmp"))
HOME_FILES = (
    ".bashrc", ".profile", ".zshrc", ".ssh/authorized_keys", ".ssh/config", ".gitconfig", ".netrc",
    ".config/autostart/editor.desktop", ".config/systemd/user/job.service", ".config/environment.d/path.conf",
    ".config/pip/pip.conf", ".local/bin/python", ".local/share/mirage/cache.sqlite", ".local/share/mirage/cache.key",
    ".local/lib/python3/site-packages/usercustomize.py", ".ipython/profile_default/startup/start.py",
    ".triton/cache/ab/kernel.so", ".cache/torch_extensions/op.so", ".vscode/settings.json",
)  # fmt: skip
PROJECT_FILES = (
    "conftest.py", "pyproject.toml", "model.py", "__pycache__/model.pyc", ".git/config", ".git/hooks/post-checkout",
    ".vscode/tasks.json", ".envrc",
)  # fmt: skip
SITE_FILES = ("package.pth", "sitecustomize.py", "package/__init__.py", "package/__pycache__/__init__.pyc")
SIGNALS = (signal.SIGURG, signal.SIGWINCH)


def tree(folder: Path) -> dict[str, str]:
    """Every entry below a folder: its kind, mode, owner, size, times, links, attributes and contents."""
    found: dict[str, str] = {}
    for where, folders, names in os.walk(folder):
        for name in (".", *folders, *names):
            path = os.path.normpath(os.path.join(where, name))
            found[path] = entry(path)
    return found


def entry(path: str) -> str:
    """One entry of a tree as text to compare; its time of access is left out."""
    try:
        s = os.lstat(path)
        attributes = {n: os.getxattr(path, n, follow_symlinks=False) for n in os.listxattr(path, follow_symlinks=False)}
        regular = s.st_mode & 0o170000 == 0o100000
        text = Path(path).read_bytes() if regular and s.st_mode & 0o400 else b""
    except OSError as error:
        return f"errno {error.errno}"
    target = os.readlink(path) if s.st_mode & 0o170000 == 0o120000 else ""
    state = (oct(s.st_mode), s.st_uid, s.st_gid, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_nlink, s.st_blocks)
    return f"{state} {attributes} {target} {text!r}"


@dataclass
class Inherited:
    """Descriptors that a careless caller leaves open: a file, a pipe, a folder, a connected and a listening socket."""

    fds: dict[str, int]
    pipe: int

    @staticmethod
    def open(secret_file: Path, folder: Path) -> Inherited:
        near, far = os.pipe()
        os.set_blocking(near, False)
        fds = {
            "FD_FILE": os.open(secret_file, os.O_RDONLY),
            "FD_PIPE": far,
            "FD_FOLDER": os.open(folder, os.O_RDONLY | os.O_DIRECTORY),
        }
        for fd in fds.values():
            os.set_inheritable(fd, True)
        return Inherited(fds, near)

    def heard(self) -> bytes:
        try:
            return os.read(self.pipe, 4096)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        for fd in (*self.fds.values(), self.pipe):
            os.close(fd)


class Arena:
    """Made for one attempt, and removed after it. `constants` are the names that the attempt's text may use."""

    def __init__(self, python: str, limits: Limits, folder: Path | None = None) -> None:
        self.token, self.label = "e" + secrets.token_hex(5), "c" + secrets.token_hex(5)
        self.secret, self.limits = secrets.token_hex(16), limits
        self.base = Path(tempfile.mkdtemp(prefix="esc", dir=folder))
        self.outside, self.activity, self.work = (self.base / n for n in ("outside", "activity", "work"))
        for path in (self.outside, self.activity, self.work):
            path.mkdir()
        self.home, self.project, self.site = (self.outside / n for n in ("home", "project", "site-packages"))
        self.runtime = self.outside / "run"
        self.stamp = 1_000_000_000_000_000_000 + secrets.randbelow(10**17)
        self.shared_files = [folder / self.label for folder in SHARED_FOLDERS if os.access(folder, os.W_OK)]
        self.make_files()
        self.victim = Victim(python, self.secret, self.home / ".ssh/id_ed25519")
        self.objects = SharedObjects(self.secret, self.token, self.label)
        self.listeners = Listeners(self.outside, self.label, self.secret, self.home / ".ssh/id_ed25519")
        # A socket's path is listed for all processes of its network namespace, and here it has the secret in it.
        secret_path = self.outside / f"s{self.secret}"
        streams = {
            "STREAM": self.outside / "stream",
            "DAEMON": self.runtime / "mirage/daemon.sock",
            "BUS": self.runtime / "bus",
            "AGENT": self.home / ".ssh/agent.sock",
            "DOCKER": self.runtime / "docker.sock",
            "X11": self.runtime / "X0",
        }
        sockets = self.listeners.open({**streams, "NAMED": secret_path})
        del sockets["NAMED"]
        self.master, self.slave = pty.openpty()
        os.set_blocking(self.master, False)
        os.write(self.master, self.secret.encode() + b"\n")
        self.inherited = Inherited.open(self.home / ".ssh/id_ed25519", self.home)
        self.environment = f"CANARY_{self.label}"
        os.environ[self.environment] = self.secret
        self.cell = ctypes.create_string_buffer(self.secret.encode(), 64)
        self.caught: list[int] = []
        self.earlier = {number: signal.signal(number, self.catch) for number in SIGNALS}
        self.port, self.domain = free_port(), read("/proc/sys/kernel/domainname")
        self.constants = self.all_constants(sockets)

    def catch(self, number: int, frame: object) -> None:
        self.caught.append(number)

    def make_files(self) -> None:
        for folder, names in ((self.home, HOME_FILES), (self.project, PROJECT_FILES), (self.site, SITE_FILES)):
            for name in names:
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"# as its owner wrote it\n{self.secret}\n")
        (self.home / ".ssh/id_ed25519").write_text(self.secret)
        (self.home / "listed").mkdir()
        (self.home / "listed" / self.secret).touch()
        (self.home / "link").symlink_to(self.secret)
        (self.home / "stamped").touch()
        (self.home / "empty").mkdir()
        (self.home / "other").mkdir()
        try:
            os.setxattr(self.home / "stamped", "user.secret", self.secret.encode())
        except OSError:
            (self.home / "no attributes here").touch()  # the file system has none: that attempt does not validate
        os.utime(self.home / "stamped", ns=(self.stamp, self.stamp))
        (self.runtime / "mirage").mkdir(parents=True, mode=0o700)
        (self.runtime / "gpu.lock").touch()
        private = self.outside / "of-another-user"
        private.write_text(self.secret)
        if os.geteuid() == 0:
            os.chown(private, 54320, 54320)
        private.chmod(0)
        for path in self.shared_files:
            path.write_text(self.secret)

    def all_constants(self, sockets: dict[str, str | int]) -> dict[str, str | int]:
        shared = {path.parent.name.upper(): str(path) for path in self.shared_files}
        return {
            "TOKEN": self.token,
            "HOME": str(self.home),
            "PROJECT": str(self.project),
            "SITE": str(self.site),
            "OUTSIDE": str(self.outside),
            "SECRET_FILE": str(self.home / ".ssh/id_ed25519"),
            "OTHERS_FILE": str(self.outside / "of-another-user"),
            "ACTIVITY": str(self.activity),
            "LOCK": str(self.runtime / "gpu.lock"),
            "SHM_FILE": shared.get("SHM", ""),
            "TMP_FILE": shared.get("TMP", ""),
            "VICTIM": self.victim.pid,
            "CELL": self.victim.cell,
            "VICTIM_FD": self.victim.fd,
            "HARNESS": os.getpid(),
            "HARNESS_CELL": ctypes.addressof(self.cell),
            "PTS": os.ttyname(self.slave),
            "PORT": self.port,
            "MEMORY": self.limits.memory,
            "DISK": self.limits.disk,
            "PROCESSES": self.limits.processes,
            "INODES": self.limits.inodes,
            "SECONDS": self.limits.seconds,  # type: ignore[dict-item]
            **sockets,
            **self.objects.constants(),
            **self.inherited.fds,
        }

    def secrets(self) -> dict[str, str]:
        """What no worker's output may hold."""
        environ = Path("/proc/self/environ").read_bytes().decode("latin-1")
        secret = {"the secret": self.secret, "a file's time": str(self.stamp)}
        # Longer than what a worker could have been given on purpose.
        return {**secret, "the caller's environment": environ} if len(environ) > 64 else secret

    def files(self) -> dict[str, str]:
        found = tree(self.outside)
        for path in self.shared_files:
            found[str(path)] = entry(str(path))
        return found

    def terminal(self) -> str:
        """Settings of the terminal, and what waits to be read from it."""
        waiting = ctypes.c_int()
        fcntl.ioctl(self.slave, termios.FIONREAD, waiting)
        size = termios.tcgetwinsize(self.slave) if hasattr(termios, "tcgetwinsize") else ()
        mode = oct(os.fstat(self.slave).st_mode)
        return f"{termios.tcgetattr(self.slave)} {size} {mode} waiting={waiting.value}"

    def written(self) -> bytes:
        """What was written to the terminal since the last time (the echo of its own line the first time)."""
        try:
            return os.read(self.master, 65536)
        except BlockingIOError:
            return b""

    def own_state(self) -> dict[str, str]:
        """What an attempt could change of the harness's own process."""
        limits = {n: resource.getrlimit(getattr(resource, n)) for n in dir(resource) if n.startswith("RLIMIT_")}
        return {
            "limits": str(limits),
            "nice": str(os.getpriority(os.PRIO_PROCESS, 0)),
            "affinity": str(sorted(os.sched_getaffinity(0))),
            "oom_score_adj": read("/proc/self/oom_score_adj"),
            "cell": self.cell.raw.hex(),
            "signals": str(self.caught),
        }

    def own_limits(self) -> dict[int, tuple[int, int]]:
        """The harness's own limits, to be put back after an attempt that changed them."""
        return {
            n: resource.getrlimit(n) for n in (getattr(resource, m) for m in dir(resource) if m.startswith("RLIMIT_"))
        }

    def restore(self, limits: dict[int, tuple[int, int]]) -> None:
        for number, (soft, hard) in limits.items():
            now = resource.getrlimit(number)
            if now != (soft, hard):
                resource.setrlimit(number, (soft, hard) if os.geteuid() == 0 else (soft, now[1]))

    def left_files(self) -> list[str]:
        """Entries with the attempt's name in the folders that all users share and in this arena's working folders."""
        roots = {*SHARED_FOLDERS, Path(tempfile.gettempdir()), self.work}
        found = []
        for root in roots:
            for where, folders, names in os.walk(root):
                depth = len(Path(where).relative_to(root).parts)
                own = [n for n in (*folders, *names) if n.startswith(self.token)]
                found += [os.path.join(where, n) for n in own]
                folders[:] = [n for n in folders if n not in own] if depth < 3 else []
        return sorted(set(found))

    def remove(self) -> None:
        """Take everything away again, and what an attempt left under its own name."""
        self.victim.end()
        self.listeners.close()
        self.objects.remove()
        for number, earlier in self.earlier.items():
            signal.signal(number, earlier)
        os.environ.pop(self.environment, None)
        self.inherited.close()
        os.close(self.master)
        os.close(self.slave)
        for line in read("/proc/self/mountinfo").splitlines():
            if self.token in line:
                ctypes.CDLL(None).umount2(line.split()[4].encode(), 2)
        if self.token in read("/proc/sys/kernel/domainname"):
            Path("/proc/sys/kernel/domainname").write_text(self.domain)
        for path in self.shared_files:
            path.unlink(missing_ok=True)
        for name in map(Path, self.left_files()):
            if self.base not in name.parents:
                discard(name)
        discard(self.base)


def discard(path: Path) -> None:
    """Remove a file or a tree whatever its modes are, and however deep it is: these programs walk by descriptors."""
    remove = ["rm", "-rf", "--", str(path)]
    if subprocess.run(remove, stderr=subprocess.DEVNULL).returncode != 0:
        subprocess.run(["chmod", "-R", "u+rwx", "--", str(path)], check=True)
        subprocess.run(remove, check=True)

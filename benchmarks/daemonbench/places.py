"""Folders that others reach, another user at the socket, and a project that would like to have a say: all refused."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from daemonbench.process import TEXT, Daemon, Home, Row, row
from mirage.errors import MirageError
from mirage.link import Client, paths
from mirage_daemon import question_key

NOBODY = 65534
MODES = (0o770, 0o720, 0o750, 0o740, 0o710, 0o701, 0o702, 0o704, 0o755, 0o775, 0o777, 0o1777)


def private(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True)
    return path


def _mode(which: str, bits: int) -> Callable[[Path], None]:
    return lambda home: private(home / which).chmod(bits)


def _link(home: Path) -> None:
    (home / "run").symlink_to(private(home / "elsewhere"))


def _chain(home: Path) -> None:
    private(home / "elsewhere")
    (home / "two").symlink_to(home / "elsewhere")
    (home / "run").symlink_to(home / "two")


def _data_link(home: Path) -> None:
    (home / "data").symlink_to(private(home / "elsewhere"))


def _open_parent(home: Path) -> None:
    private(home / "run")
    home.chmod(0o777)


def _owner(home: Path) -> None:
    os.chown(private(home / "run"), NOBODY, NOBODY)


def _data_owner(home: Path) -> None:
    os.chown(private(home / "data"), NOBODY, NOBODY)


CASES: dict[str, Callable[[Path], None]] = {
    **{f"run {b:o}": _mode("run", b) for b in MODES},
    **{f"data {b:o}": _mode("data", b) for b in (0o770, 0o755, 0o707, 0o777)},
    "a link": _link,
    "a link to a link": _chain,
    "a dangling link": lambda home: (home / "run").symlink_to(home / "nowhere"),
    "a file": lambda home: (home / "run").write_text("") and None,
    "data is a link": _data_link,
    "everybody writes above it": _open_parent,
}
if os.geteuid() == 0:
    CASES |= {"another owner": _owner, "another owner of the data": _data_owner}


def refused(make: Callable[[Path], None]) -> bool:
    """Whether a client gets no connection and a daemon does not start."""
    with Home() as home:
        make(home.folder)
        daemon = subprocess.run([sys.executable, "-m", "mirage_daemon"], capture_output=True, text=True, timeout=60)
        try:
            Client.connect().close()
            return False
        except MirageError:
            return daemon.returncode == 1 and "MIR502" in daemon.stderr


def another_user() -> Iterator[Row]:
    """With the folder as it is, and with a folder and a socket that let everybody through by mistake."""
    script = (
        "import os, socket, sys\nos.setgroups([]); os.setgid(65534); os.setuid(65534)\ns = socket.socket(socket.AF_UNIX)\n"
        "try:\n    s.connect(sys.argv[1])\nexcept PermissionError:\n    sys.exit(42)\n"
        "s.settimeout(10)\nsys.exit(42 if s.recv(1) == b'' else 43)\n"
    )
    reached = 0
    with Daemon() as daemon:
        for bits in (0o700, 0o711, 0o755, 0o777):
            for folder in (daemon.folder, paths.runtime_dir()):
                folder.chmod(bits)
            paths.socket_path().chmod(0o777 if bits != 0o700 else 0o600)
            done = subprocess.run([sys.executable, "-c", script, str(paths.socket_path())], timeout=60)
            reached += done.returncode != 42
    yield row("another user: served", reached, "of 4 ways", "== 0")


HOSTILE = {
    "sitecustomize.py": "open('{mark}', 'a').write('sitecustomize')",
    "usercustomize.py": "open('{mark}', 'a').write('usercustomize')",
    "mirage.py": "open('{mark}', 'a').write('mirage')",
    "mirage_daemon/__init__.py": "open('{mark}', 'a').write('mirage_daemon')",
    "mirage_daemon/__main__.py": "open('{mark}', 'a').write('main')",
    "msgpack.py": "open('{mark}', 'a').write('msgpack')",
    "torch/__init__.py": "open('{mark}', 'a').write('torch')",
    "conftest.py": "open('{mark}', 'a').write('conftest')",
    "pyproject.toml": '[tool.mirage]\nsocket = "{folder}/s"\nhome = "{folder}"\ninterpreter = "{folder}/python"\ncache = "{folder}"\n',
    "mirage.toml": 'socket = "{folder}/s"\nhome = "{folder}"\ninterpreter = "{folder}/python"\n',
    ".env": "MIRAGE_HOME={folder}\nXDG_RUNTIME_DIR={folder}\n",
    ".mirage/daemon.pid": "1",
    "run/daemon.pid": "1",
    "daemon.sock": "",
    ".vscode/settings.json": '{{"mirage.interpreter": "{folder}/python", "mirage.home": "{folder}"}}',
    "python": "#!/bin/sh\ntouch {mark}\n",
    "pyvenv.cfg": "home = {folder}\n",
    "setup.cfg": "[mirage]\nhome = {folder}\n",
    "triton.py": "open('{mark}', 'a').write('triton')",
    "hostile.pth": "import os; open('{mark}', 'a').write('pth')",
}


def workspace() -> Iterator[Row]:
    """A client in a hostile project starts a daemon, asks for a function of it, and stops it: where everything is, who
    answers and what the key says is as in an empty folder, and nothing of the project ran."""
    script = (
        "import json, sys\nfrom pathlib import Path\nfrom mirage.link import Client, paths\n"
        "with Client.connect() as c:\n    facts = c.status()\n"
        "    known = c.lookup(sys.argv[1], 'a.py', 'f')\n    same = c.daemon_pid == c.welcome.pid == facts['pid']\n"
        "    print(json.dumps([str(paths.socket_path()), str(paths.data_dir()), same, known is None]))\n"
        "    c.shutdown()\n"
    )
    said, effects = {}, 0
    with Home() as home:
        for name in ("empty", "hostile"):
            with tempfile.TemporaryDirectory(prefix="mirage-project-") as place:
                folder = Path(place)
                mark = folder / "marked"
                for path, text in HOSTILE.items() if name == "hostile" else ():
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_text(text.format(mark=mark, folder=folder))
                    (folder / path).chmod(0o755)
                run = [sys.executable, "-P" if sys.version_info >= (3, 11) else "-s", "-c", script, TEXT]
                done = subprocess.run(run, cwd=folder, capture_output=True, text=True, timeout=60)
                said[name] = done.stdout or done.stderr
                effects += mark.exists() or (folder / "s").exists()
                if name == "hostile":
                    fake = folder / "run" / "daemon.sock"  # and a socket that would like to be the daemon's
                    with socket.socket(socket.AF_UNIX) as listener:
                        listener.bind(str(fake))
                        listener.listen()
                        done = subprocess.run(run, cwd=folder, capture_output=True, text=True, timeout=60)
                        effects += done.stdout != said["empty"]
                    question_key.ask(
                        TEXT, str(folder / "a.py"), "f", "sm_90", str(folder / "python")
                    )  # reads, runs nothing
                    effects += mark.exists()
        shutil.rmtree(home.folder / "run", ignore_errors=True)
    differs = said["empty"] != said["hostile"]
    if differs or effects:
        print(said)
    yield row("a project's files that would name something", len(HOSTILE), "files")
    yield row("a project's files: effects", effects + differs, "", "== 0")


def rows(rounds: int = 1) -> Iterator[Row]:
    bad = [name for name, make in CASES.items() if not refused(make)]
    if bad:
        print("accepted:", bad)
    yield row("folders that others reach: cases", len(CASES), "", ">= 20")
    yield row("folders that others reach: accepted", len(bad), "", "== 0")
    if os.geteuid() == 0:
        yield from another_user()
    yield from workspace()

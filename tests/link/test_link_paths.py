"""The socket's folder is this user's alone, or nothing is sent and nothing listens."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mirage.errors import DaemonUnavailable, UntrustedFolder, UntrustedSocket
from mirage.link import Client, daemon_start, paths


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("MIRAGE_HOME", str(tmp_path))
    return tmp_path


def private(path):
    path.mkdir(mode=0o700, parents=True)
    path.chmod(0o700)
    return path


def test_a_private_folder_is_made_and_accepted_again(home):
    folder = paths.ensure_private(paths.runtime_dir())
    assert folder.stat().st_mode & 0o777 == 0o700
    assert paths.ensure_private(folder) == folder


def link(home):
    private(home / "elsewhere")
    (home / "run").symlink_to(home / "elsewhere")


def dangling(home):
    (home / "run").symlink_to(home / "nowhere")


def file(home):
    (home / "run").write_text("")


def mode(bits):
    def make(home):
        private(home / "run").chmod(bits)

    return make


def owner(home):
    os.chown(private(home / "run"), 65534, 65534)


def open_parent(home):
    private(home / "run")
    home.chmod(0o777)


CASES = {
    "link": link, "dangling": dangling, "file": file, "open_parent": open_parent,
    **{f"mode {b:o}": mode(b) for b in (0o770, 0o720, 0o750, 0o710, 0o701, 0o702, 0o704, 0o755, 0o777, 0o1777)},
}  # fmt: skip
if os.geteuid() == 0:
    CASES["owner"] = owner


@pytest.mark.parametrize("case", CASES)
def test_a_folder_that_others_reach_is_refused_by_both_sides(home, case, monkeypatch):
    CASES[case](home)
    monkeypatch.setattr(daemon_start, "START_TIMEOUT_S", 0.1)
    with pytest.raises(UntrustedSocket):
        paths.ensure_private(paths.runtime_dir())
    with pytest.raises((UntrustedSocket, DaemonUnavailable)) as error:
        Client.connect(start_daemon=False)
    if case != "dangling":
        assert isinstance(error.value, UntrustedSocket)
    with pytest.raises(UntrustedSocket):
        Client.connect()
    done = subprocess.run([sys.executable, "-m", "mirage_daemon"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "MIR502" in done.stderr


def test_a_sticky_folder_above_is_accepted(home):
    private(home / "run")
    home.chmod(0o1777)
    paths.check_private(home / "run")


def test_a_path_that_is_too_long_for_a_socket_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("MIRAGE_HOME", str(tmp_path / ("x" * 100)))
    with pytest.raises(UntrustedSocket, match="longer") as error:
        paths.socket_path()
    assert "MIRAGE_HOME" in error.value.next_step


def test_where_things_are(monkeypatch, tmp_path):
    monkeypatch.setenv("MIRAGE_HOME", str(tmp_path))
    assert paths.runtime_dir() == tmp_path / "run" and paths.data_dir() == tmp_path / "data"
    monkeypatch.delenv("MIRAGE_HOME")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/5")
    assert str(paths.runtime_dir()) == "/run/user/5/mirage"
    monkeypatch.setenv("XDG_RUNTIME_DIR", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.runtime_dir() == tmp_path / ".cache" / "mirage" / "run"


def test_the_peer_is_known_by_the_kernel(monkeypatch):
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        assert paths.check_peer(one) == os.getpid()
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        with pytest.raises(UntrustedSocket, match="user"):
            paths.check_peer(one)


def test_the_clients_import_nothing_heavy():
    script = "import sys, mirage.link\nassert not {'torch', 'triton', 'numpy', 'mirage_daemon'} & set(sys.modules)\n"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def looped(folder):
    (folder / "a").symlink_to(folder / "b")
    (folder / "b").symlink_to(folder / "a")
    return folder / "a"


def a_file(folder):
    (folder / "file").touch()
    return folder / "file"


@pytest.fixture
def short_path():
    """A folder whose name leaves room for a socket's: pytest's own grow with its runs."""
    with tempfile.TemporaryDirectory(prefix="m") as folder:
        yield Path(folder)


IMPOSSIBLE = {
    "a file": a_file,
    "a loop": looped,
    "below a file": lambda f: a_file(f) / "x",
    "no such": lambda f: "/proc/self/x",
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
@pytest.mark.parametrize("variable", ["MIRAGE_HOME", "XDG_RUNTIME_DIR", "HOME"])
def test_where_no_folder_can_be_made_there_is_no_daemon_and_nothing_worse(monkeypatch, short_path, variable, name):
    tmp_path = short_path
    for other in ("MIRAGE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(
        "HOME", str(tmp_path / "empty")
    )  # where no daemon of whoever runs the tests says where it listens
    monkeypatch.setenv(variable, str(IMPOSSIBLE[name](tmp_path)))
    for start_daemon in (False, True):
        with pytest.raises(DaemonUnavailable):
            Client.connect(start_daemon=start_daemon)
    monkeypatch.setenv(variable, str(tmp_path / "fine"))
    assert paths.ensure_private(paths.runtime_dir()).is_dir()


def test_a_folder_that_cannot_be_looked_into_is_no_daemon_either(monkeypatch, home):
    def refused(self):
        raise PermissionError(13, "Permission denied")

    assert not paths.is_there(home / "run") and paths.is_there(home)
    monkeypatch.setattr(type(home), "lstat", refused)
    with pytest.raises(DaemonUnavailable, match="Permission denied"):
        Client.connect(start_daemon=False)


def test_a_home_that_is_no_full_path_names_no_folder_of_the_workspace(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("MIRAGE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    for wrong in (".", "here", ""):
        monkeypatch.setenv("HOME", wrong)
        assert paths.runtime_dir().is_absolute() and not paths.runtime_dir().is_relative_to(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.runtime_dir().is_relative_to(tmp_path)


def test_the_daemon_lives_where_its_client_looks_for_it(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for said in (str(tmp_path / "here"), "~/here", str(tmp_path / "there" / ".." / "here")):
        monkeypatch.setenv("MIRAGE_HOME", said)
        assert daemon_start.environment()["MIRAGE_HOME"] == str(tmp_path / "here") == str(paths.data_dir().parent)
        assert paths.kernels_dir() == tmp_path / "here" / "kernels"


@pytest.mark.parametrize("said", ["here", ".mirage", "./here", "../here", "~nobody-has-this-name/here"])
def test_a_home_that_depends_on_the_present_folder_is_refused(monkeypatch, tmp_path, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MIRAGE_HOME", said)
    for place in (paths.runtime_dir, paths.data_dir, paths.kernels_dir, daemon_start.environment):
        with pytest.raises(UntrustedFolder, match="no full path"):
            place()


@pytest.mark.parametrize("mark", [".git", "pyproject.toml", "setup.py"])
def test_a_home_inside_a_project_is_refused(monkeypatch, tmp_path, mark):
    project = tmp_path / "user" / "project"
    project.mkdir(parents=True)
    monkeypatch.setenv("MIRAGE_HOME", str(project / "deep" / ".mirage"))
    assert paths.kernels_dir() == project / "deep" / ".mirage" / "kernels"
    (project / mark).mkdir()
    with pytest.raises(UntrustedFolder, match="inside the project"):
        paths.kernels_dir()
    monkeypatch.setenv("HOME", str(project))  # a user may keep the files of the home folder in a repository
    assert paths.kernels_dir().is_relative_to(project)


def test_a_user_data_folder_that_is_no_full_path_is_refused(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MIRAGE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert paths.kernels_dir().is_relative_to(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", "here")
    assert paths.data_dir().is_absolute() and not paths.data_dir().is_relative_to(tmp_path / "here")
    monkeypatch.setattr(paths.platformdirs, "user_data_path", lambda name: Path("here") / name)
    for place in (paths.data_dir, paths.kernels_dir):
        with pytest.raises(UntrustedFolder):
            place()


def test_a_process_that_cannot_be_seen_from_here_has_no_number(monkeypatch):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert paths.peer(ours)[0] == os.getpid()
        monkeypatch.setattr(paths.struct, "unpack", lambda *_: (0, os.geteuid(), 0))
        assert paths.peer(ours) == (None, os.geteuid())  # 0 would be everybody, to a signal

"""Real daemon processes: one at a time, private, and gone when nothing needs them."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner
from waiting import wait_until

from mirage.errors import DaemonUnavailable, MirageError, UntrustedSocket
from mirage.link import Client, paths, protocol
from mirage.link.client import request
from mirage.link.daemon_start import environment
from mirage_daemon import lifecycle
from mirage_daemon.daemon_command import daemon

CONNECT = (
    "from mirage.link import Client\n"
    "with Client.connect() as c:\n    print(c.welcome.pid, c.daemon_pid, c.status()['pid'])\n"
)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def daemons_of(home):
    """The daemon processes of that home."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                marked = f"MIRAGE_HOME={home}".encode() in (entry / "environ").read_bytes().split(b"\0")
                if marked and b"mirage_daemon" in (entry / "cmdline").read_bytes() and alive(entry.name):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.fixture
def stopped(home):
    """A home whose daemons are ended at the end."""
    yield home
    for pid in daemons_of(home):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not daemons_of(home))


def invoke(*words):
    return CliRunner().invoke(daemon, words)


def test_start_status_logs_stop(stopped):
    assert invoke("status").output.strip() == "not running"
    assert json.loads(invoke("status", "--json").output) == {"running": False}
    assert invoke("start").output.startswith("running (process ")
    facts = json.loads(invoke("status", "--json").output)
    assert facts["running"] and facts["jobs"] == [] and alive(facts["pid"])
    assert f"running: process {facts['pid']}" in invoke("status").output
    assert "listens" in invoke("logs").output
    assert invoke("stop").output.strip() == "stopped"
    assert not paths.socket_path().exists()
    assert invoke("stop").output.strip() == "not running"


def test_starters_at_the_same_time_get_one_daemon(stopped):
    for _ in range(2):
        starters = [
            subprocess.Popen([sys.executable, "-c", CONNECT], stdout=subprocess.PIPE, text=True) for _ in range(4)
        ]
        pids = {word for s in starters for word in s.communicate(timeout=60)[0].split()}
        assert [s.returncode for s in starters] == [0] * 4
        assert len(pids) == 1
        wait_until(lambda: len(daemons_of(stopped)) == 1)  # the losers leave
        os.kill(int(pids.pop()), signal.SIGKILL)  # the socket stays behind and blocks nobody


def test_a_daemon_that_ends_and_one_that_starts_do_not_miss_each_other(stopped):
    for _ in range(5):
        with Client.connect() as client:
            client.shutdown()


def test_a_killed_daemon_is_replaced_at_once(stopped):
    with Client.connect() as client:
        pid = client.welcome.pid
    os.kill(pid, signal.SIGKILL)
    began = time.monotonic()
    with Client.connect() as client:
        assert client.welcome.pid != pid
    assert time.monotonic() - began < 2


def test_it_ends_when_idle(stopped, monkeypatch):
    monkeypatch.setenv("MIRAGE_IDLE_S", "0.3")
    with Client.connect() as client:
        pid = client.welcome.pid
    wait_until(lambda: not alive(pid))
    assert not paths.socket_path().exists()
    with pytest.raises(DaemonUnavailable):
        Client.connect(start_daemon=False)


def test_two_sessions_of_one_user_share_one_daemon(home, monkeypatch):
    """Each has a runtime folder of its own; the cache is one."""
    monkeypatch.delenv("MIRAGE_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "share"))
    command = [sys.executable, "-m", "mirage_daemon"]
    for name in ("one", "two"):
        (home / name).mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "one"))
    with Client.connect() as client:
        pid = client.welcome.pid
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "two"))
        with Client.connect() as other:  # none is started
            assert other.welcome.pid == pid and not paths.socket_path().exists()
        assert invoke("status").output.startswith(f"running: process {pid}")
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        assert (done.returncode, done.stderr) == (0, "")
        shutil.rmtree(home / "one")  # the first session ends, and with it its folder
        with Client.connect() as again:
            assert again.welcome.pid != pid and paths.socket_path().exists()
    assert invoke("stop").output.strip() == "stopped"


@pytest.mark.parametrize(
    "said", ["relative/daemon.sock", "/etc/passwd", "{home}/open/daemon.sock", "\0", "x" * 200, "{home}/no/daemon.sock"]
)
def test_a_place_that_is_none_leads_nowhere(home, monkeypatch, said):
    (home / "open").mkdir(mode=0o777)
    (home / "open").chmod(0o777)
    with socket.socket(socket.AF_UNIX) as planted:
        planted.bind(str(home / "open" / "daemon.sock"))
        planted.listen()
        paths.ensure_private(paths.runtime_dir())
        paths.ensure_private(paths.data_dir())
        paths.place_path().write_text(said.format(home=home))
        with pytest.raises(MirageError):
            Client.connect(start_daemon=False)
        planted.settimeout(0.1)
        with pytest.raises(TimeoutError):
            planted.accept()


IMPATIENT = """
import sys
from mirage_daemon import lifecycle
lifecycle.TAKEN_S = 0.5  # no daemon leaves the cache here, however long it is waited for
sys.exit(lifecycle.main())
"""


def test_a_daemon_whose_place_is_not_read_says_who_has_the_cache(home, monkeypatch):
    monkeypatch.delenv("MIRAGE_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "share"))
    for name in ("one", "two"):
        (home / name).mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "one"))
    with Client.connect() as client:
        paths.place_path().unlink()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "two"))
        done = subprocess.run([sys.executable, "-c", IMPATIENT], capture_output=True, text=True, timeout=60)
        assert done.returncode == lifecycle.CACHE_TAKEN and "another daemon uses the cache" in done.stderr
        client.shutdown()
        wait_until(lambda: not alive(client.welcome.pid))


END_S = 1.0
HANGS = f"""
import sys, time
from mirage_daemon import cache_store, lifecycle, question_key
from mirage_daemon.lifecycle import main
lifecycle.END_S = {END_S}
question_key.ask = lambda *_: time.sleep(1000)
cache_store.SqliteStore.stats = lambda self: time.sleep(1000)
sys.exit(main(job=lambda *_: time.sleep(1000)))
"""


@pytest.mark.parametrize("how", ["signal", "command"])
def test_a_daemon_whose_threads_all_wait_ends_in_time(stopped, monkeypatch, how):
    """Readers that never come back, a store that does not answer: it ends all the same, and the next one starts."""
    daemon_process = subprocess.Popen([sys.executable, "-c", HANGS])
    wait_until(lambda: paths.socket_path().exists())
    clients = [Client.connect(start_daemon=False) for _ in range(12)]
    for client in clients[:10]:
        client._socket.sendall(request(7, "lookup", protocol.Lookup("x = 1", f"{id(client)}.py", "f"), 60.0))
    clients[10]._socket.sendall(request(7, "status", protocol.Status(), 60.0))
    time.sleep(0.5)
    began = time.monotonic()
    if how == "signal":
        daemon_process.send_signal(signal.SIGTERM)
    else:
        clients[11].shutdown()
    assert daemon_process.wait(30) == 0
    assert (
        END_S - 0.1 < time.monotonic() - began < END_S + 2.5
    )  # on a busy machine; the threads keep it until its limit
    for client in clients:
        client.close()
    with Client.connect() as client:
        assert client.welcome.pid != daemon_process.pid


CONFINED = """
import ctypes, os, sys
from mirage.errors import MirageError
from mirage.isolate import landlock
from mirage.link import Client
if sys.argv[1] == "worker":
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
    read = ("/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", sys.prefix, sys.base_prefix, *filter(os.path.isdir, sys.path))
    if not landlock.restrict((path, landlock.READ) for path in read):
        sys.exit(77)
try:
    with Client.connect(start_daemon=False) as client:
        print("in", client.status()["pid"])
except MirageError as e:
    print("out", e.code)
"""


def test_a_worker_that_may_use_sockets_is_no_client(stopped):
    """Where there are no user namespaces a GPU's worker reaches the daemon's socket; what a client has to know lies where it
    cannot read."""
    with Client.connect() as client:
        pid = client.welcome.pid

        def speaks(who):
            command = [sys.executable, "-c", CONFINED, who]
            return subprocess.run(command, capture_output=True, text=True, timeout=60)

        assert speaks("user").stdout.split() == ["in", str(pid)]
        done = speaks("worker")
        if done.returncode == 77:
            pytest.skip("this kernel has no Landlock")
        assert done.stdout.startswith("out "), done.stderr
        token = paths.token_path(paths.socket_path())
        assert token.stat().st_mode & 0o777 == 0o600
        token.rename(token.with_name("kept"))
        with pytest.raises(UntrustedSocket):
            Client.connect(start_daemon=False)
        token.write_bytes(bytes(32))
        token.chmod(0o600)
        with pytest.raises(UntrustedSocket):
            Client.connect(start_daemon=False)
        token.unlink()
        token.with_name("kept").rename(token)
        assert speaks("user").stdout.split() == ["in", str(pid)]


def test_a_daemon_whose_socket_went_makes_room_for_one_that_can_be_reached(home, monkeypatch):
    monkeypatch.delenv("MIRAGE_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "share"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "run"))
    (home / "run").mkdir(mode=0o700)
    with Client.connect() as client:
        time.sleep(2 * lifecycle.SOCKET_EVERY_S)
        assert client.status()["pid"] == client.welcome.pid  # the twin: as long as its socket is there it stays
        shutil.rmtree(home / "run")  # logged out
        (home / "run").mkdir(mode=0o700)  # and in again
        with Client.connect() as again:
            assert again.welcome.pid != client.welcome.pid
            wait_until(lambda: not alive(client.welcome.pid))
    assert invoke("stop").output.strip() == "stopped"


def test_a_lock_has_one_owner_at_a_time(tmp_path):
    first = lifecycle.take_lock(tmp_path / "lock")
    assert first is not None and not os.get_inheritable(first.fileno())
    assert lifecycle.take_lock(tmp_path / "lock") is None
    first.close()
    second = lifecycle.take_lock(tmp_path / "lock")
    assert second is not None
    second.close()


def test_a_daemon_that_cannot_start_says_why(home):
    paths.runtime_dir().mkdir(mode=0o700, parents=True)
    paths.data_dir().mkdir(mode=0o755)
    paths.data_dir().chmod(0o755)
    with pytest.raises(DaemonUnavailable, match="MIR502"):
        Client.connect()


def test_the_daemon_listens_on_no_network(stopped):
    with Client.connect() as client:
        pid = client.welcome.pid
        inodes = {os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")}
        for table in ("tcp", "tcp6", "udp", "udp6"):
            file = Path("/proc/net", table)
            rows = file.read_text().splitlines()[1:] if file.exists() else []
            assert not {f"socket:[{row.split()[9]}]" for row in rows} & inodes


def test_the_daemons_environment_names_no_code(monkeypatch):
    for name in ("LD_PRELOAD", "PYTHONSTARTUP", "PYTHONHOME", "TRITON_CACHE_MANAGER", "PYTHONINSPECT"):
        monkeypatch.setenv(name, "planted")
    assert "planted" not in environment().values()
    assert environment()["HOME"] == os.environ["HOME"]


def test_another_user_reaches_neither_folder_nor_socket(stopped):
    if os.geteuid() != 0:
        pytest.skip("only the superuser can become another user")
    with Client.connect():
        script = (
            "import os, socket, sys\nos.setgid(65534); os.setuid(65534)\ns = socket.socket(socket.AF_UNIX)\n"
            f"try:\n    s.connect({os.fspath(paths.socket_path())!r})\n"
            "except PermissionError:\n    sys.exit(42)\n"
            "s.settimeout(5)\nsys.exit(43 if s.recv(1) == b'' else 44)\n"
        )
        assert subprocess.run([sys.executable, "-c", script], timeout=30).returncode == 42
        for folder in (stopped, paths.runtime_dir()):
            folder.chmod(0o711)  # the folder lets others through by mistake: the kernel's word on the peer is left
        paths.socket_path().chmod(0o777)
        assert subprocess.run([sys.executable, "-c", script], timeout=30).returncode == 43
        paths.runtime_dir().chmod(0o700)


def test_many_clients_are_served(stopped):
    def one(_):
        with Client.connect() as client:
            return client.status()["pid"]

    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(one, range(64)))) == 1


def test_a_leftover_socket_of_nobody_is_no_daemon(home):
    paths.ensure_private(paths.runtime_dir())
    left = socket.socket(socket.AF_UNIX)
    left.bind(os.fspath(paths.socket_path()))
    left.close()
    with pytest.raises(DaemonUnavailable):
        Client.connect(start_daemon=False)

"""The daemon's life, one for each user: the lock that decides which, the socket, the log, the signals, the end."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import logging.handlers
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from mirage.errors import ClusterFault, MirageError, RemoteCacheFault
from mirage.isolate.cores import usable_cores
from mirage.isolate.system import sweep
from mirage.link import paths, user_settings
from mirage.link.answers import NodeNumbers
from mirage.link.client import dial
from mirage.link.secret_file import load_secret
from mirage_daemon import question_key
from mirage_daemon.cache_store import SqliteStore
from mirage_daemon.jobs import RunJob
from mirage_daemon.server import BACKLOG, MAX_CONNECTIONS, OWN_DESCRIPTORS, Server
from mirage_daemon.verify_requests import Judge, Judges
from mirage_daemon.worker_pool import WorkerPool

if TYPE_CHECKING:
    from mirage_daemon.cluster import Cluster
    from mirage_daemon.remote_cache import RemoteCache

log = logging.getLogger("mirage.daemon")
IDLE_S = 1800.0
YIELD_S = 25.0  # how long a starter waits for an owner of the lock to listen, or to leave
TAKEN_S = 6.0  # how long it waits for a daemon at another socket to leave the cache: one that lost its socket does
SOCKET_EVERY_S = 1.0
END_S = 4.5  # from the word to stop to the end of the process
LOG_BYTES, LOG_FILES = 1 << 20, 3
SWITCH_S = 0.001  # after which a thread that reads or unpacks gives way to the one that answers
MOST_FIRST_BYTE_MS = 10_000
CACHE_TAKEN = 3  # exit status: the cache belongs to a daemon at another socket


def idle_seconds() -> float:
    """After how long without work the daemon ends: MIRAGE_IDLE_S, or half an hour."""
    try:
        return max(0.1, float(os.environ["MIRAGE_IDLE_S"]))
    except (KeyError, ValueError):
        return IDLE_S


def take_lock(path: Path) -> IO[bytes] | None:
    """The lock, held as long as the file is open (no child inherits it); None when another process has it."""
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def own_or_yield(path: Path, *, clock: Callable[[], float] = time.monotonic) -> IO[bytes] | None:
    """The lock; None once another daemon listens, or holds the lock without listening for YIELD_S."""
    deadline = clock() + YIELD_S
    while True:
        lock = take_lock(path)
        if lock is not None or clock() > deadline:
            return lock
        with contextlib.suppress(MirageError):  # it holds the lock and does not listen: it starts, or it ends
            dial().close()
            return None
        time.sleep(0.02)


def take_lock_within(path: Path, seconds: float) -> IO[bytes] | None:
    """As `take_lock`, once the owner left it; None when it did not, or listens where this session reaches it."""
    deadline = time.monotonic() + seconds
    while True:
        lock = take_lock(path)
        if lock is not None or time.monotonic() > deadline or _reaches_another():
            return lock
        time.sleep(0.05)


def _reaches_another() -> bool:
    """Whether a daemon listens somewhere that clients of this session find."""
    try:
        dial().close()
    except MirageError:
        return False
    return True


def _say_place(path: Path) -> None:
    """Write down where the daemon with the cache listens."""
    place = paths.place_path()
    draft = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        draft.write_bytes(os.fsencode(path))
        os.replace(draft, place)
    except OSError as e:  # other sessions do without
        log.warning("%s cannot be written: %s", place, e)


def listen(path: Path) -> socket.socket:
    """The listening socket. Only the lock's owner calls this, so what lies there is left over."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(os.fspath(path))
    os.chmod(path, 0o600)
    listener.listen(BACKLOG)
    return listener


def open_log(path: Path, *, also_terminal: bool) -> None:
    handlers: list[logging.Handler] = [
        logging.handlers.RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8")
    ]
    if also_terminal:
        handlers.append(logging.StreamHandler())
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", handlers=handlers, force=True
    )


def raise_descriptor_limit() -> None:
    """As many open files as the system lets this user have, up to what the clients may take: the soft limit is often 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + OWN_DESCRIPTORS
    most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def worker_count() -> int:
    """How many jobs run at once."""
    return max(1, usable_cores() // 2)


def remote_cache(url: str = "") -> RemoteCache | None:
    """The shared cache at a URL, or at the one of the user's own settings; None without one. No file of a project has a say.
    RemoteCacheFault where what was said is no place of one."""
    said = url or user_settings.value(user_settings.REMOTE_CACHE)
    if said is None:
        return None
    from mirage_daemon.remote_cache import RemoteCache
    from mirage_daemon.remote_place import FIRST_BYTE_S, open_store

    if not isinstance(said, str):
        raise RemoteCacheFault(f"its URL {said!r} is no text")
    first_ms = user_settings.value(user_settings.REMOTE_FIRST_BYTE_MS)
    if first_ms is None:
        first_ms = FIRST_BYTE_S * 1000
    if isinstance(first_ms, bool) or not isinstance(first_ms, int | float) or not 0 < first_ms <= MOST_FIRST_BYTE_MS:
        raise RemoteCacheFault(
            f"{user_settings.REMOTE_FIRST_BYTE_MS} is {first_ms!r}, no time up to {MOST_FIRST_BYTE_MS} ms"
        )
    store = open_store(said, user_settings.remote_cache_token(), first_byte_s=first_ms / 1000)
    return RemoteCache(store, has_gpu=bool(question_key.devices()))


def _remote_of_settings() -> RemoteCache | None:
    """A mistake in the settings costs the shared cache alone."""
    try:
        return remote_cache()
    except RemoteCacheFault as e:
        log.warning("%s", e)
        return None


def cluster_at(address: str) -> Cluster:
    """The cluster that the command line names, reached; ClusterFault where it cannot be."""
    from mirage_daemon.cluster import Cluster

    cluster = Cluster(address)
    cluster.connect()
    return cluster


def cluster_of_settings() -> Cluster | None:
    """The cluster that the user's own settings name. Clients do not wait until it is reached, and a mistake costs it alone."""
    said = user_settings.value(user_settings.CLUSTER)
    if said is None:
        return None
    from mirage_daemon.cluster import Cluster

    try:
        cluster = Cluster(said)
    except ClusterFault as e:
        log.warning("%s", e)
        return None
    cluster.connect_later()
    return cluster


@dataclass(frozen=True)
class Workforce:
    """Who does the daemon's jobs, who judges for its clients, and how many jobs run at once."""

    job: RunJob
    judge: Judge
    at_once: Callable[[], int]
    nodes: Callable[[], list[NodeNumbers]]


def nodes(cluster: Cluster | None, begun: int) -> list[NodeNumbers]:
    """This machine, whose workers took up so many calls, the cluster as a whole, and its nodes."""
    models = [x.removeprefix("Model:").strip() for x in question_key.devices() if x.startswith("Model")]
    here: NodeNumbers = {
        "name": socket.gethostname(),
        "role": "daemon",
        "processors": usable_cores(),
        "gpus": models,
        "jobs": begun,
    }
    return [here] if cluster is None else [here, *cluster.nodes]


@contextlib.contextmanager
def workforce(workers: int, job: RunJob | None, cluster: Cluster | None) -> Iterator[Workforce]:
    """The workers here, and a cluster's nodes where there is one. `job` is who does the jobs in their place."""
    try:
        with WorkerPool(most=workers, elsewhere=None if cluster is None else cluster.work) as pool:
            yield Workforce(
                job or pool.run_job,
                pool.judge,
                lambda: workers + (0 if cluster is None else cluster.processors),
                lambda: nodes(cluster, pool.begun),
            )
    finally:
        if cluster is not None:
            cluster.close()


async def _serve(listener: socket.socket, data: Path, force: Workforce, token: str, remote: RemoteCache | None) -> None:
    make_store = partial(SqliteStore, data)
    server = Server(make_store, force.job, workers=force.at_once, idle_s=idle_seconds(), token=token, remote=remote)
    server.judges, server.nodes = Judges(force.judge), force.nodes
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop)
    last = asyncio.create_task(_end_in_time(server, Path(listener.getsockname())))
    watch = asyncio.create_task(_watch_socket(Path(listener.getsockname()), server))
    try:
        await server.serve(listener)
    finally:
        watch.cancel()
        last.cancel()


async def _end_in_time(server: Server, path: Path) -> None:
    """Once the daemon was told to stop it ends within END_S, whatever its threads wait for: a file system that hangs keeps none of
    them for longer. What was not finished is in the journal, and the workers die with this process."""
    await server.stopping()

    def end() -> None:
        log.warning("process %d ends without what still waits", os.getpid())
        with contextlib.suppress(OSError):
            path.unlink()
        os._exit(0)

    timer = threading.Timer(END_S, end)
    timer.daemon = True  # an end in time needs no second one
    timer.start()


async def _watch_socket(path: Path, server: Server) -> None:
    """End the daemon that nobody can reach any more: the system removes a runtime folder at logout."""
    mine = _number(path)
    while _number(path) == mine:
        await asyncio.sleep(SOCKET_EVERY_S)
    log.warning("the socket is gone; what is under way is left to the next daemon")
    server.stop()


def _number(path: Path) -> tuple[int, int] | None:
    """Which file has this name."""
    try:
        facts = path.lstat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def main(
    *,
    foreground: bool = False,
    job: RunJob | None = None,
    workers: int | None = None,
    remote_url: str = "",
    cluster_address: str = "",
) -> int:
    """Run the daemon until its end. 0: it ran, or another one runs already; 1: refused; 3: the cache is taken. `remote_url` and
    `cluster_address`: a shared cache and a cluster other than those of the settings."""
    os.umask(0o077)
    raise_descriptor_limit()
    sys.setswitchinterval(SWITCH_S)
    try:
        remote = remote_cache(remote_url) if remote_url else None
        path = paths.socket_path()
        paths.ensure_private(path.parent)
        lock = own_or_yield(path.with_name("daemon.lock"))
        if lock is None:
            return 0
        data = paths.ensure_private(paths.data_dir())
        data_lock = take_lock_within(data / "cache.lock", TAKEN_S)
        if data_lock is None and _reaches_another():
            return 0  # that of another session of this user: clients of this one find it too
        if data_lock is None:
            print(f"another daemon uses the cache in {data}", file=sys.stderr)
            return CACHE_TAKEN
        cluster = cluster_at(cluster_address) if cluster_address else None
    except (MirageError, OSError) as e:
        print(e, file=sys.stderr)
        return 1
    with lock, data_lock:
        open_log(paths.log_path(), also_terminal=foreground)
        remote, cluster = remote or _remote_of_settings(), cluster or cluster_of_settings()
        token = load_secret(paths.token_path(path)).hex()
        listener = listen(path)
        _say_place(path)
        log.info("process %d listens; %d folders of dead workers removed", os.getpid(), sweep())
        try:
            with workforce(workers or worker_count(), job, cluster) as force:
                asyncio.run(_serve(listener, data, force, token, remote))
        finally:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()  # while the lock is held: the next owner's socket cannot be there yet
            log.info("process %d ends", os.getpid())
    return 0

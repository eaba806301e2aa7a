"""The commands `mirage daemon ...`: start, stop, status, watch, logs, run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import click

from mirage.cli.command_options import target_of
from mirage.errors import DaemonUnavailable, MirageError
from mirage.link import paths
from mirage.link.answers import DaemonStatus, RemoteCacheNumbers
from mirage.link.client import Client, dial

STOP_TIMEOUT_S = 15.0


def _fail(error: MirageError) -> None:
    click.echo(str(error), err=True)
    sys.exit(1)


def _runs(pid: int | None) -> bool:
    if pid is None:  # the kernel does not say who answered
        return paths.socket_path().exists()
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):  # it is over, and another user's process may have its number
        return False
    try:  # one that is over has a number until its parent asks for it, which in a container may be never
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return True


@click.group()
def daemon() -> None:
    """The background process that searches, and remembers what was found."""


@daemon.command()
def start() -> None:
    """Start it, if it does not run."""
    try:
        with Client.connect() as client:
            click.echo(f"running (process {client.welcome.pid})")
    except MirageError as e:
        _fail(e)


@daemon.command()
def stop() -> None:
    """Stop it; the next one goes on with what it was doing."""
    try:
        connection = dial()
    except DaemonUnavailable:
        click.echo("not running")
        return
    except MirageError as e:
        _fail(e)
    pid = paths.check_peer(connection)  # the kernel's word: never a process number from a file
    try:
        Client(connection, "cli").shutdown()
    except MirageError:
        if pid is None:
            raise
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)  # another version, or it hangs
    finally:
        connection.close()
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while time.monotonic() < deadline:
        if not _runs(pid):
            click.echo("stopped")
            return
        time.sleep(0.02)
    _fail(DaemonUnavailable("the daemon does not stop", next_step=f"end process {pid} yourself"))


@daemon.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(as_json: bool) -> None:
    """Say what it does."""
    try:
        with Client.connect(start_daemon=False) as client:
            facts = client.status()
    except DaemonUnavailable:
        click.echo(json.dumps({"running": False}) if as_json else "not running")
        return
    except MirageError as e:
        _fail(e)
    if as_json:
        click.echo(json.dumps({"running": True, **facts}, indent=2))
        return
    _print_status(facts)


def _print_status(facts: DaemonStatus) -> None:
    click.echo(f"running: process {facts['pid']}, version {facts['package']}, {facts['uptime_s']:.0f} s")
    click.echo(f"clients: {facts['clients']}")
    for job in facts["jobs"]:
        counts = ", ".join(f"{n} {name}" for name, n in job["counts"].items())
        click.echo(f"job {job['job']}: {job['state']}{' (' + counts + ')' if counts else ''} {job['best']}".rstrip())
    for project in facts["projects"]:
        counted = ", ".join(f"{project[name]} {name}" for name in ("folders", "files", "functions", "submitted"))
        problem = f"; {project['problem']}" if project["problem"] else ""
        click.echo(f"watching {project['root']}: {counted}{problem}")
    click.echo("cache: " + ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in facts["cache"].items()))
    if facts["remote"] is not None:
        _print_remote(facts["remote"])
    missing = [name.replace("_", " ") for name, held in facts["sandbox"].items() if not held]
    if missing:
        click.echo("workers are not limited in: " + ", ".join(missing))


def _print_remote(remote: RemoteCacheNumbers) -> None:
    counted = {name: n for name, n in remote.items() if name not in ("url", "pause_s", "problem")}
    alone = f", left alone for {remote['pause_s']:.0f} s" if remote["pause_s"] else ""
    click.echo(f"shared cache {remote['url']}: " + ", ".join(f"{n} {name}" for name, n in counted.items()) + alone)
    if remote["problem"]:
        click.echo(f"  last problem: {remote['problem']}")


@daemon.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, resolve_path=True))
@click.option("--off", is_flag=True, help="Watch it no longer.")
@click.option("--target", callback=target_of, default="sm_90", show_default=True, help="The GPU architecture.")
def watch(folder: str, off: bool, target: str) -> None:
    """Submit what a save changes below FOLDER, until the daemon ends.

    You say with it that its functions may run, in workers.
    """
    try:
        with Client.connect() as client:
            if off:
                click.echo("no longer watched" if client.unwatch(folder) else "was not watched")
                return
            row = client.watch(folder, trusted=True, interpreter=sys.executable, target=target)
    except MirageError as e:
        _fail(e)
    click.echo(f"watching {row['root']}: {row['files']} files, {row['functions']} functions")
    if row["problem"]:
        click.echo(row["problem"], err=True)


@daemon.command()
@click.option("-n", "lines", default=40, show_default=True, help="How many lines.")
def logs(lines: int) -> None:
    """Print the end of the log."""
    path = paths.log_path()
    try:
        text = path.read_text("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        click.echo(f"no log yet ({path})")
    except OSError as e:
        _fail(DaemonUnavailable(f"the log {path} cannot be read: {e.strerror}", next_step=paths.ELSEWHERE))
    else:
        click.echo("\n".join(text.splitlines()[-lines:]))


@daemon.command()
@click.option("--remote-cache", "remote_url", metavar="URL", default="", help="A cache that several machines share.")
@click.option("--cluster", metavar="ADDRESS", default="", help="A Ray cluster that searches: HOST:PORT, or auto.")
def run(remote_url: str, cluster: str) -> None:
    """Run it here, in the foreground, its log on the terminal too."""
    from mirage_daemon.lifecycle import main

    sys.exit(main(foreground=True, remote_url=remote_url, cluster_address=cluster))

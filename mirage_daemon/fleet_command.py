"""`mirage fleet`: who works for this user's daemon, what waits, and what came of it."""

from __future__ import annotations

import json

import click

from mirage.errors import DaemonUnavailable
from mirage.link.answers import DaemonStatus
from mirage.link.client import Client


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--metrics", is_flag=True, help="Print what is counted, in the text form of OpenMetrics.")
def fleet(as_json: bool, metrics: bool) -> None:
    """Show the machines that work for the daemon, the queue, the cache and what was done."""
    if as_json and metrics:
        raise click.UsageError("give --json or --metrics")
    try:
        with Client.connect(start_daemon=False) as client:
            if metrics:
                click.echo(client.metrics(), nl=False)
                return
            facts = client.status()
    except DaemonUnavailable:
        if metrics:
            raise
        click.echo(json.dumps({"running": False}) if as_json else "no daemon runs: `mirage daemon start` starts one")
        return
    if as_json:
        wanted = ("pid", "package", "uptime_s", "clients", "counts", "nodes", "cache", "remote")
        click.echo(json.dumps({"running": True, **{k: v for k, v in facts.items() if k in wanted}}, indent=2))
        return
    click.echo("\n".join(lines(facts)))


def lines(facts: DaemonStatus) -> list[str]:
    """For a terminal: a table of the machines, then the jobs and the caches."""
    rows = [("node", "role", "processors", "worked at", "GPUs")]
    rows += [
        (n["name"], n["role"], str(n["processors"]), str(n["jobs"]), ", ".join(n["gpus"]) or "-")
        for n in facts["nodes"]
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    table = [
        "  ".join((f"{r[0]:{widths[0]}}", f"{r[1]:{widths[1]}}", f"{r[2]:>{widths[2]}}", f"{r[3]:>{widths[3]}}", r[4]))
        for r in rows
    ]
    counts, cache, remote = facts["counts"], facts["cache"], facts["remote"]
    asked = cache["hits"] + cache["misses"]
    share = f" ({cache['hits'] / asked:.0%})" if asked else ""
    table += [
        "",
        f"jobs    {counts['queued']} wait, {counts['running']} run; since the start {counts['done']} done, "
        f"{counts['kept']} kept as they are, {counts['failed']} failed, {counts['cancelled']} cancelled",
        f"cache   {cache['entries']} entries, {cache['bytes'] / 2**20:.1f} MiB; {cache['hits']} of {asked} reads found{share}",
    ]
    if remote is not None:
        table.append(
            f"shared  {remote['url']}: {remote['proposed']} proposed, {remote['verified']} verified here, {remote['refused']} refused, "
            f"{remote['misses']} misses, {remote['faults']} faults, {remote['uploaded']} uploaded"
        )
    return table

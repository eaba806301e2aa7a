"""The requests about the daemon itself: what it does, for people and programs, and what it counts, for whoever watches many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mirage.link import answers, protocol
from mirage.link.request_parameters import Metrics
from mirage.link.requests import Requests
from mirage_daemon.handler import answering

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from mirage_daemon.connection import Connection
    from mirage_daemon.server import Server

ENDS = ("done", "kept", "failed", "cancelled")
CACHE_EVENTS = ("hits", "misses", "refused", "write_errors")
REMOTE_EVENTS = ("proposed", "misses", "verified", "refused", "faults", "uploaded")


async def status(server: Server, connection: Connection, ident: int, body: protocol.Status) -> answers.DaemonStatus:
    return await server.facts()


async def metrics(server: Server, connection: Connection, ident: int, body: Metrics) -> answers.MetricsText:
    return {"text": text_of(await server.facts())}


class _Facts:
    """A collector of what is known already."""

    def __init__(self, facts: answers.DaemonStatus) -> None:
        self._facts = facts

    def collect(self) -> Iterator[Metric]:
        return families(self._facts)


def text_of(facts: answers.DaemonStatus) -> str:
    """In the text form of OpenMetrics."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.openmetrics.exposition import generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Facts(facts))
    data: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return data.decode()


def families(facts: answers.DaemonStatus) -> Iterator[Metric]:
    """Every metric, by its name without the suffix of its kind."""
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

    gauges = {
        "uptime_seconds": ("Seconds since the daemon began.", facts["uptime_s"]),
        "clients": ("Clients that are connected.", facts["clients"]),
        "jobs_queued": ("Jobs that wait.", facts["counts"]["queued"]),
        "jobs_running": ("Jobs that are worked on.", facts["counts"]["running"]),
        "cache_entries": ("Entries of the cache.", facts["cache"]["entries"]),
        "cache_bytes": ("Bytes of the cache's values.", facts["cache"]["bytes"]),
    }
    for name, (says, value) in gauges.items():
        yield GaugeMetricFamily(f"mirage_{name}", says, value=value)
    ended = CounterMetricFamily("mirage_jobs_ended", "Jobs that ended, by how they did.", labels=["state"])
    for state in ENDS:
        ended.add_metric([state], facts["counts"][state])  # type: ignore[literal-required]
    yield ended
    cache = CounterMetricFamily(
        "mirage_cache_events", "What became of reads and writes of the cache.", labels=["event"]
    )
    for event in CACHE_EVENTS:
        cache.add_metric([event], facts["cache"][event])  # type: ignore[literal-required]
    yield cache
    if facts["remote"] is not None:
        remote = CounterMetricFamily(
            "mirage_remote_events", "What became of questions to the shared cache.", labels=["event"]
        )
        for event in REMOTE_EVENTS:
            remote.add_metric([event], facts["remote"][event])  # type: ignore[literal-required]
        yield remote
    nodes = GaugeMetricFamily("mirage_processors", "Processors that work for the daemon.", labels=["node", "role"])
    gpus = GaugeMetricFamily("mirage_gpus", "GPUs that work for the daemon.", labels=["node", "role"])
    work = CounterMetricFamily("mirage_node_jobs", "Pieces of work that a machine took up.", labels=["node", "role"])
    for node in facts["nodes"]:
        nodes.add_metric([node["name"], node["role"]], node["processors"])
        gpus.add_metric([node["name"], node["role"]], len(node["gpus"]))
        work.add_metric([node["name"], node["role"]], node["jobs"])
    yield from (nodes, gpus, work)


HANDLERS = dict((answering(Requests.status, status), answering(Requests.metrics, metrics)))

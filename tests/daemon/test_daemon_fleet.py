"""What the daemon counts of its jobs and caches, as `mirage fleet` and OpenMetrics tell of it."""

from __future__ import annotations

import json

from click.testing import CliRunner
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from mirage.cli import main
from mirage.errors import UnknownOperator

NODES = [
    {"name": "desk", "role": "daemon", "processors": 8, "gpus": ["NVIDIA A", "NVIDIA A"], "jobs": 5},
    {"name": "head:6379", "role": "cluster", "processors": 128, "gpus": ["H200"], "jobs": 7},
    {"name": "n1", "role": "node", "processors": 128, "gpus": ["H200"], "jobs": 7},
]


def read(text):
    """{(sample, labels' values): value}"""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def work(answer):
    def run(payload, progress, cancel):
        if payload["function"] == "g":
            raise UnknownOperator("no such operator")
        return answer(payload)

    return run


def test_jobs_are_counted_by_their_end_and_known_answers_are_none(house, text, answer):
    with house(work(answer)) as h:
        client = h.client()
        before = client.status()["counts"]
        for name in ("f", "g", "f"):  # the second time the answer is known
            client.subscribe(client.submit(text, "a.py", name)["job"])
        counts = client.status()["counts"]
        assert set(before.values()) == {0}
        assert counts == {"queued": 0, "running": 0, "done": 1, "kept": 0, "failed": 1, "cancelled": 0}


def test_the_metrics_say_what_the_status_says(house, text, answer):
    with house(work(answer)) as h:
        h.server.nodes = lambda: NODES
        client = h.client()
        for name in ("f", "g"):
            client.subscribe(client.submit(text, "a.py", name)["job"])
        facts, said = client.status(), read(client.metrics())
    for state in ("done", "kept", "failed", "cancelled"):
        assert said["mirage_jobs_ended_total", state] == facts["counts"][state]
    assert said["mirage_cache_events_total", "misses"] == facts["cache"]["misses"] > 0
    assert said["mirage_cache_entries",] == facts["cache"]["entries"] > 0
    assert said["mirage_processors", "head:6379", "cluster"] == 128 and said["mirage_gpus", "desk", "daemon"] == 2
    assert said["mirage_node_jobs_total", "n1", "node"] == 7 and said["mirage_gpus", "n1", "node"] == 1
    assert not any(name[0].startswith("mirage_remote") for name in said)  # it has no shared cache


def test_a_name_cannot_write_metrics_of_its_own(house, answer):
    """A label is data: what would end the line is escaped."""
    hostile = 'x"} 1\nmirage_clients 99\n# EOF\n'
    with house(work(answer)) as h:
        h.server.nodes = lambda: [NODES[0] | {"name": hostile}]
        said = read(h.client().metrics())
    assert said["mirage_clients",] == 1 and said["mirage_processors", hostile, "daemon"] == 8


def test_the_command_shows_the_table_the_data_and_the_metrics(house, text, answer):
    with house(work(answer)) as h:
        h.server.nodes = lambda: NODES
        client = h.client()
        client.subscribe(client.submit(text, "a.py", "f")["job"])
        shown, data, metrics, both = (
            CliRunner().invoke(main, ["fleet", *more])
            for more in ([], ["--json"], ["--metrics"], ["--json", "--metrics"])
        )
    lines = shown.output.splitlines()
    assert lines[0].split() == ["node", "role", "processors", "worked", "at", "GPUs"]
    assert [x.split()[:4] for x in lines[1:3]] == [["desk", "daemon", "8", "5"], ["head:6379", "cluster", "128", "7"]]
    assert lines[3].split() == ["n1", "node", "128", "7", "H200"]
    assert "NVIDIA A, NVIDIA A" in lines[1] and "1 done, 0 kept as they are" in shown.output
    found = json.loads(data.output)
    assert found["counts"]["done"] == 1 and found["nodes"] == NODES
    assert read(metrics.output)["mirage_jobs_ended_total", "done"] == 1
    assert both.exit_code == 2


def test_without_a_daemon_it_says_so(home):
    shown, data, metrics = (CliRunner().invoke(main, ["fleet", *more]) for more in ([], ["--json"], ["--metrics"]))
    assert "no daemon runs" in shown.output and json.loads(data.output) == {"running": False}
    assert metrics.exit_code == 1 and "MIR500" in metrics.output  # an empty answer would be read as zero

"""A short run of `./dev bench fuzz`, and a faulty daemon that it has to notice."""

import pytest
from daemonbench import fuzz

from mirage_daemon import cache_requests, server


def by_name(rows):
    return {r["name"]: r for r in rows}


def test_frames_crash_nothing_and_leave_nothing():
    rows = by_name(fuzz.memory_rows(1000, seed=7))
    assert all(r["ok"] for r in rows.values()), rows


@pytest.mark.parametrize("error", [ValueError, RecursionError, KeyError])
def test_a_handler_that_crashes_is_noticed(monkeypatch, capsys, error):
    async def faulty(*_):
        raise error("planted")

    assert server.HANDLERS["explain"] is cache_requests.explain
    monkeypatch.setitem(server.HANDLERS, "explain", faulty)
    rows = by_name(fuzz.memory_rows(300, seed=7))
    assert rows["fuzz: crashes"]["value"] > 0 and not rows["fuzz: crashes"]["ok"]
    assert "planted" in capsys.readouterr().out


def test_a_handler_that_blocks_is_noticed(monkeypatch):
    import time

    async def slow(*_):
        time.sleep(1.1)

    monkeypatch.setitem(server.HANDLERS, "log", slow)
    rows = by_name(fuzz.memory_rows(40, seed=9))
    assert not rows["fuzz: the longest conversation"]["ok"]

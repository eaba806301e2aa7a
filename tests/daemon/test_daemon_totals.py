"""The numbers of the cache, counted along with its writes, are those of a walk over the file; parts of a gc stay small."""

from __future__ import annotations

import os
import random
import sqlite3

import pytest

from mirage_daemon.cache_store import PART_BYTES, SqliteStore
from mirage_daemon.cache_totals import CacheTotals


def walked(store: SqliteStore) -> tuple[int, int]:
    entries = list(store.entries())
    return len(entries), sum(entry.size for entry in entries)


def told(store: SqliteStore) -> tuple[int, int]:
    return store.stats()["entries"], store.stats()["bytes"]


@pytest.mark.parametrize("seed", range(4))
def test_the_numbers_are_those_of_a_walk_over_the_file(tmp_path, seed):
    chance, store = random.Random(seed), SqliteStore(tmp_path)
    assert told(store) == (0, 0)
    for step in range(300):
        kind, key = chance.choice(("result", "alias", "job", "part")), bytes([chance.randrange(20)]) * 32
        what = chance.random()
        if what < 0.6:
            store.put(kind, key, bytes(chance.randrange(3000)))
        elif what < 0.9:
            store.delete(kind, key)
        elif what < 0.95:
            store.gc(chance.randrange(20_000), None, chance.choice((-1, 3)))
        else:
            store.close()
            store = SqliteStore(tmp_path)
        assert told(store) == walked(store), step
    store.close()


def test_a_write_that_failed_is_not_counted(tmp_path, monkeypatch):
    store = SqliteStore(tmp_path)
    store.put("result", b"k" * 32, b"value")
    before = told(store)
    monkeypatch.setattr(store, "_transact", lambda work: sqlite3.OperationalError("disk full"))
    assert not store.delete("result", b"k" * 32) and told(store) == before == (1, 5)
    monkeypatch.undo()
    assert store.delete("result", b"k" * 32) and told(store) == (0, 0)
    store.close()


def test_damage_is_counted_anew(tmp_path):
    """A row whose size is no number: what was counted before is not believed."""
    store = SqliteStore(tmp_path)
    for i in range(3):
        store.put("result", bytes([i]) * 32, b"value")
    store._db.execute("UPDATE entry SET size = 'much' WHERE key = ?", (bytes([1]) * 32,))
    store.put("result", bytes([1]) * 32, b"longer value")
    assert told(store) == walked(store) == (3, 22)
    store.close()


def test_promised_bytes_are_none_of_what_may_go():
    totals = CacheTotals()
    totals.add(2, 300, kept=False)
    totals.add(1, 50, kept=True)
    assert (totals.entries, totals.size, totals.forgettable) == (3, 350, 300)
    totals.add(-1, -100, kept=False)
    assert (totals.entries, totals.size, totals.forgettable) == (2, 250, 200)


def test_a_part_of_gc_is_small_and_all_at_once_is_not(tmp_path):
    """Long values: so many that lookups wait no longer for them than for many short ones."""
    store = SqliteStore(tmp_path)
    for i in range(8):
        store.put("result", bytes([i]) * 32, os.urandom(PART_BYTES * 2 // 3))
    assert [store.gc(0, None, 32) for _ in range(2)] == [2, 2]
    assert store.gc(0) == 4
    store.close()


def test_what_has_no_form_goes_with_the_first_call_in_parts(tmp_path):
    store = SqliteStore(tmp_path)
    store.put("result", b"k" * 32, b"value")
    store.close()
    db = sqlite3.connect(tmp_path / "cache-v1.sqlite", isolation_level=None)
    db.execute("INSERT INTO entry SELECT kind, x'00', sha256, mac, created, 'never', size, value FROM entry")
    db.close()
    store = SqliteStore(tmp_path)
    assert store.stats()["entries"] == 2
    assert store.gc(1 << 20, None, 32) == 1 and store.gc(1 << 20, None, 32) == 0
    assert told(store) == walked(store) == (1, 5)
    store.close()


def test_free_pages_stay_where_they_are_to_stay(tmp_path):
    store, path = SqliteStore(tmp_path), tmp_path / "cache-v1.sqlite"
    for i in range(20):
        store.put("result", bytes([i]) * 32, os.urandom(50_000))
    store._db.execute("PRAGMA wal_checkpoint").fetchall()
    store.gc(0)
    full = path.stat().st_size
    while store.give_back(50, 40):
        continue
    assert store._one("PRAGMA freelist_count") == 40
    while store.give_back(50):
        continue
    assert store._one("PRAGMA freelist_count") == 0 and path.stat().st_size < full
    store.close()

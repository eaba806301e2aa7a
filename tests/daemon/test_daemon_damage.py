"""Short runs of what `./dev bench daemon` does to the cache, and a careless store that they have to notice."""

import pytest
from daemonbench import damage, planted

from mirage_daemon import cache_store
from mirage_daemon.cache_store import SqliteStore


def by_name(rows):
    return {r["name"]: r for r in rows}


def careless(self, kind, key, *, touch=True):
    """A cache that believes its file."""
    row = self._db.execute("SELECT value FROM entry WHERE kind = ? AND key = ?", (kind, key)).fetchone()
    return None if row is None else bytes(row[0])


@pytest.mark.parametrize("checked", [1 << 40, -1], ids=["checked at the start", "too large to be checked"])
def test_damage_is_never_a_wrong_answer_and_always_a_start(monkeypatch, checked):
    monkeypatch.setattr(cache_store, "CHECKED_AT_START", checked)
    for rows in (damage.trials("bits", damage.flip, 8, 5), damage.trials("torn", damage.tear, 8, 6)):
        found = by_name(rows)
        assert all(r["ok"] for r in found.values()), found
    assert found["torn: values lost"]["value"] > 0


def test_a_careless_cache_is_noticed(monkeypatch):
    monkeypatch.setattr(SqliteStore, "get", careless)
    assert by_name(damage.trials("bits", damage.flip, 12, 5))["bits: wrong answers"]["value"] > 0


def test_a_full_disk_is_survived_wherever_it_comes():
    found = by_name(damage.disk(9, 90_000))
    assert all(r["ok"] for r in found.values()), found


def test_what_was_planted_with_a_right_digest_is_not_served(monkeypatch):
    assert all(r["ok"] for r in planted.in_the_cache(12))
    monkeypatch.setattr(SqliteStore, "get", careless)
    assert by_name(planted.in_the_cache(6))["planted in the cache: served"]["value"] == 6

"""The cache answers with exactly what was put, or with nothing."""

import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mirage.errors import CannotWrite
from mirage_daemon.cache_store import SqliteStore, load_secret

KEY = b"k" * 32


@pytest.fixture
def store(tmp_path):
    store = SqliteStore(tmp_path)
    yield store
    store.close()


def edit(folder, statement, *values):
    """Change the file behind the store's back (the store has to be closed)."""
    db = sqlite3.connect(folder / "cache-v1.sqlite", isolation_level=None)
    db.execute(statement, values)
    db.close()


@pytest.mark.parametrize("value", [b"", b"\x00\xff", b"x" * 1_000_000])
def test_a_value_comes_back_exactly_also_after_reopening(tmp_path, value):
    store = SqliteStore(tmp_path)
    assert store.get("result", KEY) is None
    store.put("result", KEY, b"older")
    store.put("result", KEY, value)
    assert store.get("result", KEY) == value
    assert store.get("alias", KEY) is None and store.get("result", b"j" * 32) is None
    store.close()
    store = SqliteStore(tmp_path)
    assert store.get("result", KEY) == value
    assert store.delete("result", KEY) and not store.delete("result", KEY)
    assert store.get("result", KEY) is None
    store.close()


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ("UPDATE entry SET value = ?", (b"another value",)),
        ("UPDATE entry SET value = substr(value, 1, 5)", ()),
        ("UPDATE entry SET value = 'text'", ()),
        ("UPDATE entry SET mac = ?", (b"m" * 32,)),
        ("UPDATE entry SET mac = 'x'", ()),
        ("UPDATE entry SET sha256 = ?", (b"s" * 32,)),
        ("UPDATE entry SET size = size + 1", ()),
        ("UPDATE entry SET kind = 'alias'", ()),
        ("UPDATE entry SET key = ?", (b"j" * 32,)),
    ],
)
def test_a_row_that_was_changed_or_moved_is_not_found_and_dropped(tmp_path, statement, values):
    store = SqliteStore(tmp_path)
    store.put("result", KEY, b"the value")
    store.close()
    edit(tmp_path, statement, *values)
    store = SqliteStore(tmp_path)
    for kind in ("result", "alias"):
        for key in (KEY, b"j" * 32):
            assert store.get(kind, key) is None
    assert store.stats()["refused"] == 1 and store.stats()["entries"] == 0
    store.put("result", KEY, b"again")
    assert store.get("result", KEY) == b"again"
    store.close()


def test_a_digest_that_fits_is_not_enough_without_the_mac(tmp_path):
    """A foreign store's entry: whole, and with its right SHA-256, but by another key."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    theirs = SqliteStore(tmp_path / "theirs")
    theirs.put("result", KEY, b"wrong program")
    theirs.close()
    shutil.copy(tmp_path / "theirs" / "cache-v1.sqlite", tmp_path / "ours" / "cache-v1.sqlite")
    ours = SqliteStore(tmp_path / "ours")
    assert ours.get("result", KEY) is None and ours.stats()["refused"] == 1
    ours.close()
    shutil.copy(tmp_path / "theirs" / "cache-v1.sqlite", tmp_path / "ours" / "cache-v1.sqlite")
    shutil.copy(tmp_path / "theirs" / "cache.key", tmp_path / "ours" / "cache.key")
    ours = SqliteStore(tmp_path / "ours")
    assert ours.get("result", KEY) == b"wrong program"  # the twin: with their key it is theirs to vouch for
    ours.close()


def test_flipped_bits_and_cut_files_are_never_a_wrong_value(tmp_path):
    """Whatever a byte of the file becomes, the store opens, and every answer is right or None."""
    origin = tmp_path / "origin"
    origin.mkdir()
    store = SqliteStore(origin)
    values = {bytes([i]) * 32: os.urandom(600) for i in range(20)}
    for key, value in values.items():
        store.put("result", key, value)
    store.close()
    chance, lost = random.Random(7), 0
    for trial in range(60):
        folder = tmp_path / f"t{trial}"
        shutil.copytree(origin, folder)
        file = folder / "cache-v1.sqlite"
        data = bytearray(file.read_bytes())
        at = chance.randrange(len(data))
        if trial % 3 == 0:
            data[at] ^= 1 << chance.randrange(8)
        elif trial % 3 == 1:
            del data[at:]
        else:
            data[at : at + 4096] = bytes(len(data[at : at + 4096]))
        file.write_bytes(data)
        store = SqliteStore(folder)
        for key, value in values.items():
            got = store.get("result", key)
            assert got in (value, None)
            lost += got is None
        store.put("result", KEY, b"new")
        assert store.get("result", KEY) == b"new"
        store.close()
        shutil.rmtree(folder)
    assert lost > 0  # the damage was real


def test_a_file_that_is_no_database_is_set_aside(tmp_path):
    (tmp_path / "cache-v1.sqlite").write_bytes(b"not a database, but long enough to be looked at" * 100)
    store = SqliteStore(tmp_path, clock=lambda: 12.0)
    store.put("result", KEY, b"v")
    store.close()
    assert (tmp_path / "cache-v1.sqlite.corrupt-12000").read_bytes().startswith(b"not a database")


def test_a_second_owner_is_refused(store, tmp_path):
    store.put("result", KEY, b"v")
    other = sqlite3.connect(tmp_path / "cache-v1.sqlite", timeout=0)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("SELECT * FROM entry").fetchall()
    other.close()


def test_another_thread_is_refused(store):
    store.put("result", KEY, b"v")
    with ThreadPoolExecutor(1) as pool, pytest.raises(sqlite3.ProgrammingError, match="thread"):
        pool.submit(store.get, "result", KEY).result()
    assert store.get("result", KEY) == b"v"


def test_what_was_acknowledged_survives_a_kill(tmp_path):
    """A process that says each key once its value is put, killed at a random moment: all that it said is there."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom mirage_daemon.cache_store import SqliteStore\n"
        "store, i = SqliteStore(Path(sys.argv[1])), int(sys.argv[2])\n"
        "while True:\n    key = i.to_bytes(32, 'big')\n    store.put('result', key, key * 50)\n"
        "    print(i, flush=True)\n    i += 1\n"
    )
    chance, first = random.Random(3), 0
    for _ in range(6):
        command = [sys.executable, "-c", script, str(tmp_path), str(first)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            said = [int(writer.stdout.readline())]
            time.sleep(chance.random() * 0.1)
            writer.kill()
            said += [int(line) for line in writer.stdout if line.endswith("\n")]
        store = SqliteStore(tmp_path)
        for i in range(said[-1] + 1):
            assert store.get("result", i.to_bytes(32, "big")) == i.to_bytes(32, "big") * 50
        assert store.stats()["refused"] == 0
        store.close()
        first = said[-1] + 1


def test_a_full_disk_is_an_error_that_passes(tmp_path):
    """The limit on a file's size stands for the full disk: the write fails in the same place."""
    import signal

    store = SqliteStore(tmp_path)
    store.put("result", KEY, b"kept")
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, before[1]))
    try:
        with pytest.raises(CannotWrite):
            store.put("result", b"j" * 32, os.urandom(1 << 20))
        assert store.get("result", KEY) == b"kept"
        assert store.stats()["write_errors"] == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    store.put("result", b"j" * 32, b"later")
    assert store.get("result", b"j" * 32) == b"later"
    store.close()


def test_gc_removes_the_least_recently_used_first(tmp_path):
    now = [0.0]
    store = SqliteStore(tmp_path, clock=lambda: now[0])
    for i in range(5):
        now[0] += 1.0
        store.put("result", bytes([i]) * 32, bytes(1000))
    now[0] += 10_000.0
    assert store.get("result", bytes([0]) * 32) is not None
    assert store.gc(5000) == 0
    assert store.gc(2500) == 3
    assert [e.key[0] for e in store.entries("result")] == [0, 4]
    assert store.stats()["bytes"] == 2000
    store.close()


def test_gc_in_parts_deletes_what_gc_at_once_deletes(tmp_path):
    """In the same order, and no more."""
    left = []
    for most in (-1, 3):
        folder = tmp_path / str(most)
        folder.mkdir()
        now = [0.0]
        store = SqliteStore(folder, clock=lambda now=now: now[0])
        for i in range(20):
            now[0] += 1.0
            store.put("result" if i % 3 else "job", bytes([i]) * 32, bytes(1000))
        deleted = [store.gc(5000, None, most)]
        while most > 0 and deleted[-1]:
            assert deleted[-1] <= most
            deleted.append(store.gc(5000, None, most))
        left.append((sum(deleted), [(e.kind, e.key) for e in store.entries()]))
        store.close()
    assert left[0] == left[1]
    assert left[0][0] == 8 and [kind for kind, _ in left[0][1]].count("job") == 7  # 13 results, of which 5 stay


def test_the_disk_gets_back_what_was_deleted(tmp_path):
    store, path = SqliteStore(tmp_path), tmp_path / "cache-v1.sqlite"
    for i in range(60):
        store.put("result", bytes([i]) * 32, os.urandom(50_000))
    assert store.give_back(10_000) == 0
    full = path.stat().st_size
    assert store.gc(100_000) == 58
    left = [store.give_back(100)]
    assert left[0] > 100  # a part at a time
    while left[-1]:
        left.append(store.give_back(100))
        assert left[-1] <= max(0, left[-2] - 90)
    assert full > 3_000_000 and path.stat().st_size < full / 8
    assert len(list(store.entries("result"))) == 2
    store.close()


def test_a_file_of_an_older_version_goes_on(tmp_path):
    """It has no index; nothing in it is lost."""
    store = SqliteStore(tmp_path)
    store.put("result", KEY, b"value")
    store.close()
    edit(tmp_path, "DROP INDEX by_use")
    store = SqliteStore(tmp_path)
    assert store.get("result", KEY) == b"value" and store.gc(0) == 1
    store.close()
    edit(tmp_path, "CREATE INDEX other ON entry (size)")
    store = SqliteStore(tmp_path)  # a form that is not ours is set aside
    assert list(tmp_path.glob("*.corrupt-*"))
    store.close()


@pytest.mark.parametrize("prefix", ["", "a", "ab", "abc", "f", "ff", "fff", "0", "AB", "zz", "a b", "ab" * 40])
@pytest.mark.parametrize("most", [1, 7, -1])
def test_pages_hold_every_key_with_the_prefix_once(tmp_path, prefix, most):
    store, rng = SqliteStore(tmp_path), random.Random(5)
    firsts = [b"\xab\xc0", b"\xab\xcf", b"\xab\xd0", b"\xa0", b"\xaf", b"\xff", b"\xff\xff", b"\x00", b"\x10"]
    keys = [first + rng.randbytes(6) for first in firsts for _ in range(4)]
    for key in keys:
        store.put("result", key, b"v")
        store.put("alias", key, b"v")
    found, after = [], b""
    while part := store.page("result", after, most, prefix):
        assert most < 0 or len(part) <= most
        found += [e.key for e in part]
        after = part[-1].key
    assert found == sorted(k for k in keys if k.hex().startswith(prefix))
    store.close()


def test_the_key_is_private_and_stays(tmp_path):
    path = tmp_path / "cache.key"
    first = load_secret(path)
    assert path.stat().st_mode & 0o777 == 0o600 and len(first) == 32
    assert load_secret(path) == first


@pytest.mark.parametrize("harm", ["readable", "short", "link"])
def test_a_key_that_others_may_know_is_replaced(tmp_path, harm):
    path = tmp_path / "cache.key"
    first = load_secret(path)
    if harm == "readable":
        path.chmod(0o644)
    elif harm == "short":
        path.write_bytes(first[:31])
    else:
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    assert load_secret(path) != first
    assert path.stat().st_mode & 0o777 == 0o600 and not path.is_symlink()


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE entry ADD COLUMN more",
        "ALTER TABLE entry RENAME COLUMN mac TO cam",
        "ALTER TABLE entry RENAME TO another",
        "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END",
        "CREATE VIEW v AS SELECT * FROM entry",
        "CREATE TABLE more (a)",
    ],
)
def test_a_database_of_another_form_is_set_aside_and_nothing_more_is_lost(tmp_path, statement):
    for changed in (None, statement):  # the twin: one of our form is gone on with
        store = SqliteStore(tmp_path)
        store.put("result", KEY, b"value")
        store.close()
        if changed:
            edit(tmp_path, changed)
        store = SqliteStore(tmp_path)
        assert (store.get("result", KEY) is None) is bool(changed)
        store.put("result", KEY, b"new")
        store.close()
        store = SqliteStore(tmp_path)
        assert store.get("result", KEY) == b"new"
        store.close()
        assert bool(list(tmp_path.glob("*.corrupt-*"))) is bool(changed)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_in_the_keys_place_neither_stops_nor_holds_the_start(tmp_path, make):
    make(tmp_path / "cache.key", 0o600)
    store = SqliteStore(tmp_path)
    store.put("result", KEY, b"value")
    assert store.get("result", KEY) == b"value"
    store.close()

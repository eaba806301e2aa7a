"""The key-value store of the cache, one SQLite file. A wrong answer is worse than none, so every doubt means "not found".

One thread of one process owns the store. Each entry carries the SHA-256 of its value and a MAC over kind, key and that
digest, by a key that only this user can read: an entry that is missing, torn, changed, moved to another key, or written
by somebody else is `None`.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import sqlite3
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mirage.errors import CannotWrite
from mirage.link.answers import CacheNumbers
from mirage.link.secret_file import load_secret
from mirage_daemon.cache_totals import CacheTotals

log = logging.getLogger("mirage.daemon.store")
SCHEMA = 1
Values = tuple[str | bytes | int | float, ...]  # of one statement
EVERY = -1  # rows of a query
PROMISES = ("job", "part")  # kinds that are not gc's to forget: they end with their job
# what a row of ours looks like; damage may leave others, which have no place in an order
_WELL_FORMED = (
    "typeof(kind) = 'text' AND typeof(key) = 'blob' AND typeof(created) = 'real' AND typeof(used) = 'real' "
    "AND typeof(size) = 'integer' AND length(kind) < 100 AND length(key) < 1000"
)
_HEX, _BEHIND_ALL = re.compile("[0-9a-f]*"), b"\xff" * 1000  # no key is as long
CHECKED_AT_START = (
    256 << 20
)  # bytes of a file whose structure is checked when it is opened; a larger one would be read for seconds
PART_BYTES = 1 << 20  # of values that one part of a gc deletes
USED_EVERY_S = 3600.0  # an entry's last use is noted at most so often: a note is a write
_MAKE = """CREATE TABLE IF NOT EXISTS entry (
    kind TEXT NOT NULL, key BLOB NOT NULL, sha256 BLOB NOT NULL, mac BLOB NOT NULL,
    created REAL NOT NULL, used REAL NOT NULL, size INTEGER NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (kind, key)) WITHOUT ROWID"""
# Without it every look at times and sizes walks over the values: a gigabyte.
_MAKE_INDEX = "CREATE INDEX IF NOT EXISTS by_use ON entry (used, kind, created, size)"
# The first takes effect in a new file alone: in an older one free pages are used again, and not given back. The last, which some
# builds of SQLite have on, would write each page that is freed: eight times as much of a deletion, and lookups wait for the disk.
_PRAGMAS = (
    "auto_vacuum=INCREMENTAL",
    "locking_mode=EXCLUSIVE",
    "journal_mode=WAL",
    "synchronous=NORMAL",  # what has to outlive a power cut is synced, see `sync`
    "trusted_schema=OFF",
    "secure_delete=OFF",
)
_FORMS: tuple[list[tuple[bytes, bytes]], ...] = (
    [],
    [(b"table", b"entry")],
    [(b"table", b"entry"), (b"index", b"by_use")],
)


@dataclass(frozen=True)
class StoredEntry:
    """What is known about an entry without reading its value: times in seconds since the epoch, size in bytes."""

    kind: str
    key: bytes
    created: float
    used: float
    size: int


class CacheStore(ABC):
    """Values by kind and key. All calls come from the thread that made the store."""

    @abstractmethod
    def get(self, kind: str, key: bytes, *, touch: bool = True) -> bytes | None:
        """The value, exactly as it was put, or None. `touch`: it counts as a use."""

    @abstractmethod
    def put(self, kind: str, key: bytes, value: bytes, *, created: float | None = None) -> None:
        """Outlives this process when it returns, and a power cut after `sync`; CannotWrite (disk full, read-only) leaves what was
        there. `created`: not now, but then."""

    @abstractmethod
    def sync(self) -> None:
        """What was put is on the disk when it returns; CannotWrite where the disk does not take it. The one call that may come from
        another thread, so that no lookup waits for the disk."""

    @abstractmethod
    def delete(self, kind: str, key: bytes) -> bool:
        """Whether there was such an entry."""

    @abstractmethod
    def entries(self, kind: str | None = None) -> Iterator[StoredEntry]:
        """All entries (of a kind), the most recently used first. Their values are not checked."""

    @abstractmethod
    def page(self, kind: str, after: bytes, most: int, prefix: str = "") -> list[StoredEntry]:
        """The next entries of a kind by key: those after `after` whose key begins with `prefix` (hexadecimal), at
        most `most` (below zero: all). Costs what it gives, however many there are."""

    @abstractmethod
    def stats(self) -> CacheNumbers:
        """entries, bytes, and since the start: hits, misses, refused (torn, wrong or foreign), write_errors."""

    @abstractmethod
    def gc(self, limit_bytes: int | None, older_s: float | None = None, most: int = -1) -> int:
        """Delete what was not used for `older_s`, then the least recently used entries until the values take at most
        `limit_bytes` (None: no such bound). `most` above zero: a part of them, so many at most and of about PART_BYTES; nothing
        is left to delete when a part has none. Gives how many. What has not the form of an entry goes with the first call."""

    @abstractmethod
    def give_back(self, pages: int, leave: int = 0) -> int:
        """Give at most so many free pages of the file back to the disk, all but `leave`; how many are left to give. Each costs a
        look through all free pages: give them back before they are many."""

    @abstractmethod
    def close(self) -> None:
        """Nothing may be called afterwards."""


class SqliteStore(CacheStore):
    """A store in one SQLite file (WAL, exclusive). A damaged file is set aside and replaced."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._path = folder / f"cache-v{SCHEMA}.sqlite"  # another schema is another file: the old one stays as it is
        self._secret = load_secret(folder / "cache.key")
        self._counts = Counter[str]()
        self._totals: CacheTotals | None = None  # None: to be counted
        self._formed = False  # what has no form of ours was looked for
        self._db = self._open_whatever_there_is()

    def _open_whatever_there_is(self) -> sqlite3.Connection:
        """The file; a new one where it is damaged; none where the disk has no room even for that: a daemon without a
        cache finds things again, a daemon that does not start finds nothing."""
        for _ in range(2):
            try:
                return self._open(self._path)
            except (sqlite3.Error, OSError) as e:
                if type(e) is not sqlite3.DatabaseError or not self._set_aside(e):
                    log.warning("the cache cannot be opened (%s); what is found now is forgotten at the end", e)
                    break
        return self._open(None)

    def _open(self, path: Path | None) -> sqlite3.Connection:
        db = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=1.0)
        try:
            db.text_factory = bytes  # a damaged text must not raise while it is decoded
            for pragma in _PRAGMAS:
                db.execute(f"PRAGMA {pragma}")
            _check_form(db, made=False)
            db.execute(_MAKE)
            db.execute(_MAKE_INDEX)
            _check_form(db, made=True)
            small = path is None or path.stat().st_size <= CHECKED_AT_START
            if small and db.execute("PRAGMA quick_check(1)").fetchone() != (b"ok",):
                raise sqlite3.DatabaseError("quick_check found damage")
        except BaseException:
            db.close()
            raise
        if path is not None:
            os.chmod(path, 0o600)
        return db

    def _set_aside(self, why: Exception) -> bool:
        """Whether the damaged file is out of the way."""
        stamp = int(self._clock() * 1000)
        log.warning("the cache is damaged (%s); it is set aside as *.corrupt-%d", why, stamp)
        for suffix in ("", "-wal", "-shm"):
            path = self._path.with_name(self._path.name + suffix)
            if path.exists():
                try:
                    path.rename(path.with_name(f"{path.name}.corrupt-{stamp}"))
                except OSError as e:
                    log.warning("it cannot be set aside: %s", e)
                    return False
        return True

    def _recover(self, why: sqlite3.Error) -> None:
        """Go on with an empty cache where `why` says that the file itself is damaged; other errors pass."""
        if type(why) is sqlite3.DatabaseError:  # exactly: its subclasses mean locked, full, input/output
            self._db.close()
            self._totals, self._formed = None, False
            self._db = self._open_whatever_there_is() if self._set_aside(why) else self._open(None)

    def _mac(self, kind: str, key: bytes, digest: bytes) -> bytes:
        name = kind.encode()
        message = len(name).to_bytes(4, "big") + name + len(key).to_bytes(4, "big") + key + digest
        return hmac.new(self._secret, message, hashlib.sha256).digest()

    def get(self, kind: str, key: bytes, *, touch: bool = True) -> bytes | None:
        try:
            row = self._db.execute(
                "SELECT sha256, mac, used, size, value FROM entry WHERE kind = ? AND key = ?", (kind, key)
            ).fetchone()
        except sqlite3.ProgrammingError:  # another thread, or closed: a mistake of ours
            raise
        except sqlite3.Error as e:
            log.warning("the cache cannot be read: %s", e)
            self._recover(e)
            row = None
        if row is None:
            self._counts["misses"] += 1
            return None
        digest, mac, used, size, value = row
        sound = (
            isinstance(value, bytes)
            and isinstance(mac, bytes)
            and size == len(value)
            and hashlib.sha256(value).digest() == digest
            and hmac.compare_digest(mac, self._mac(kind, key, digest))
        )
        if not sound:
            log.warning("a %s entry is torn, wrong or foreign; it is dropped", kind)
            self._counts["refused"] += 1
            self.delete(kind, key)
            return None
        if not touch:
            return bytes(value)
        self._counts["hits"] += 1
        now = self._clock()
        if not isinstance(used, float) or now - used > USED_EVERY_S:
            self._write("UPDATE entry SET used = ? WHERE kind = ? AND key = ?", (now, kind, key))
        return bytes(value)

    def put(self, kind: str, key: bytes, value: bytes, *, created: float | None = None) -> None:
        digest, now = hashlib.sha256(value).digest(), self._clock()
        made = now if created is None else created
        row = (kind, key, digest, self._mac(kind, key, digest), made, now, len(value), value)
        before = self._sizes(kind, key)
        problem = self._write("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        if problem is not None:
            raise CannotWrite(f"the cache cannot be written: {problem}", path=str(self._path))
        self._count(kind, before, len(value))

    def sync(self) -> None:
        # SQLite's own `synchronous=FULL` does the same within each commit. On this file SQLite holds no lock that closing it would end.
        try:
            written = os.open(self._path.with_name(self._path.name + "-wal"), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # nothing is written, or only to memory
            return
        except OSError as e:
            raise CannotWrite(f"the cache cannot be written: {e.strerror}", path=str(self._path)) from None
        try:
            getattr(os, "fdatasync", os.fsync)(written)
        except OSError as e:
            raise CannotWrite(f"the cache cannot be written: {e.strerror}", path=str(self._path)) from None
        finally:
            os.close(written)

    def delete(self, kind: str, key: bytes) -> bool:
        had = self._sizes(kind, key)
        if not had or self._write("DELETE FROM entry WHERE kind = ? AND key = ?", (kind, key)) is not None:
            return False
        self._count(kind, had)
        return True

    def _sizes(self, kind: str, key: bytes) -> list[Any]:
        """The size of the entry, if there is one."""
        return [size for (size,) in self._rows("SELECT size FROM entry WHERE kind = ? AND key = ?", (kind, key))]

    def _count(self, kind: str, gone: list[Any], *come: int) -> None:
        """Entries of a kind went and came, with these sizes."""
        if self._totals is None:
            return
        if not all(isinstance(size, int) for size in gone):  # damage: nobody knows what it was counted as
            self._totals = None
            return
        self._totals.add(len(come) - len(gone), sum(come) - sum(gone), kept=kind in PROMISES)

    def _held(self) -> CacheTotals:
        """What the file holds; counted once."""
        if self._totals is None:
            promised = " OR ".join(f"kind = '{kind}'" for kind in PROMISES)
            size = "CASE typeof(size) WHEN 'integer' THEN size ELSE 0 END"
            query = f"SELECT {promised}, count(*), sum({size}) FROM entry INDEXED BY by_use GROUP BY 1"
            self._totals = CacheTotals()
            for kept, entries, held in self._rows(query, ()):
                self._totals.add(entries, held, kept=bool(kept))
        return self._totals

    def entries(self, kind: str | None = None) -> Iterator[StoredEntry]:
        where, values = ("", ()) if kind is None else ("AND kind = ?", (kind,))
        query = f"SELECT kind, key, created, used, size FROM entry WHERE {_WELL_FORMED} {where} ORDER BY used DESC"
        for name, key, created, used, size in self._rows(query, values):
            yield StoredEntry(name.decode("utf-8", "replace"), bytes(key), created, used, size)

    def page(self, kind: str, after: bytes, most: int, prefix: str = "") -> list[StoredEntry]:
        span = _span(prefix)
        if span is None:
            return []
        query = (
            f"SELECT kind, key, created, used, size FROM entry NOT INDEXED WHERE kind = ? AND key > ? AND key >= ? AND key < ? "
            f"AND {_WELL_FORMED} ORDER BY key LIMIT ?"
        )
        rows = self._rows(query, (kind, after, *span, most))
        return [StoredEntry(name.decode("utf-8", "replace"), bytes(key), *rest) for name, key, *rest in rows]

    def stats(self) -> CacheNumbers:
        return {
            "entries": self._held().entries,
            "bytes": self._held().size,
            "hits": self._counts["hits"],
            "misses": self._counts["misses"],
            "refused": self._counts["refused"],
            "write_errors": self._counts["write_errors"],
        }

    def gc(self, limit_bytes: int | None, older_s: float | None = None, most: int = -1) -> int:
        deleted = 0 if self._formed else self._drop_malformed()
        before = float("-inf") if older_s is None else self._clock() - older_s
        total, held = self._held().forgettable, 0
        kept = " AND ".join(f"kind <> '{kind}'" for kind in PROMISES)
        query = (
            "SELECT kind, key, used, size FROM entry INDEXED BY by_use "
            f"WHERE {kept} AND {_WELL_FORMED} ORDER BY used LIMIT ?"
        )
        gone: list[tuple[str, bytes]] = []
        sizes: list[int] = []
        for kind, key, used, size in self._rows(query, (most if most > 0 else EVERY,)):
            if (used >= before and (limit_bytes is None or total <= limit_bytes)) or (most > 0 and held >= PART_BYTES):
                break
            total, held = total - size, held + size
            gone.append((kind.decode("utf-8", "replace"), bytes(key)))
            sizes.append(size)
        done = self._delete(gone)
        if done == len(gone):
            self._count("", sizes)  # of no promised kind
        else:
            self._totals = None
        return deleted + done

    def give_back(self, pages: int, leave: int = 0) -> int:
        try:
            return self._give_back(pages, leave)
        except sqlite3.Error as e:
            log.warning("the cache gives nothing back: %s", e)
            self._recover(e)
            return 0

    def _give_back(self, pages: int, leave: int) -> int:
        if self._one("PRAGMA auto_vacuum") != 2:
            return 0
        most = min(pages, self._one("PRAGMA freelist_count") - leave)
        if most > 0:
            # as a script: it is a statement whose rows have no columns, and `execute` ends such a one after its first page
            self._db.executescript(f"PRAGMA incremental_vacuum({most})")
        left = self._one("PRAGMA freelist_count")
        if left == 0:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # the file itself gets shorter here
        return max(0, left - leave)

    def _drop_malformed(self) -> int:
        had = self._one(f"SELECT count(*) FROM entry WHERE NOT ({_WELL_FORMED})")
        self._formed = not had or self._write(f"DELETE FROM entry WHERE NOT ({_WELL_FORMED})", ()) is None
        self._totals = None if had else self._totals
        return had if self._formed else 0

    def close(self) -> None:
        self._db.close()

    def _rows(self, query: str, values: Values) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.ProgrammingError:  # another thread, or closed: a mistake of ours
            raise
        except sqlite3.Error as e:
            log.warning("the cache cannot be read: %s", e)
            self._recover(e)
            return []

    def _one(self, query: str, values: Values = ()) -> int:
        try:
            return int(self._db.execute(query, values).fetchone()[0])
        except sqlite3.Error as e:
            log.warning("the cache cannot be read: %s", e)
            self._recover(e)
            return 0

    def _delete(self, entries: list[tuple[str, bytes]]) -> int:
        """Delete entries, all of them or none; how many there were. A damaged index names entries that there are not."""
        before = self._db.total_changes
        work = partial(self._db.executemany, "DELETE FROM entry WHERE kind = ? AND key = ?", entries)
        return self._db.total_changes - before if entries and self._transact(work) is None else 0

    def _write(self, statement: str, values: Values) -> sqlite3.Error | None:
        """Do one statement durably; what went wrong, if anything did (then nothing was changed)."""
        return self._transact(lambda: self._db.execute(statement, values))

    def _transact(self, work: Callable[[], object]) -> sqlite3.Error | None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            work()
            self._db.execute("COMMIT")
        except sqlite3.Error as e:
            self._counts["write_errors"] += 1
            log.warning("the cache cannot be written: %s", e)
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._recover(e)
            return e
        return None


def _span(prefix: str) -> tuple[bytes, bytes] | None:
    """The first key that begins with a hexadecimal prefix, and the first behind all that do; None where no key does."""
    if not _HEX.fullmatch(prefix):
        return None
    odd = len(prefix) % 2
    low, behind = bytes.fromhex(prefix + "0" * odd), (int(prefix or "0", 16) + 1) << 4 * odd
    return low, behind.to_bytes(len(low), "big") if low and behind < 1 << 8 * len(low) else _BEHIND_ALL


def _check_form(db: sqlite3.Connection, *, made: bool) -> None:
    """DatabaseError unless the file holds our table as we make it, and nothing else: no other columns, views, triggers."""
    held = db.execute("SELECT type, name FROM sqlite_master").fetchall()
    if held not in (_FORMS[2:] if made else _FORMS):  # the second is that of an older version
        raise sqlite3.DatabaseError("it holds something else")
    columns = [row[1] for row in db.execute("PRAGMA table_info(entry)")]
    if held and columns != [b"kind", b"key", b"sha256", b"mac", b"created", b"used", b"size", b"value"]:
        raise sqlite3.DatabaseError("its table has other columns")

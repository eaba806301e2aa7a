"""A damaged cache and a full disk: every answer is right or "not found", and the cache always opens."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from daemonbench.rows import Row, row
from mirage.errors import CannotWrite
from mirage_daemon.cache_store import SqliteStore

ENTRIES, VALUE = 60, 700  # values, and bytes of each
FLIPS, TORN = 1000, 500
STEP, STEPS = 8192, 100  # the disk is full after so many bytes more, and more, and more
Values = dict[tuple[str, bytes], bytes]


def filled(folder: Path) -> Values:
    """A cache as a killed daemon leaves it: some in the file, some in the log beside it."""
    values = {(("alias", "result")[i % 2], bytes([i]) * 32): os.urandom(VALUE) for i in range(ENTRIES)}
    origin = folder / "open"
    origin.mkdir(mode=0o700)
    for part in (0, 1):  # the first half is in the main file when the store is closed
        store = SqliteStore(origin)
        for i, ((kind, key), value) in enumerate(values.items()):
            if i % 2 == part:
                store.put(kind, key, value)
        if part == 1:
            shutil.copytree(origin, folder / "origin")  # while it is open: the log is as a kill leaves it
        store.close()
    return values


def answers(folder: Path, values: Values) -> tuple[int, int, int]:
    """(right, missing, wrong) of all values, and whether it can go on: a value that is put is there."""
    right = missing = wrong = 0
    store = SqliteStore(folder)
    for (kind, key), value in values.items():
        got = store.get(kind, key)
        right, missing, wrong = right + (got == value), missing + (got is None), wrong + (got not in (value, None))
    store.put("result", b"new" * 11, b"new")
    if store.get("result", b"new" * 11) != b"new":
        wrong += 1
    list(store.entries())
    store.gc(1000)
    store.close()
    return right, missing, wrong


def flip(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def tear(data: bytearray, chance: random.Random) -> None:
    at, how = chance.randrange(len(data)), chance.randrange(4)
    if how == 0:
        del data[at:]
    elif how == 1:
        data[at:] = chance.randbytes(len(data) - at)
    elif how == 2:
        at -= at % 4096
        data[at : at + 4096] = bytes(len(data[at : at + 4096]))
    else:
        data[:] = bytes(len(data)) if chance.random() < 0.5 else b""


def trials(name: str, harm: object, count: int, seed: int) -> Iterator[Row]:
    chance, right, lost, wrong, failed = random.Random(seed), 0, 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="mirage-bench-") as place:
        values = filled(Path(place))
        for _ in range(count):
            folder = Path(place, "trial")
            shutil.copytree(Path(place, "origin"), folder)
            file = chance.choice([f for f in sorted(folder.iterdir()) if f.stat().st_size])
            data = bytearray(file.read_bytes())
            harm(data, chance)  # type: ignore[operator]
            file.write_bytes(data)
            try:
                found = answers(folder, values)
            except Exception as e:
                failed += 1
                print(f"{name}: {file.name}: {type(e).__name__}: {e}")
                found = (0, 0, 0)
            right, lost, wrong = right + found[0], lost + found[1], wrong + found[2]
            shutil.rmtree(folder)
    yield row(f"{name}: trials", count, "")
    yield row(f"{name}: wrong answers", wrong, "", "== 0", wrong == 0)
    yield row(f"{name}: did not start or go on", failed, "", "== 0", failed == 0)
    yield row(f"{name}: values lost", 100 * lost / max(1, right + lost + wrong), "%")


@contextmanager
def full_after(size: int) -> Iterator[None]:
    """No file of this process may become larger than `size` bytes: a write fails in the place where a full disk fails."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def disk(steps: int, size: int = STEP) -> Iterator[Row]:
    """The disk is full from the n-th write on, for every n: at the start, while values are put, and in between."""
    wrong = failed = refused = accepted = 0
    with tempfile.TemporaryDirectory(prefix="mirage-bench-") as place:
        values = filled(Path(place))
        for step in range(steps):
            folder = Path(place, "trial")
            shutil.copytree(Path(place, "origin"), folder)
            kept = dict(values)
            if step % 4 == 2:  # there never was a key
                (folder / "cache.key").unlink()
            if step % 4 == 3:  # there never was a cache
                shutil.rmtree(folder)
                folder.mkdir(mode=0o700)
            try:
                with full_after(step * size):
                    store = SqliteStore(folder)
                    for i in range(30):
                        try:
                            store.put("result", bytes([200 + i % 20]) * 32, value := os.urandom(VALUE * (1 + i % 9)))
                            kept["result", bytes([200 + i % 20]) * 32] = value
                            accepted += 1
                        except CannotWrite:
                            refused += 1
                        kind, key = random.Random(i).choice(sorted(kept))
                        wrong += store.get(kind, key) not in (kept[kind, key], None)
                    store.close()
                lost = answers(folder, kept)  # there is space again
                wrong += lost[2]
            except Exception as e:
                failed += 1
                print(f"disk full after {step * size} bytes: {type(e).__name__}: {e}")
            shutil.rmtree(folder)
    yield row("disk full: steps", steps, "")
    yield row("disk full: writes refused", refused, "", ">= 1", refused >= 1)
    yield row("disk full: writes that fit", accepted, "", ">= 1", accepted >= 1)
    yield row("disk full: wrong answers", wrong, "", "== 0", wrong == 0)
    yield row("disk full: did not start or go on", failed, "", "== 0", failed == 0)


def rows(rounds: int = FLIPS) -> Iterator[Row]:
    yield from trials("flipped bits", flip, rounds, 1)
    yield from trials("torn and zeroed files", tear, max(1, rounds * TORN // FLIPS), 2)
    yield from disk(STEPS)

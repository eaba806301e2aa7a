"""What a wave of blocks reads, and the order of the grid's dims with which that is least."""

from __future__ import annotations

from mirage.mugraph.block_order import Order, TensorReads, best_order, covered, from_memory

MB = 2.0**20
ROWS, COLUMNS = frozenset({"m"}), frozenset({"n"})


def product(m: int, n: int) -> dict[str, TensorReads]:
    return {"X": TensorReads(m * MB, ROWS), "W": TensorReads(n * MB, COLUMNS)}


def test_a_wave_covers_the_fastest_dim_first() -> None:
    assert covered([("m", 8), ("n", 64)], 128) == {"n": 64, "m": 2}
    assert covered([("n", 64), ("m", 8)], 128) == {"m": 8, "n": 16}
    assert covered([("m", 3), ("n", 2)], 128) == {"m": 3, "n": 2}  # no more places than there are


def test_what_is_read_along_a_dim_comes_once_for_each_wave_that_goes_along_it() -> None:
    grid = [("m", 16), ("n", 64)]  # 8 waves of 2 rows of blocks each: all columns in each of them
    moved = from_memory(grid, product(160, 640), 128, kept=0.0)
    assert moved == 8 * 640 * MB + 160 * MB
    turned = from_memory(grid[::-1], product(160, 640), 128, kept=0.0)
    assert turned == 640 * MB + 8 * 160 * MB  # each wave all rows and 8 columns


def test_what_fits_the_cache_beside_the_rest_is_read_once() -> None:
    grid = [("n", 64), ("m", 16)]
    assert from_memory(grid, product(16, 640), 128, kept=40 * MB) == 656 * MB
    assert from_memory(grid, product(16, 640), 128, kept=15 * MB) == 640 * MB + 8 * 16 * MB  # a little too small


def test_the_dim_along_which_more_is_shared_runs_fastest() -> None:
    few, many = [("m", 16), ("n", 64)], [("m", 64), ("n", 16)]
    assert best_order(few, product(160, 640), 0.0) == Order(("n", "m"))
    assert best_order(many, product(640, 160), 0.0) == Order(("m", "n"))  # as it is: the columns are the few


def test_a_dim_in_groups_stands_twice() -> None:
    grid = Order(("m", "n"), "m", 8).digits({"m": 32, "n": 64})
    assert grid == [("m", 4), ("n", 64), ("m", 8)]
    assert covered(grid, 128) == {"m": 8, "n": 16}
    assert covered(grid, 1024) == {"m": 16, "n": 64}
    assert from_memory(grid, product(320, 640), 128, kept=0.0) == 16 * (80 + 160) * MB


def test_groups_are_for_what_no_order_alone_keeps() -> None:
    grid, both = [("m", 64), ("n", 64)], product(320, 320)
    found = best_order(grid, both, 0.0)
    assert (found.names, found.grouped, found.group) == (
        ("m", "n"),
        "m",
        8,
    )  # 8 by 16 blocks at once instead of 2 by 64
    assert best_order(grid, both, 0.0, groups=()) == Order(("m", "n"))  # parts of a split stay where they are
    assert best_order(grid, both, 700 * MB) == Order(("m", "n"))  # all of it stays in the cache
    odd = best_order([("m", 62), ("n", 58)], both, 0.0)  # no group divides either
    assert not odd.grouped


def test_an_order_that_gains_nothing_stays() -> None:
    grid = [("m", 4), ("n", 4)]  # one wave in any order
    assert best_order(grid, product(100, 100), 0.0) == Order(("m", "n"))
    both = {"X": TensorReads(MB, ROWS | COLUMNS)}  # nothing is read twice
    assert best_order([("m", 64), ("n", 64)], both, 0.0) == Order(("m", "n"))

"""Completeness: programs of up to four operators, enumerated by brute force without pruning, against the search.

tests/workloads/brute.py says what the reductions of one kernel are, whole.py what a class of whole µGraphs is (carried reductions,
kernels, streamed axes), and how a kernel can be run (splits, grids). The named programs come first, then random ones with
as many operators as each has, in order until the seconds are over. Last the pruning relation, typed and untyped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from workloads.brute import Brute, Small, random_small
from workloads.classes import found_by_search
from workloads.programs import PROGRAMS
from workloads.pruned import TYPED, UNTYPED, Relations
from workloads.searched import Searched
from workloads.whole import classes, schedules

from mirage.devices.table import Device
from searching.rows import Row, at_least, row

SECONDS = 60.0
RANDOM = 80  # random programs, at most
RELATIONS = 80  # random programs under the pruning relation


def programs() -> Iterator[tuple[Small, int]]:
    """Each with the most operators that are tried."""
    yield from ((program, most) for program, most, *_ in PROGRAMS.values())
    start = time.process_time()
    for seed in range(RANDOM):
        if time.process_time() - start > SECONDS:
            return
        program = random_small(seed)
        yield program, len(program.steps)


def rows(_: Device) -> Iterator[Row]:
    tried = visited = sets = lost_sets = wholes = carried = kernels = lost_wholes = ways = lost_ways = 0
    named = [program for program, *_ in PROGRAMS.values()]
    for program, most in programs():
        brute = Brute(program, most)
        brute.run()
        found, searched = found_by_search(program), Searched(program)
        every, wanted, have = (
            classes(program, brute.solutions),
            schedules(program, brute.solutions),
            searched.schedules(),
        )
        tried, visited = tried + 1, visited + brute.visited
        sets, lost_sets = sets + len(brute.classes), lost_sets + sum(c not in found for c in brute.classes)
        wholes, lost_wholes = wholes + len(every), lost_wholes + sum(not searched.has(c) for c in every)
        carried += sum(any(running for k in c for _, running in k[1]) for c in every)
        kernels += sum(len(c) > 1 for c in every)
        if program in named:  # tiles of a random one, whole along three axes, need not fit
            wanted, have = schedules(program, brute.solutions), searched.schedules()
            ways += sum(map(len, wanted.values()))
            lost_ways += sum(len(how - have.get(form, set())) for form, how in wanted.items())
    yield at_least("completeness: programs enumerated", tried, "", 20)
    yield row("completeness: operators tried by brute force", visited)
    yield row("completeness: sets of reductions", sets)
    yield row("completeness: sets of reductions that the search misses", lost_sets, "", "== 0", lost_sets == 0)
    yield row("completeness: classes of whole µGraphs", wholes)
    yield row("completeness: of them with a carried reduction", carried)
    yield row("completeness: of them with several kernels", kernels)
    yield row(
        "completeness: classes of whole µGraphs that the search misses", lost_wholes, "", "== 0", lost_wholes == 0
    )
    yield row("completeness: splits and grids of one kernel", ways)
    yield row("completeness: splits and grids that the search misses", lost_ways, "", "== 0", lost_ways == 0)
    yield from relations()


def relations() -> Iterator[Row]:
    """Four operators for every program: the typed relation and the untyped one leave the same solutions."""
    tried = other = typed_visited = untyped_visited = 0
    for seed in range(RELATIONS):
        both = Relations(random_small(seed))
        typed, untyped = (both.solutions(4, which) for which in (TYPED, UNTYPED))
        tried += bool(untyped.classes)
        other += set(typed.classes) != set(untyped.classes)
        typed_visited, untyped_visited = typed_visited + typed.visited, untyped_visited + untyped.visited
    yield at_least("pruning relation: programs with solutions", tried, "", 60)
    yield row("pruning relation: programs whose solutions differ, typed and untyped", other, "", "== 0", other == 0)
    yield row("pruning relation: operators tried, typed / untyped", typed_visited / untyped_visited, "", "<= 1",
              typed_visited <= untyped_visited)  # fmt: skip

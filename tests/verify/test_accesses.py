"""What the prover says of accesses, against counting them one by one."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest

from mirage.verify.memory import linear_forms
from mirage.verify.memory.linear_forms import Cond, LinearForm, Var
from mirage.verify.memory.z3_proofs import Access, AccessProver, MemoryFault, Undecided


def holds(c: Cond, at: dict[str, int]) -> bool:
    if c.kind == "<=":
        return bool(linear_forms.evaluate(c.form, at) <= 0)
    if c.kind == "==":
        return bool(linear_forms.evaluate(c.form, at) == 0)
    parts = [holds(p, at) for p in c.parts]
    return not parts[0] if c.kind == "not" else all(parts) if c.kind == "and" else any(parts)


def written(a: Access) -> Counter[int]:
    out: Counter[int] = Counter()
    for values in product(*(range(v.low, v.high + 1) for v in a.own)):
        at = {v.name: x for v, x in zip(a.own, values, strict=True)}
        if holds(a.when, at):
            out[linear_forms.evaluate(a.offset, at)] += 1
    return out


def random_access(rng: random.Random) -> tuple[Access, int]:
    """A store of rows and columns by blocks, like those of kernels, with small errors in some."""
    rows, columns, heads = rng.randint(1, 7), rng.randint(1, 7), rng.randint(1, 3)
    tile, wide = rng.choice((1, 2, 4)), rng.choice((4, 8))
    blocks = -(-rows // tile)
    off = [rng.choice((0, 0, 0, 0, 1, -1)) for _ in range(6)]
    block, a, b = Var("block", 0, max(0, heads * blocks - 1 + off[0])), Var("a", 0, tile - 1), Var("b", 0, wide - 1)
    row_block = linear_forms.divide(linear_forms.of(block), blocks, True)
    head = linear_forms.divide(linear_forms.of(block), blocks, False)
    assert row_block is not None and head is not None
    row = linear_forms.add(linear_forms.of(a), row_block, tile)
    offset = linear_forms.add(
        linear_forms.add(linear_forms.of(b), row, columns + off[1]), head, rows * columns + off[2]
    )
    offset = linear_forms.add(offset, linear_forms.of(off[3]))
    when = linear_forms.both(
        linear_forms.at_most(row, linear_forms.of(rows - 1 + off[4])),
        linear_forms.at_most(linear_forms.of(b), linear_forms.of(columns - 1 + off[5])),
    )
    return Access("O", "store", offset, when, (block, a, b), "here"), heads * rows * columns


@pytest.mark.parametrize("seed", range(6))
def test_the_prover_agrees_with_counting(seed: int) -> None:
    rng, p = random.Random(seed), AccessProver()
    seen: Counter[str] = Counter()
    for _ in range(25):
        a, n = random_access(rng)
        count = written(a)
        questions = {
            "bounds": (lambda a=a, n=n: p.in_bounds(a, n), all(0 <= x < n for x in count)),
            "once": (lambda a=a: p.apart(a, a), all(c == 1 for c in count.values())),
            "covered": (lambda a=a, n=n: p.covered("O", [a], n), all(x in count for x in range(n))),
        }
        for name, (ask, truth) in questions.items():
            try:
                ask()
                said = True
            except MemoryFault as f:
                said = False
                assert f.at
            except Undecided:
                seen[f"{name} unknown"] += 1
                continue
            seen[f"{name} {truth}"] += 1
            assert said == truth, (name, a, n)
    assert all(seen[f"{q} {w}"] for q in ("bounds", "once", "covered") for w in (True, False))


def test_quotients_of_what_may_be_negative_are_refused() -> None:
    x = linear_forms.of(Var("x", -1, 5))
    assert linear_forms.divide(x, 2, False) is None
    assert linear_forms.divide(linear_forms.of(Var("x", 0, 5)), 0, True) is None


def test_division_by_structure() -> None:
    q, r = linear_forms.of(Var("q", 0, 5)), linear_forms.of(Var("r", 0, 3))
    x = linear_forms.add(r, q, 4)
    assert linear_forms.divide(x, 4, False) == q and linear_forms.divide(x, 4, True) == r
    odd = linear_forms.divide(x, 3, True)
    assert isinstance(odd, LinearForm) and linear_forms.span(odd) == (0, 2)
    for i in range(24):
        assert linear_forms.evaluate(odd, {"q": i // 4, "r": i % 4}) == i % 3


def test_a_store_that_only_some_blocks_make_is_seen_as_such() -> None:
    p = AccessProver()
    block, lane = Var("block", 0, 5), Var("lane", 0, 7)
    every = Access("O", "store", linear_forms.of(lane), linear_forms.TRUE, (block, lane), "every block")
    with pytest.raises(MemoryFault, match="more than once"):
        p.apart(every, every)
    first = Access(
        "O",
        "store",
        linear_forms.of(lane),
        linear_forms.equal(linear_forms.of(block), linear_forms.of(0)),
        (block, lane),
        "one block",
    )
    p.apart(first, first)
    p.covered("O", [first], 8)


def test_a_question_beyond_the_work_allowed_is_undecided() -> None:
    """And never a fault, nor the absence of one; the clock has no say."""
    block, lane = Var("block", 0, 700), Var("lane", 0, 127)
    at = linear_forms.add(linear_forms.of(lane), linear_forms.of(block), 127)
    store = Access("O", "store", at, linear_forms.TRUE, (block, lane), "every block")
    with pytest.raises(MemoryFault, match="more than once"):
        AccessProver().apart(store, store)
    with pytest.raises(Undecided, match="work"):
        AccessProver(work=1).apart(store, store)

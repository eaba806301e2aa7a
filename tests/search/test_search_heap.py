"""The cheapest combinations come off the heap as brute force over all of them finds them."""

import random
from itertools import islice, product

import pytest

from mirage.search.engine import cheapest


def table(seed: int) -> list[list[float]]:
    rng = random.Random(seed)
    equal = rng.random() < 0.3  # many combinations of one cost
    return [
        sorted(float(rng.randint(1, 3)) if equal else rng.uniform(1, 100) for _ in range(rng.randint(1, 6)))
        for _ in range(rng.randint(1, 4))
    ]


@pytest.mark.parametrize("seed", range(200))
def test_the_first_twenty_cost_what_brute_force_finds(seed):
    lists = table(seed)
    every = sorted(sum(choice) for choice in product(*lists))[:20]
    found = list(islice(cheapest(lists), 20))
    assert [cost for cost, _ in found] == pytest.approx(every, rel=1e-12)
    assert len({choice for _, choice in found}) == len(found)
    for cost, choice in found:
        assert cost == sum(lists[i][j] for i, j in enumerate(choice))


def test_all_combinations_come_and_then_no_more():
    assert len(list(cheapest([[1.0, 2.0], [1.0, 5.0, 7.0]]))) == 6
    assert list(cheapest([[1.0], []])) == []


def test_lists_are_read_no_further_than_needed():
    read = []

    def costs(n):
        for i in range(n):
            read.append(i)
            yield float(i)

    assert next(cheapest([costs(100), costs(100)]))[0] == 0.0
    assert len(read) == 2


def test_unsorted_lists_would_be_seen():
    lists = [[5.0, 1.0], [1.0, 2.0]]
    every = sorted(sum(choice) for choice in product(*lists))
    assert [cost for cost, _ in cheapest(lists)] != every

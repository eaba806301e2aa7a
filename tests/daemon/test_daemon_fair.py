"""No client is starved by another: turns, unread answers, and take-up of a long journal."""

import asyncio

import pytest

from mirage_daemon.connection import Backlog
from mirage_daemon.fair_turns import WITHOUT_BOUND, FairTurns

MIB = 1 << 20


async def crowd(turns, asked):
    """The order in which the clients of `asked` had their turn, each for one round of the loop; the most at once, by client."""
    order, now, most = [], [], {}

    async def one(client):
        async with turns.turn(client):
            order.append(client)
            now.append(client)
            most[client] = max(most.get(client, 0), now.count(client))
            most["all"] = max(most.get("all", 0), len(now))
            await asyncio.sleep(0)
            now.remove(client)

    await asyncio.gather(*map(one, asked))
    return "".join(order), most


def test_turns_go_round_the_clients():
    order, most = asyncio.run(crowd(FairTurns(1, 1), "aaaaaaaab"))
    assert order == "aabaaaaaa" and most["all"] == 1


def test_a_client_holds_no_more_than_its_share():
    order, most = asyncio.run(crowd(FairTurns(4, 2), "a" * 20 + "b" * 20))
    assert most == {"a": 2, "b": 2, "all": 4} and sorted(order) == list("a" * 20 + "b" * 20)
    _, most = asyncio.run(crowd(FairTurns(WITHOUT_BOUND, 8), "a" * 20))
    assert most == {"a": 8, "all": 8}


def test_who_gives_up_waiting_leaves_the_turns_as_they_were():
    async def main():
        turns = FairTurns(1, 1)
        async with turns.turn("1"):
            others = [asyncio.create_task(crowd(turns, c)) for c in "123"]
            await asyncio.sleep(0)
            for task in others[:2]:
                task.cancel()
            await asyncio.gather(*others[:2], return_exceptions=True)
            assert tuple(map(turns.waiting, "123")) == (0, 0, 1)
        await others[2]
        last = asyncio.create_task(crowd(turns, "4"))
        await asyncio.sleep(0)  # it has its turn, and is cancelled in it
        last.cancel()
        await asyncio.gather(last, return_exceptions=True)
        return await asyncio.wait_for(crowd(turns, "xyz"), 5)

    assert asyncio.run(main())[0] == "xyz"


@pytest.mark.parametrize("connections", [1, 60])
def test_unread_answers_of_one_client_are_bounded_over_its_connections(connections):
    backlog = Backlog(64 * MIB, 256 * MIB)
    held = sum(backlog.add(7, MIB) for _ in range(connections) for _ in range(64))
    assert held == 64
    assert backlog.add(8, MIB)
    backlog.take(7, 64 * MIB)
    assert backlog.add(7, 64 * MIB)


def test_where_all_hold_too_much_who_holds_little_is_served():
    backlog = Backlog(64, 256)
    for process in range(1, 5):
        assert backlog.add(process, 64)
    assert backlog.add(9, 1) and not backlog.add(1, 1)

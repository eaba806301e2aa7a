"""Whose turn it is: the client's, in it the most urgent job's, then the project's that had the fewest turns."""

from dataclasses import dataclass

import pytest

from mirage_daemon.job_order import BACKGROUND, Turns, project_of


@dataclass
class Item:
    id: str
    project: str
    priority: int = 1
    processes: frozenset = frozenset()


def drain(turns):
    return "".join(turns.pop().id for _ in range(len(turns)))


def waiting(*items):
    turns = Turns()
    for item in items:
        turns.push(item)
    return turns


def test_projects_take_turns_however_much_they_want():
    assert drain(waiting(*(Item(x, "big") for x in "abcd"), Item("e", "small"), Item("f", "other"))) == "aefbcd"


def test_what_is_on_screen_comes_first_and_counts_as_a_turn():
    turns = waiting(Item("a", "p"), Item("b", "p"), Item("c", "q"), Item("d", "p", 0))
    assert drain(turns) == "dcab"


def test_a_wish_that_grows_more_urgent_moves_forward():
    items = [Item(x, "p") for x in "abc"]
    turns = waiting(*items)
    items[2].priority = 0
    assert drain(turns) == "cab"


def test_a_late_project_is_level_with_the_others():
    turns = waiting(*(Item(x, "p") for x in "abcdef"))
    assert turns.pop().id + turns.pop().id == "ab"
    for x in "xyz":
        turns.push(Item(x, "q"))
    assert drain(turns) == "cxdyezf"


def test_clients_take_turns_however_urgent_one_says_it_is():
    noisy = [Item(x, x, 0, frozenset({1})) for x in "abcdef"]
    assert drain(waiting(*noisy, Item("x", "a", 1, frozenset({2})), Item("y", "a", 1, frozenset({2})))) == "axbycdef"


def test_among_level_clients_the_most_urgent_job_is_first():
    assert drain(waiting(Item("a", "p", 1, frozenset({1})), Item("b", "p", 0, frozenset({2})))) == "ba"


def test_what_nobody_waits_for_comes_after_all_clients():
    assert (
        drain(waiting(Item("a", "p", BACKGROUND, frozenset({1})), *(Item(x, "p", 1, frozenset({2})) for x in "bc")))
        == "bca"
    )


def test_a_job_that_two_want_takes_the_turn_of_the_one_that_had_fewer():
    turns = waiting(*(Item(x, "p", 1, frozenset({1})) for x in "abcd"), Item("z", "p", 1, frozenset({2})))
    assert turns.pop().id + turns.pop().id == "az"
    wanted = Item("e", "p", 1, frozenset({1}))
    turns.push(wanted)
    assert turns.pop().id == "b"  # it waits behind what the first asked for before
    wanted.processes = frozenset({1, 3})
    turns.join(wanted)
    turns.push(Item("y", "p", 1, frozenset({3})))
    assert drain(turns) == "ceyd" or drain(turns) == ""


def test_what_is_taken_back_does_not_come_up():
    a, b = Item("a", "p"), Item("b", "p")
    turns = waiting(a, b)
    turns.discard(a)
    turns.discard(a)
    assert drain(turns) == "b"
    with pytest.raises(KeyError):
        turns.pop()


def test_the_project_of_a_file(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    inside = str(tmp_path / "a" / "b" / "model.py")
    assert project_of(inside) == str(tmp_path / "a" / "b")
    (tmp_path / "a" / "pyproject.toml").write_text("")
    assert project_of(inside) == str(tmp_path / "a")
    assert project_of("/no/such/folder/x.py") == "/no/such/folder"

"""One public class name has one meaning, but for those that the table names with a reason."""

from __future__ import annotations

import pytest
from doubled_names import ALLOWED, doubled, sources


def test_each_doubled_name_is_in_the_table_and_back() -> None:
    found = doubled(sources())
    assert {name: paths for name, paths in found.items() if name not in ALLOWED} == {}
    assert sorted(set(ALLOWED) - set(found)) == []


@pytest.mark.parametrize(
    ("first", "second", "seen"),
    [
        ("class Tile: ...", "class Tile(object): ...", True),
        ("class Tile: ...", "import x\n\n@x.frozen\nclass Tile: ...", True),
        ("class Tile: ...", "class _Tile: ...", False),
        ("class Tile: ...", "def f():\n    class Tile: ...", False),
        ("class Tile: ...", "class Tiles: ...", False),
    ],
)
def test_a_second_class_of_a_name_is_seen(first: str, second: str, seen: bool) -> None:
    assert doubled({"a.py": first, "b.py": second}) == ({"Tile": ["a.py", "b.py"]} if seen else {})

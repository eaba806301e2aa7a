"""The JSON form of a program: what is written is read back, and any other form is refused."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from mirage.ir.json_value import (
    JsonObject,
    json_int,
    json_ints,
    json_list,
    json_object,
    json_objects,
    json_text,
    json_texts,
)
from mirage.ir.program import Program, freeze
from mirage.program.builder import Builder


def program() -> Program:
    b = Builder("f")
    x = b.input("x", (3, 4), "fp16", ("a", "b"))
    b.line = 7
    b.output(b.op("sum", b.op("mul", x, b.const(2.0)), dim=(1,), keepdim=False))
    return b.program()


def written() -> JsonObject:
    return json_object(json.loads(json.dumps(program().to_dict())))


def test_what_is_written_is_read_back() -> None:
    again = Program.from_dict(written())
    assert again == program() and again.key == program().key and again.to_dict() == program().to_dict()


def test_the_key_leaves_out_names_and_lines_alone() -> None:
    data = written()
    inputs, nodes = json_objects(data["inputs"]), json_objects(data["nodes"])
    inputs[0]["name"], nodes[0]["line"], data["name"] = "y", 99, "g"
    assert Program.from_dict(data).key == program().key
    nodes[-1]["attrs"] = {**json_object(nodes[-1]["attrs"]), "keepdim": True}
    assert Program.from_dict(data).key != program().key


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", 3), ("inputs", {}), ("outputs", [True]), ("outputs", ["0"]), ("nodes", [3]), ("notes", [None])],
)
def test_another_form_is_refused(field: str, value: object) -> None:
    with pytest.raises(TypeError):
        Program.from_dict({**written(), field: value})
    with pytest.raises(KeyError):
        Program.from_dict({k: v for k, v in written().items() if k != field})


READERS: dict[Callable[[object], object], tuple[object, object]] = {
    json_object: ({"a": 1}, []),
    json_list: ([1, "a"], {"a": 1}),
    json_text: ("a", 1),
    json_int: (1, True),
    json_ints: ((1, 2), [1, 2.0]),
    json_texts: (("a", "b"), ["a", None]),
    json_objects: ([{"a": 1}], [[]]),
}


@pytest.mark.parametrize("read", READERS)
def test_a_reader_takes_its_own_form_alone(read: Callable[[object], object]) -> None:
    good, bad = READERS[read]
    assert read(good) == good
    with pytest.raises(TypeError):
        read(bad)


def test_attributes_are_plain_data() -> None:
    assert freeze([1, [2.0, "a"], None]) == (1, (2.0, "a"), None)
    with pytest.raises(TypeError):
        freeze({"a": 1})

"""µGraphs as JSON: versioned, strict when read. The checkpoint and wire form.

The form follows the dataclasses of the grammar: every node is an object with exactly its fields (and `node` where more
than one class may stand), tuples are arrays. Reading refuses anything else, and bounds what a hostile file can cost.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from typing import NoReturn

from mirage.errors import MugraphSyntax
from mirage.ir.index import DimIndex
from mirage.ir.json_value import Json, JsonObject
from mirage.ir.program import Attr
from mirage.mugraph import grammar as g
from mirage.mugraph.old_value import OLD
from mirage.operators.attribute_faults import attribute_fault

VERSION = 1
NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,99}}({OLD})?\Z")
OPERATOR = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}(\.[A-Za-z_][A-Za-z0-9_]{0,99}){0,2}\Z")
WORD = re.compile(r"[A-Za-z0-9_]{0,100}\Z")
# of a block operator: a name of a dim or an axis, or a number whose exponent is small enough to write it out
ATTRIBUTE = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]{0,99}|-inf|-?[0-9]{1,400}(/[0-9]{1,400})?|~?-?[0-9]{1,40}(\.[0-9]{1,40})?(e[+-]?[0-9]{1,3})?)\Z"
)
MAX_WORD = 1000  # characters of an attribute
MAX_ITEMS, MAX_TEXT, MAX_INT, MAX_NODES, MAX_DEPTH = 20_000, 10_000, 1 << 50, 200_000, 8
NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}

Decoder = Callable[[object, str], object]


@dataclasses.dataclass(frozen=True, eq=False)
class ReadBody:
    """The body of a block graph that was read before, in its place in JSON data: many block graphs may share it."""

    statements: tuple[object, ...]


def _fail(path: str, message: str) -> NoReturn:
    raise MugraphSyntax(f"{path}: {message}")


def _text(pattern: re.Pattern[str] | None) -> Decoder:
    def decode(value: object, path: str) -> str:
        if not isinstance(value, str) or len(value) > MAX_TEXT or (pattern and not pattern.match(value)):
            _fail(path, f"expected a {'name' if pattern else 'text'}")
        return value

    return decode


def _int(value: object, path: str) -> int:
    if type(value) is not int or abs(value) > MAX_INT:
        _fail(path, "expected an integer of reasonable size")
    return value


def _float(value: object, path: str) -> float:
    if isinstance(value, str) and value in NON_FINITE:
        return NON_FINITE[value]
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        _fail(path, 'expected a number, "inf", "-inf" or "nan"')
    return float(value)


def _choice(*options: str) -> Decoder:
    def decode(value: object, path: str) -> str:
        if value not in options or not isinstance(value, str):
            _fail(path, f"expected one of {', '.join(options)}")
        return value

    return decode


def _many(item: Decoder) -> Decoder:
    def decode(value: object, path: str) -> tuple[object, ...]:
        if isinstance(value, ReadBody):
            return value.statements
        if not isinstance(value, list) or len(value) > MAX_ITEMS:
            _fail(path, "expected an array of reasonable length")
        return tuple(item(v, f"{path}[{i}]") for i, v in enumerate(value))

    return decode


def _pair(first: Decoder, second: Decoder) -> Decoder:
    def decode(value: object, path: str) -> tuple[object, object]:
        if not isinstance(value, list) or len(value) != 2:
            _fail(path, "expected a pair")
        return first(value[0], path + "[0]"), second(value[1], path + "[1]")

    return decode


def _maybe(item: Decoder) -> Decoder:
    return lambda value, path: None if value is None else item(value, path)


def _node(*names: str) -> Decoder:
    """An object of one of the classes; with more than one class the field `node` says which."""

    def decode(value: object, path: str) -> object:
        if not isinstance(value, dict):
            _fail(path, "expected an object")
        data = dict(value)
        name = names[0]
        if len(names) > 1:
            name = data.pop("node", None)
            if name not in names:
                _fail(path, f"expected node to be one of {', '.join(names)}")
        cls, fields = SCHEMA[name]
        data = {**OMITTED.get(name, {}), **data}
        if set(data) != set(fields):
            odd = sorted(map(str, set(data) ^ set(fields)))[:5]
            _fail(path, f"a {name} has the fields {', '.join(fields)}; missing or unknown: {', '.join(odd)}")
        return cls(**{k: decode_field(data[k], f"{path}.{k}") for k, decode_field in fields.items()})

    return decode


def freeze(value: object, depth: int = 0) -> Attr:
    """A JSON value with arrays as tuples (a library kernel's attribute). Objects are refused."""
    if isinstance(value, list | tuple):
        if depth > MAX_DEPTH or len(value) > MAX_ITEMS:
            raise MugraphSyntax("an attribute is nested too deeply or too long")
        return tuple(freeze(v, depth + 1) for v in value)
    if value is None or isinstance(value, bool):
        return value
    if (isinstance(value, int) and abs(value) <= MAX_INT) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, str) and len(value) <= MAX_WORD and value.isprintable():
        return value
    raise MugraphSyntax("an attribute is a number, a short text, a truth value, null, or an array of them")


def library_kernel(
    name: str, op: str, args: tuple[str, ...], out: str, attrs: tuple[tuple[str, Attr], ...] = ()
) -> g.LibraryKernel:
    """A library kernel that was read. Raises MugraphSyntax where its operator does not take such attributes."""
    wrong = attribute_fault(op, attrs)
    if wrong:
        raise MugraphSyntax(f"library kernel {name}: {wrong}")
    return g.LibraryKernel(name, op, args, out, attrs)


name, word, text, operator = _text(NAME), _text(WORD), _text(None), _text(OPERATOR)
attribute = _text(ATTRIBUTE)
names, texts = _many(name), _many(text)
index = _many(_node("DimIndex"))
OMITTED: dict[str, dict[str, object]] = {
    "Accumulate": {"start": ""},
    "Load": {"by": "pointers"},
    "TileDim": {"group": 0},
}  # fields that are not written where they have this value
STATEMENTS = ("Load", "Compute", "ThreadGraph", "Accumulate", "Store")

SCHEMA: dict[str, tuple[Callable[..., object], dict[str, Decoder]]] = {
    "DimIndex": (DimIndex, {"axes": names, "offset": _int}),
    "DTensor": (
        g.DTensor,
        {
            "name": name,
            "dtype": word,
            "dims": _many(names),
            "rigid": _many(_maybe(_int)),
            "kind": _choice("input", "temp", "output"),
        },
    ),
    "TileDim": (
        g.TileDim,
        {
            "name": name,
            "axes": names,
            "tile": _int,
            "role": _choice("grid", "resident", "loop", "split"),
            "splits": word,
            "parts": _int,
            "group": _int,
        },
    ),
    "Load": (
        g.Load,
        {
            "out": name,
            "tensor": name,
            "index": index,
            "dims": names,
            "pad": _float,
            "by": _choice("pointers", "descriptor"),
        },
    ),
    "Compute": (
        g.Compute,
        {"out": name, "op": name, "args": names, "dims": names, "attrs": _many(_pair(name, attribute))},
    ),
    "ThreadGraph": (g.ThreadGraph, {"out": name, "body": _many(_node("Compute")), "dims": names}),
    "Accumulate": (
        g.Accumulate,
        {
            "out": name,
            "op": _choice("sum", "max"),
            "arg": name,
            "dims": names,
            "update": _many(_pair(name, word)),
            "start": word,
        },
    ),
    "Store": (g.Store, {"tensor": name, "tile": name, "index": index, "first": names}),
    "Loop": (g.Loop, {"dim": name, "body": _many(_node(*STATEMENTS))}),
    "BlockGraph": (
        g.BlockGraph,
        {"dims": _many(_node("TileDim")), "body": _many(_node(*STATEMENTS, "Loop")), "cluster": _int},
    ),
    "CustomKernel": (
        g.CustomKernel,
        {
            "name": name,
            "block": _node("BlockGraph"),
            "tail": _maybe(_node("BlockGraph")),
            "warps": _int,
            "stages": _int,
            "operands": _choice("narrow", "wide"),
        },
    ),
    "LibraryKernel": (
        library_kernel,
        {
            "name": name,
            "op": operator,
            "args": names,
            "out": name,
            "attrs": _many(_pair(name, lambda value, path: freeze(value))),
        },
    ),
    "MuGraph": (
        g.MuGraph,
        {
            "name": name,
            "axes": _many(_pair(name, _int)),
            "tensors": _many(_node("DTensor")),
            "kernels": _many(_node("CustomKernel", "LibraryKernel")),
            "notes": texts,
        },
    ),
}
TAGGED = {*STATEMENTS, "Loop", "CustomKernel", "LibraryKernel"}


def _encode(value: object, tagged: bool = True) -> Json:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = type(value).__name__
        inner = {f.name: _encode(getattr(value, f.name), kind != "ThreadGraph") for f in dataclasses.fields(value)}
        for field, usual in OMITTED.get(kind, {}).items():
            if inner[field] == usual:
                del inner[field]
        return {"node": kind, **inner} if tagged and kind in TAGGED else inner
    if isinstance(value, tuple | list):
        return [_encode(v, tagged) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    assert value is None or isinstance(value, (bool, int, float, str))  # what the grammar's fields hold
    return value


def to_json(mugraph: g.MuGraph) -> JsonObject:
    """The µGraph as JSON data: `{"version": 1, "mugraph": {...}}`."""
    return {"version": VERSION, "mugraph": _encode(mugraph)}


def _count(data: object) -> int:
    """The number of nodes of JSON data, counted without recursion, up to the limit."""
    stack: list[object] = [data]
    n = 0
    while stack and n <= MAX_NODES:
        top = stack.pop()
        n += 1
        if isinstance(top, dict):
            stack.extend(top.values())
        elif isinstance(top, list):
            stack.extend(top)
    return n


def read_body(data: object) -> ReadBody:
    """The body of a block graph, as strictly as `from_json`."""
    if _count(data) > MAX_NODES:
        _fail("$", f"more than {MAX_NODES} values")
    found = SCHEMA["BlockGraph"][1]["body"](data, "$.body")
    assert isinstance(found, tuple)
    return ReadBody(found)


def from_json(data: object) -> g.MuGraph:
    """The µGraph of JSON data. Raises MugraphSyntax on any other form, version or size; `check` is not run."""
    if not isinstance(data, dict) or set(data) != {"version", "mugraph"}:
        _fail("$", "expected an object with version and mugraph")
    if type(data["version"]) is not int or data["version"] != VERSION:
        _fail("$.version", f"expected {VERSION}")
    if _count(data["mugraph"]) > MAX_NODES:
        _fail("$", f"more than {MAX_NODES} values")
    graph = _node("MuGraph")(data["mugraph"], "$.mugraph")
    assert isinstance(graph, g.MuGraph)
    return graph

"""Reads the text form of a µGraph. Strict: a line that is not of the form that `text.py` prints is MugraphSyntax."""

from __future__ import annotations

import json
import re
from typing import Literal, NoReturn, cast, get_args

from mirage.errors import MugraphSyntax
from mirage.ir.index import DimIndex
from mirage.ir.json_value import Json, json_list
from mirage.ir.program import Attr
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    CustomKernel,
    DTensor,
    Kind,
    LibraryKernel,
    Load,
    Loop,
    MuGraph,
    Role,
    Statement,
    Store,
    ThreadGraph,
    TileDim,
)
from mirage.mugraph.json_form import ATTRIBUTE, freeze, library_kernel
from mirage.mugraph.old_value import OLD
from mirage.mugraph.text import HEADER

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
NAMES = rf"(?:{NAME}(?:, {NAME})*)?"
ARGS = rf"(?:{NAME}(?:{OLD})?(?:, {NAME}(?:{OLD})?)*)?"
AXES = rf"{NAME}(?:\*{NAME})*"
OP = rf"{NAME}(?:\.{NAME})*"
INT = r"-?[0-9]{1,18}"
ENTRY = rf"(?:{AXES}(?:[+-][0-9]{{1,18}})?|{INT})"
INDEX = rf"\[(?P<index>(?:{ENTRY}(?:, {ENTRY})*)?)\]"
OUT = rf"(?P<out>{NAME})\[(?P<dims>{NAMES})\]"
COEF = rf"{NAME}(?:{OLD})?\*(?:{NAME}|@self)"
DTENSOR_DIM = rf"(?:{AXES}|1)"
Fields = dict[str, str]  # the named groups of a line: "" for one that it does not have
MAX_CHARS, MAX_LINES = 4_000_000, 50_000

PATTERNS = {
    key: re.compile(pattern + r"\Z")
    for key, pattern in {
        "header": rf"{HEADER} (?P<name>{NAME})",
        "axes": rf"axes(?P<axes>(?: {NAME}=[0-9]{{1,18}})*)",
        "tensor": rf"(?P<kind>input|temp|output) (?P<name>{NAME}) (?P<dtype>[a-z0-9]+) "
        rf"\[(?P<dims>(?:{DTENSOR_DIM}(?:, {DTENSOR_DIM})*)?)\]"
        r"(?: sizes \[(?P<rigid>(?:_|[0-9]{1,18})(?:, (?:_|[0-9]{1,18}))*)\])?",
        "note": r"note (?P<json>\".*\")",
        "library": rf"library (?P<name>{NAME}): (?P<out>{NAME}) = (?P<op>{OP})\((?P<args>{NAMES})\)"
        r"(?: with (?P<json>\[.*\]))?",
        "kernel": rf"kernel (?P<name>{NAME}) warps (?P<warps>{INT}) stages (?P<stages>{INT})(?: operands (?P<operands>wide))?:",
        "block": rf"(?P<word>block|tail) cluster (?P<cluster>{INT}):",
        "dim": rf"dim (?P<name>{NAME}) \((?P<axes>{AXES})\) (?P<role>[a-z]+) tile (?P<tile>{INT})"
        rf"(?: splits (?P<splits>{NAME}|-) parts (?P<parts>{INT}))?(?: group (?P<group>[1-9][0-9]{{0,17}}))?",
        "for": rf"for (?P<dim>{NAME}):",
        "load": rf"{OUT} = load (?P<tensor>{NAME}){INDEX}(?: pad (?P<pad>-?[0-9.e+-]+|-?inf|nan))?(?: by (?P<by>descriptor))?",
        "thread": rf"{OUT} = thread:",
        "compute": rf"{OUT} = (?P<op>{NAME})\((?P<args>{ARGS})(?:(?:; |(?<=\())(?P<attrs>.+))?\)",
        "accumulate": rf"{OUT} (?P<op>\+=|max=) (?P<arg>{NAME}(?:{OLD})?)"
        rf"(?: carrying (?P<update>{COEF}(?:, {COEF})*))?(?: after (?P<start>{NAME}))?",
        "store": rf"store (?P<tensor>{NAME}){INDEX} = (?P<tile>{NAME}(?:{OLD})?)"
        rf"(?: first (?P<first>{NAME}(?: {NAME})*))?",
        "attr": rf"(?P<key>{NAME})=(?:(?P<plain>[A-Za-z0-9_./~+-]+)|(?P<json>\"(?:[^\"\\]|\\.)*\"))",
    }.items()
}


def split(text: str) -> tuple[str, ...]:
    return tuple(text.split(", ")) if text else ()


def entry(text: str) -> DimIndex:
    """`h*q+4` or `3`."""
    if re.match(INT + r"\Z", text):
        return DimIndex((), int(text))
    body = re.match(rf"({AXES})([+-][0-9]+)?\Z", text)
    assert body is not None  # the line's pattern already held
    return DimIndex(tuple(body[1].split("*")), int(body[2] or 0))


class LineReader:
    """The lines with their indentation; `peek` and `take` walk over them."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARS or text.count("\n") > MAX_LINES:
            raise MugraphSyntax(f"the text is longer than {MAX_CHARS} characters or {MAX_LINES} lines")
        self.lines: list[tuple[int, int, str]] = []
        for n, line in enumerate(text.split("\n"), 1):
            if line.strip():
                bare = line.lstrip(" ")
                self.lines.append((n, len(line) - len(bare), bare.rstrip()))
        self.at = 0

    def fail(self, message: str) -> NoReturn:
        line = self.lines[min(self.at, len(self.lines) - 1)][0] if self.lines else 1
        raise MugraphSyntax(message, line=line)

    def peek(self, indent: int) -> str | None:
        """The next line if it stands at `indent`, else None."""
        if self.at < len(self.lines) and self.lines[self.at][1] == indent:
            return self.lines[self.at][2]
        return None

    def take(self, indent: int, *kinds: str) -> tuple[str, Fields] | None:
        """The next line if it stands at `indent` and is of one of the kinds."""
        line = self.peek(indent)
        for kind in kinds if line is not None else ():
            m = PATTERNS[kind].match(cast(str, line))
            if m:
                self.at += 1
                return kind, m.groupdict("")
        return None

    def need(self, indent: int, *kinds: str) -> tuple[str, Fields]:
        got = self.take(indent, *kinds)
        if got is None:
            line = self.lines[self.at][2] if self.at < len(self.lines) else "the end of the text"
            self.fail(f"expected {' or '.join(kinds)} at indentation {indent}, found {line[:80]!r}")
        return got

    def json(self, text: str) -> Json:
        try:
            value: Json = json.loads(text)
        except (ValueError, RecursionError):
            self.fail("the JSON value does not parse")
        return value


def compute(r: LineReader, g: Fields) -> Compute:
    attrs: list[tuple[str, str]] = []
    rest = g["attrs"]
    while rest:
        m = re.match(PATTERNS["attr"].pattern[:-2], rest)
        if not m:
            r.fail(f"an attribute does not parse: {rest[:40]!r}")
        value = m["plain"] if m["plain"] is not None else r.json(m["json"])
        if not isinstance(value, str) or not ATTRIBUTE.match(value):
            r.fail(f"an attribute is a name or a number, not {str(value)[:40]!r}")
        attrs.append((m["key"], value))
        rest = rest[m.end() :]
        if rest and (not rest.startswith(", ") or rest == ", "):
            r.fail(f"an attribute does not parse: {rest[:40]!r}")
        rest = rest[2:]
    return Compute(g["out"], g["op"], split(g["args"]), split(g["dims"]), tuple(attrs))


def statement(r: LineReader, indent: int) -> Statement:
    kind, g = r.need(indent, "store", "load", "thread", "accumulate", "compute")
    if kind == "store":
        place = tuple(entry(e) for e in split(g["index"]))
        return Store(g["tensor"], g["tile"], place, tuple(g["first"].split()))
    if kind == "load":
        pad = float(g["pad"] or 0.0)
        index, by = tuple(entry(e) for e in split(g["index"])), "descriptor" if g["by"] else "pointers"
        return Load(g["out"], g["tensor"], index, split(g["dims"]), pad, cast(Literal["pointers", "descriptor"], by))
    if kind == "thread":
        body: list[Compute] = []
        while r.peek(indent + 2) is not None:
            body.append(compute(r, r.need(indent + 2, "compute")[1]))
        return ThreadGraph(g["out"], tuple(body), split(g["dims"]))
    if kind == "compute":
        return compute(r, g)
    update: list[tuple[str, str]] = []
    for pair in split(g["update"]):
        coef, acc = pair.split("*")
        update.append((coef, "" if acc == "@self" else acc))
    op: Literal["sum", "max"] = "sum" if g["op"] == "+=" else "max"
    return Accumulate(g["out"], op, g["arg"], split(g["dims"]), tuple(update), g["start"])


def block(r: LineReader, cluster: int, indent: int) -> BlockGraph:
    dims: list[TileDim] = []
    while (got := r.take(indent, "dim")) is not None:
        g = got[1]
        if g["role"] not in get_args(Role):
            r.fail(f"a dim's role is one of {', '.join(get_args(Role))}, not {g['role']}")
        splits = "" if g["splits"] == "-" else g["splits"]
        role = cast(Role, g["role"])
        axes, parts = tuple(g["axes"].split("*")), int(g["parts"] or 1)
        dims.append(TileDim(g["name"], axes, int(g["tile"]), role, splits, parts, int(g["group"] or 0)))
    body: list[Statement | Loop] = []
    while r.peek(indent) is not None:
        loop = r.take(indent, "for")
        if loop is None:
            body.append(statement(r, indent))
            continue
        inner: list[Statement] = []
        while r.peek(indent + 2) is not None:
            inner.append(statement(r, indent + 2))
        body.append(Loop(loop[1]["dim"], tuple(inner)))
    return BlockGraph(tuple(dims), tuple(body), cluster)


def kernel(r: LineReader, kind: str, g: Fields) -> CustomKernel | LibraryKernel:
    if kind == "library":
        pairs: list[tuple[str, Attr]] = []
        for pair in json_list(r.json(g["json"] or "[]")):
            if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
                r.fail("a library kernel's attributes are pairs of a name and a value")
            pairs.append((pair[0], freeze(pair[1])))
        return library_kernel(g["name"], g["op"], split(g["args"]), g["out"], tuple(pairs))
    first = r.need(2, "block")[1]
    if first["word"] != "block":
        r.fail("a kernel's block comes before its tail")
    main = block(r, int(first["cluster"]), 4)
    tail = None
    if (got := r.take(2, "block")) is not None:
        if got[1]["word"] != "tail":
            r.fail("a kernel has one block")
        tail = block(r, int(got[1]["cluster"]), 4)
    return CustomKernel(g["name"], main, tail, int(g["warps"]), int(g["stages"]), "wide" if g["operands"] else "narrow")


def parse(text: str) -> MuGraph:
    """The µGraph that `text` states; MugraphSyntax with the line otherwise. It is not checked: see `check`."""
    r = LineReader(text)
    name = r.need(0, "header")[1]["name"]
    pairs = (p.split("=") for p in r.need(0, "axes")[1]["axes"].split())
    axes = tuple((a, int(n)) for a, n in pairs)
    tensors: list[DTensor] = []
    while (got := r.take(0, "tensor")) is not None:
        g = got[1]
        dims = tuple(() if d == "1" else tuple(d.split("*")) for d in split(g["dims"]))
        rigid = tuple(None if n == "_" else int(n) for n in split(g["rigid"]))
        tensors.append(DTensor(g["name"], g["dtype"], dims, rigid, cast(Kind, g["kind"])))
    kernels: list[CustomKernel | LibraryKernel] = []
    while (got := r.take(0, "kernel", "library")) is not None:
        kernels.append(kernel(r, *got))
    notes: list[str] = []
    while (got := r.take(0, "note")) is not None:
        notes.append(str(r.json(got[1]["json"])))
    if r.at < len(r.lines):
        r.fail(f"unexpected line {r.lines[r.at][2][:80]!r}")
    return MuGraph(name, axes, tuple(tensors), tuple(kernels), tuple(notes))

"""A derivation as JSON (for the cache, an editor's panel, another arena) and as text."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from mirage.derivation.derive import Derivation, Goal, Targets, derive, replay
from mirage.derivation.infix import written
from mirage.derivation.laws import GROUPS
from mirage.derivation.replay import Step, SubtermSteps
from mirage.derivation.schedule_steps import Tiling
from mirage.errors import DerivationBroken
from mirage.ir.index import DimIndex
from mirage.meaning.laws import INSIDE, LAWS
from mirage.meaning.node_rows import node_row
from mirage.meaning.terms import Terms
from mirage.mugraph.check import SM_90, Limits
from mirage.mugraph.grammar import MuGraph

VERSION = 1
DEEPEST = 100


class _Table:
    """The terms of a derivation, each after its parts."""

    def __init__(self, t: Terms) -> None:
        self.t = t
        self.rows: list[list[Any]] = []
        self.place: dict[int, int] = {}

    def of(self, x: int) -> int:
        if x not in self.place:
            kids = [self.of(k) for k in self.t.kids(x)]
            self.place[x] = len(self.rows)
            self.rows.append([*node_row(self.t.node(x)), *kids])
        return self.place[x]


def _build(t: Terms, row: list[Any], ids: list[int]) -> int:
    """The term of a row; `ids` are those of the rows before it."""

    def kids(places: list[int]) -> list[int]:
        if any(not 0 <= k < len(ids) for k in places):
            raise IndexError("a term before its parts")
        return [ids[k] for k in places]

    match row:
        case ["in", name, index]:
            return t.input(str(name), tuple(DimIndex(tuple(map(str, axes)), int(o)) for axes, o in index))
        case ["const", value]:
            return t.const(Fraction(value))
        case ["lit", text]:
            return t.opaque(str(text))
        case ["size", axis]:
            return t.size(str(axis))
        case ["index", axes]:
            return t.index(tuple(map(str, axes)))
        case ["ninf"]:
            return t.neg_inf()
        case ["red", "sum" | "max" as op, axis, body]:
            return (t.sum if op == "sum" else t.max)(str(axis), *kids([body]))
        case ["fn", name, *args]:
            return t.fn(str(name), *kids(args))
        case ["add" | "mul" as op, *parts]:
            return (t.add if op == "add" else t.mul)(*kids(parts))
        case ["inv" | "exp" | "sqrt" as op, arg]:
            return {"inv": t.inv, "exp": t.exp, "sqrt": t.sqrt}[op](*kids([arg]))
    raise ValueError("no row of a term")


def derived(t: Terms, targets: Targets, mugraph: MuGraph, limits: Limits = SM_90) -> dict[str, Any]:
    """The derivation of a µGraph as JSON, replayed before it is given; `limits` are those of its device. Raises DerivationBroken
    where there is none."""
    found = derive(t, targets, mugraph)
    replay(t, targets, found, mugraph, limits)
    return to_json(t, found)


def to_json(t: Terms, d: Derivation) -> dict[str, Any]:
    """Plain data: the terms in a table, the steps by their places in it, and the text of each step."""
    table = _Table(t)
    goals = [
        {
            "kind": g.kind, "name": g.name, "start": table.of(g.start), "end": table.of(g.end),
            "steps": [_step(t, table, s) for s in g.steps], "text": [written(t, g.start), written(t, g.end)],
        }
        for g in d.goals
    ]  # fmt: skip
    laws = [
        {"name": n, "statement": LAWS[n].shown, "condition": LAWS[n].condition, "source": LAWS[n].source}
        for n in d.laws
    ]
    return {
        "version": VERSION, "terms": table.rows, "goals": goals, "kept": list(d.kept),
        "schedule": [s.to_json() for s in d.schedule], "laws": laws,
    }  # fmt: skip


def _step(t: Terms, table: _Table, s: Step) -> dict[str, Any]:
    row: dict[str, Any] = {"law": s.law, "before": table.of(s.before), "after": table.of(s.after)}
    if not s.forward:
        row["forward"] = False
    if s.args:
        row["args"] = [table.of(a) if isinstance(a, int) else a for a in s.args]
    if s.parts:
        row["parts"] = [
            {"before": table.of(p.before), "after": table.of(p.after), "steps": [_step(t, table, x) for x in p.steps]}
            for p in s.parts
        ]
    if s.law != INSIDE:
        row["text"] = [written(t, s.before), written(t, s.after)]
    return row


def from_json(t: Terms, data: Any) -> Derivation:
    """The derivation in the arena `t`. Raises DerivationBroken where the data is none."""
    try:
        if data["version"] != VERSION:
            raise DerivationBroken(f"a derivation of version {data['version']}, this is {VERSION}")
        ids: list[int] = []
        for row in data["terms"]:
            ids.append(_build(t, row, ids))
        goals = tuple(
            Goal(str(g["kind"]), str(g["name"]), ids[g["start"]], ids[g["end"]], _steps(g["steps"], ids, 0))
            for g in data["goals"]
        )
        schedule = tuple(Tiling.from_json(s) for s in data["schedule"])
        return Derivation(goals, tuple(map(str, data["kept"])), schedule)
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError, AttributeError) as e:
        raise DerivationBroken(f"the derivation does not parse: {type(e).__name__}: {e}") from None


def _steps(rows: list[dict[str, Any]], ids: list[int], depth: int) -> tuple[Step, ...]:
    if depth > DEEPEST:
        raise ValueError("steps too deep")
    return tuple(
        Step(
            str(s["law"]), ids[s["before"]], ids[s["after"]], bool(s.get("forward", True)),
            tuple(ids[a] if isinstance(a, int) else str(a) for a in s.get("args", ())),
            tuple(
                SubtermSteps(ids[p["before"]], ids[p["after"]], _steps(p["steps"], ids, depth + 1)) for p in s.get("parts", ())
            ),
        )
        for s in rows
    )  # fmt: skip


def laws(data: dict[str, Any]) -> list[str]:
    """The names of the laws that a derivation (its JSON form) uses."""
    return [law["name"] for law in data["laws"]]


def lines(data: dict[str, Any]) -> Iterator[str]:
    """The derivation (its JSON form) as text: goals, numbered steps with the term before and after, then the schedule."""
    for g in data["goals"]:
        yield f"{g['kind']} {g['name']}"
        yield f"    {g['text'][0]}"
        n = 0
        for s, depth in _leaves(g["steps"], 0):
            if "parts" in s:
                yield f"  {'  ' * depth}{s['law']}:"
                continue
            n += 1
            turned = "" if s.get("forward", True) else ", right to left"
            yield f"  {'  ' * depth}{n}. {s['law']}{turned}"
            yield f"  {'  ' * depth}     {s['text'][0]}"
            yield f"  {'  ' * depth}   = {s['text'][1]}"
        yield f"  = {g['text'][1]}" if n else "  as it is written"
    for s in data["schedule"]:
        yield f"schedule  {s['text']}"
    for law in data["laws"]:
        if law["name"] != INSIDE:
            condition = f", if {law['condition']}" if law["condition"] else ""
            yield f"law       {law['name']}: {law['statement']}{condition} ({law['source']})"


def _leaves(steps: list[dict[str, Any]], depth: int) -> Iterator[tuple[dict[str, Any], int]]:
    for s in steps:
        if s["law"] not in GROUPS:
            yield s, depth
            continue
        if s["law"] != INSIDE:
            yield s, depth
        for p in s["parts"]:
            yield from _leaves(p["steps"], depth + (s["law"] != INSIDE))

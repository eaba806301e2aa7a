"""The words that people read: code lens titles, progress messages, hovers. Pure functions of an entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mirage.errors import MirageError
from mirage_lsp.session import Entry

_STATES = {
    "idle": "ready to optimize",
    "away": "the daemon is away",
    "untrusted": "nothing known yet, and the workspace is not trusted: nothing runs",
    "cancelled": "stopped",
}
# Counts in the order in which they are shown: (key, one, many).
_COUNTS = (
    ("values", "value", "values"),
    ("mugraphs", "µGraph", "µGraphs"),
    ("checked", "checked", "checked"),
)
_FACTS = "| kernel | grid | loops | shared memory | registers | spills |\n|---|---|---|---|---|---|"


def progress(entry: Entry) -> str:
    """`searching · 9 values, 14 µGraphs`, `verifying`, `tuning 34/120`, ..."""
    counts = entry.counts
    word = _STATES.get(entry.state, entry.state)
    if "tuned" in counts and "candidates" in counts and entry.state == "tuning":
        return f"{word} {counts['tuned']}/{counts['candidates']}"
    shown = [f"{counts[k]} {one if counts[k] == 1 else many}" for k, one, many in _COUNTS if k in counts]
    return " · ".join(filter(None, [word, ", ".join(shown), f"best {entry.best}" if entry.best else ""]))


def lens(entry: Entry) -> str:
    """The title of a function's code lens."""
    if entry.error is not None and not entry.running:
        return f"Mirage: {entry.error.code} {entry.error.message}"
    if entry.result is not None and (entry.state in ("done", "kept") or not entry.running):
        return f"Mirage: {headline(entry.result)}{_age(entry)}"
    if entry.result is not None:
        return f"Mirage: {progress(entry)} · before: {headline(entry.result)}"
    return f"Mirage: {progress(entry)}"


def headline(result: Mapping[str, Any]) -> str:
    """`1.8x (estimated for sm_90) · PROVED (all sizes)`, or `keep yours · <reason>`."""
    if result.get("answer") != "kernel":
        return f"keep yours · {_sentence(result.get('reason'))}"
    return " · ".join(filter(None, [ratio(result), _verdict(result)]))


def ratio(result: Mapping[str, Any]) -> str:
    """How many times faster, and whether that was measured."""
    estimate = result.get("estimate")
    if not estimate or not estimate.get("us"):
        return ""
    how = f"on {estimate['device']}" if estimate.get("measured") else f"(estimated for {_target(result)})"
    return f"{estimate['baseline_us'] / estimate['us']:.1f}x {how}"


def hover(entry: Entry) -> str:
    """Everything about a function, as Markdown."""
    head = f"**Mirage** `{entry.name}`"
    if entry.error is not None:
        return f"{head}\n\n{entry.error.code}: {entry.error.message}\n\nNext step: {entry.error.next_step}"
    if entry.result is None:
        return f"{head}: {progress(entry)}"
    result = entry.result
    pieces = [f"{head}: {headline(result)}{_age(entry)}"]
    if entry.running:
        pieces.append(f"Now: {progress(entry)}")
    pieces += [
        _times(result),
        _links(result),
        _safety(result),
        _kernels(result),
        _search(result),
        _notes(result),
        _mugraphs(result),
    ]
    return "\n\n".join(filter(None, pieces))


def mugraph_text(result: Mapping[str, Any]) -> str:
    """The chosen µGraphs as text."""
    from mirage.mugraph import jsonform, text  # only here: nothing else of the server needs the grammar

    try:
        return "\n\n".join(text.to_text(jsonform.from_json(graph)).strip() for graph in result.get("mugraphs") or ())
    except MirageError as error:
        return str(error)


def _age(entry: Entry) -> str:
    return " · stale: the text has changed since" if entry.stale else ""


def _sentence(reason: Any) -> str:
    return str(reason or "nothing better was found").rstrip(".")


def _verdict(result: Mapping[str, Any]) -> str:
    verdict = result.get("verdict") or {}
    return str(verdict.get("headline") or verdict.get("word") or "")


def _target(result: Mapping[str, Any]) -> str:
    """The architecture for which the kernels were compiled."""
    kernels = result.get("kernels") or ()
    named = next((k["target"] for k in kernels if k.get("target")), "")
    return str(named or (result.get("estimate") or {}).get("device") or "the target")


def _us(value: float) -> str:
    return f"{value:.1f} µs" if value >= 10 else f"{value:.2f} µs"


def _table(rows: Sequence[tuple[str, ...]], head: str) -> str:
    return "\n".join([head, *("| " + " | ".join(row) + " |" for row in rows)]) if rows else ""


def _times(result: Mapping[str, Any]) -> str:
    e = result.get("estimate")
    if not e or not e.get("us"):
        return ""
    how = f"measured on {e['device']}" if e.get("measured") else f"estimated for {_target(result)}, not measured"
    share = e["speed_of_light_us"] / e["us"]
    rows = [
        ("yours", _us(e["baseline_us"]), "1.0x"),
        ("kernel", _us(e["us"]), f"{e['baseline_us'] / e['us']:.1f}x"),
        ("speed of light", _us(e["speed_of_light_us"]), f"{share:.0%} of it reached"),
    ]
    return _table(rows, f"| {how} | time | |\n|---|---|---|")


def _links(result: Mapping[str, Any]) -> str:
    links = (result.get("verdict") or {}).get("links") or {}
    rows = [(name, str(link.get("word")), _bound(link.get("bound"), link.get("word"))) for name, link in links.items()]
    return _table(rows, "| link | verdict | chance that a wrong kernel passes |\n|---|---|---|")


def _safety(result: Mapping[str, Any]) -> str:
    """Up to which inputs nothing overflows, and what is known of its memory accesses."""
    opinions = (result.get("verdict") or {}).get("opinions") or {}
    found = [((opinions.get(o) or {}).get("text") or {}).get("summary") for o in ("range", "memory")]
    return "\n".join(f"- {name}: {said}" for name, said in zip(("range", "memory"), found) if said)


def _bound(bound: Any, word: Any) -> str:
    if word == "PROVED":
        return "none"
    return "not bounded" if bound is None else f"at most {bound:.1e}"


def _kernels(result: Mapping[str, Any]) -> str:
    rows = []
    for k in result.get("kernels") or ():
        grid = " × ".join(map(str, k.get("grid") or ())) or "?"
        loops = ", ".join(_loop(loop) for loop in k.get("loops") or ()) or "none"
        facts = (_count(k.get("shared_bytes"), " B"), _count(k.get("registers")), _count(k.get("spill_bytes"), " B"))
        rows.append((f"`{k.get('name')}`", grid, loops, *facts))
    return _table(rows, _FACTS)


def _loop(loop: Mapping[str, Any]) -> str:
    return " ".join(f"{key} {value}" for key, value in loop.items() if isinstance(value, (str, int)))


def _count(value: Any, unit: str = "") -> str:
    return "not compiled" if value is None else f"{value}{unit}"


def _search(result: Mapping[str, Any]) -> str:
    s = result.get("search") or {}
    have = [f"{s[key]} {word}" for key, word in (("values", "values"), ("mugraphs", "µGraphs")) if key in s]
    seconds = f" in {s['seconds']:.1f} s" if isinstance(s.get("seconds"), (int, float)) else ""
    return f"Searched: {', '.join(have)}{seconds}" if have else ""


def _notes(result: Mapping[str, Any]) -> str:
    return "\n".join(f"- {note}" for note in result.get("notes") or ())


def _mugraphs(result: Mapping[str, Any]) -> str:
    if not result.get("mugraphs"):
        return ""
    shown = mugraph_text(result)
    return f"```text\n{shown}\n```" if shown else ""

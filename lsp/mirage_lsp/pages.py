"""The pages that people read: hovers, µGraphs and proofs as text. Pure functions of an entry or a result."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from mirage.errors import MirageError
from mirage.source import detect
from mirage_lsp import observed_shapes
from mirage_lsp.document import Entry, View
from mirage_lsp.one_line_texts import age, headline, progress, target

_FACTS = "| kernel | grid | loops | shared memory | registers | spills |\n|---|---|---|---|---|---|"


def hover(entry: Entry, links: str = "") -> str:
    """Everything about a function, as Markdown; `links` stand at its end."""
    head = f"**Mirage** `{entry.name}`"
    if entry.error is not None:
        called = f"\n\nIt was called with {observed_shapes.shown(entry.seen)}" if entry.seen else ""
        return f"{head}\n\n{entry.error.code}: {entry.error.message}\n\nNext step: {entry.error.next_step}{called}"
    if entry.result is None:
        return f"{head}: {progress(entry)}"
    result = entry.result
    pieces = [f"{head}: {headline(result)}{age(entry)}"]
    if entry.learned:
        pieces.append(f"For {observed_shapes.shown(entry.learned)}, what it was called with last")
    if entry.running:
        pieces.append(f"Now: {progress(entry)}")
    pieces += [
        _times(result),
        _links(result),
        _safety(result),
        _kernels(result),
        _why(result),
        _search(result),
        _notes(result),
        _mugraphs(result),
        links,
    ]
    return "\n\n".join(filter(None, pieces))


def links(view: View, function: detect.Decorated, commands: bool) -> str:
    """Where to look further; `commands`: the client runs a command that a link names."""
    entry, found = view.document.entry(function), []
    shown = (("mugraphs", "µGraph", "mirage.showMugraph"), ("derivation", "proof", "mirage.showProof"))
    for key, word, command in shown:
        if entry.result is None or not entry.result.get(key):
            continue
        arguments = quote(json.dumps([view.uri, function.name]))
        found.append(f"[{word}](command:{command}?{arguments})" if commands else f"{word}: `{command}`")
    line = view.place(function.line - 1).line + 1
    found.append(f"[source]({view.uri}#L{line})")
    return " · ".join(found)


def proof_text(name: str, result: Mapping[str, Any]) -> str:
    """The verdict of a kernel, link by link, and the derivation of its µGraph step by step, as Markdown."""
    verdict = result.get("verdict") or {}
    pieces = [f"# `{name}`: {verdict.get('headline') or verdict.get('word') or 'no verdict'}", _links(result)]
    pieces.append(_safety(result))
    trusted = verdict.get("trusted")
    if trusted:
        pieces.append("Trusted, not proved: " + ", ".join(map(str, trusted)))
    steps = "\n".join(_derivation(result))
    pieces.append(f"```text\n{steps}\n```" if steps else "There is no derivation of its µGraph.")
    return "\n\n".join(filter(None, pieces))


def _derivation(result: Mapping[str, Any]) -> Iterator[str]:
    from mirage.derivation import json_form

    derivation = result.get("derivation")
    if derivation:
        try:
            yield from json_form.lines(dict(derivation))
        except (KeyError, TypeError, IndexError) as error:
            yield f"the derivation cannot be shown: it lacks {error}"


def mugraph_text(result: Mapping[str, Any]) -> str:
    """The chosen µGraphs as text."""
    from mirage.mugraph import json_form, text

    try:
        return "\n\n".join(text.to_text(json_form.from_json(graph)).strip() for graph in result.get("mugraphs") or ())
    except MirageError as error:
        return str(error)


def _us(value: float) -> str:
    return f"{value:.1f} µs" if value >= 10 else f"{value:.2f} µs"


def _table(rows: Sequence[tuple[str, ...]], head: str) -> str:
    return "\n".join([head, *("| " + " | ".join(row) + " |" for row in rows)]) if rows else ""


def _times(result: Mapping[str, Any]) -> str:
    e = result.get("estimate")
    if not e or not e.get("us"):
        return ""
    how = f"measured on {e['device']}" if e.get("measured") else f"estimated for {target(result)}, not measured"
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
    evidence = (result.get("verdict") or {}).get("evidence") or ()
    found = {e["opinion"]: e["summary"] for e in evidence if e["link"] == "text"}
    return "\n".join(f"- {name}: {found[name]}" for name in ("range", "memory") if name in found)


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


def _why(result: Mapping[str, Any]) -> str:
    """Why not more, or why not another."""
    said = [f"- {remark.get('text')}" for remark in result.get("remarks") or ()]
    return "\n".join(["Why not more:", "", *said]) if said else ""


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

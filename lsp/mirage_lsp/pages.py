"""The pages that people read: hovers, µGraphs and proofs as text. Pure functions of an entry or a result."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from mirage.errors import MirageError
from mirage.results.baselines import BASELINES
from mirage.results.result import Result
from mirage.results.verdict import TRUSTED, Link
from mirage.verify.report import shown
from mirage_lsp import observed_shapes
from mirage_lsp.document import FunctionEntry, View
from mirage_lsp.one_line_texts import age, headline, instead, progress, target
from mirage_lsp.reading import ReadFunction

_FACTS = "| kernel | grid | loops | shared memory | registers | spills |\n|---|---|---|---|---|---|"


def hover(entry: FunctionEntry, links: str = "") -> str:
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
        _counterexamples(result),
        _safety(result),
        _kernels(result),
        _why(result),
        _search(result),
        _notes(result),
        _mugraphs(result),
        links,
    ]
    return "\n\n".join(filter(None, pieces))


def links(view: View, function: ReadFunction, commands: bool) -> str:
    """Where to look further; `commands`: the client runs a command that a link names."""
    entry, found = view.document.entry(function), []
    have = () if entry.result is None else (entry.result.mugraphs, entry.result.derivation)
    shown = (("µGraph", "mirage.showMugraph"), ("proof", "mirage.showProof"))
    for there, (word, command) in zip(have, shown, strict=False):
        if not there:
            continue
        arguments = quote(json.dumps([view.uri, function.name]))
        found.append(f"[{word}](command:{command}?{arguments})" if commands else f"{word}: `{command}`")
    line = view.place(function.line - 1).line + 1
    found.append(f"[source]({view.uri}#L{line})")
    return " · ".join(found)


def proof_text(name: str, result: Result) -> str:
    """The verdict of a kernel, link by link, and the derivation of its µGraph step by step, as Markdown."""
    verdict = result.verdict
    pieces = [f"# `{name}`: {'no verdict' if verdict is None else verdict.headline}", _links(result)]
    pieces += [_counterexamples(result), _safety(result)]
    if verdict is not None:
        pieces.append("Trusted, not proved: " + ", ".join(TRUSTED))
    steps = "\n".join(_derivation(result))
    pieces.append(f"```text\n{steps}\n```" if steps else "There is no derivation of its µGraph.")
    return "\n\n".join(filter(None, pieces))


def _derivation(result: Result) -> Iterator[str]:
    from mirage.derivation import json_form

    if result.derivation:
        try:
            yield from json_form.lines(result.derivation)
        except (KeyError, TypeError, IndexError) as error:
            yield f"the derivation cannot be shown: it lacks {error}"


def mugraph_text(result: Result) -> str:
    """The chosen µGraphs as text."""
    from mirage.mugraph import json_form, text

    try:
        return "\n\n".join(text.to_text(json_form.from_json(graph)).strip() for graph in result.mugraphs)
    except MirageError as error:
        return str(error)


def _us(value: float) -> str:
    return f"{value:.1f} µs" if value >= 10 else f"{value:.2f} µs"


def _table(rows: Sequence[tuple[str, ...]], head: str) -> str:
    return "\n".join([head, *("| " + " | ".join(row) + " |" for row in rows)]) if rows else ""


def _times(result: Result) -> str:
    e = result.estimate
    if e is None or not e.us:
        return ""
    how = f"measured on {e.device}" if e.measured else f"estimated for {target(result)}, not measured"
    share = e.speed_of_light_us / e.us
    has_other = result.answer != "keep"  # else nothing runs beside the function itself, whatever was tried
    rows = [
        ("yours", _us(e.baseline_us), "1.0x"),
        *([(instead(result).removeprefix("the "), _us(e.us), f"{e.baseline_us / e.us:.1f}x")] if has_other else []),
        ("speed of light", _us(e.speed_of_light_us), f"{share:.0%} of it reached"),
    ]
    return "\n\n".join(filter(None, [_table(rows, f"| {how} | time | |\n|---|---|---|"), _elsewhere(result)]))


def _elsewhere(result: Result) -> str:
    found = result.elsewhere
    if found is None:
        return ""
    other = BASELINES[found.against].words if found.against in BASELINES else "the best baseline"
    times = f"{_us(found.us)} on {_plain(found.device)}, {_us(found.baseline_us)} by {other}"
    return f"Measured elsewhere: {times}. That is the word of {_plain(found.by)}; this machine verified the kernel and measured nothing."


def _links(result: Result) -> str:
    links = () if result.verdict is None else result.verdict.links
    rows = [(link.name, link.word, _bound(link)) for link in links]
    return _table(rows, "| link | verdict | chance that a wrong kernel passes |\n|---|---|---|")


def _counterexamples(result: Result) -> str:
    """Each opinion that refuses the kernel, with what it shows."""
    out = []
    for e in () if result.verdict is None else result.verdict.rejections:
        out.append(f"- {e.link}, {e.opinion}: {_plain(e.summary)}")
        out += [f"  - {_plain(x)}" for x in (shown(e.counterexample) if e.counterexample is not None else ())]
    return "\n".join(["Refused:", "", *out]) if out else ""


def _plain(text: str) -> str:
    """In one line, with nothing that Markdown or a table reads as its own."""
    return " ".join(text.split()).translate({ord(c): f"\\{c}" for c in "\\`*_[]<>|"})


def _safety(result: Result) -> str:
    """Up to which inputs nothing overflows, how large its error can be, and what is known of its memory accesses."""
    evidence = () if result.verdict is None else result.verdict.evidence
    found = {e.opinion: e.summary for e in evidence if e.link == "text"}
    return "\n".join(f"- {name}: {found[name]}" for name in ("range", "rounding", "memory") if name in found)


def _bound(link: Link) -> str:
    if link.word == "PROVED":
        return "none"
    return "not bounded" if link.bound is None else f"at most {link.bound:.1e}"


def _kernels(result: Result) -> str:
    rows = []
    for k in () if result.answer == "keep" else result.kernels:
        grid = " × ".join(map(str, k.grid)) or "?"
        loops = ", ".join(f"dim {loop.dim} range {loop.range} tile {loop.tile}" for loop in k.loops) or "none"
        facts = (_count(k.shared_bytes, " B"), _count(k.registers), _count(k.spill_bytes, " B"))
        rows.append((f"`{k.name}`", grid, loops, *facts))
    return _table(rows, _FACTS)


def _count(value: int | None, unit: str = "") -> str:
    return "not compiled" if value is None else f"{value}{unit}"


def _why(result: Result) -> str:
    """Why not more, or why not another."""
    said = [f"- {remark.text}" for remark in result.remarks]
    return "\n".join(["Why not more:", "", *said]) if said else ""


def _search(result: Result) -> str:
    s = result.search
    return f"Searched: {s.values} values, {s.mugraphs} µGraphs in {s.seconds:.1f} s" if s.values or s.mugraphs else ""


def _notes(result: Result) -> str:
    return "\n".join(f"- {note}" for note in result.notes)


def _mugraphs(result: Result) -> str:
    if not result.mugraphs:
        return ""
    shown = mugraph_text(result)
    return f"```text\n{shown}\n```" if shown else ""

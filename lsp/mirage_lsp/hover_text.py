"""What a hover says of a function, and its µGraph and its proof as texts. Pure functions of an entry or a result."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from mirage.errors import MirageError
from mirage.results.result import KernelFacts, Result
from mirage.results.verdict import TRUSTED, Link
from mirage.verify.report import shown
from mirage_lsp import observed_shapes
from mirage_lsp.document import FunctionEntry, View
from mirage_lsp.one_line_texts import age, headline, instead, overflows, progress, target
from mirage_lsp.reading import ReadFunction

_FACTS = "| kernel | grid | loops | shared memory | registers | spills |\n|---|---|---|---|---|---|"


def hover(entry: FunctionEntry, links: str = "") -> str:
    """What one asks first of a function, as Markdown of six lines, the reason first; `links` stand at its end, and lead to the rest."""
    head = f"**Mirage** `{entry.name}`"
    if entry.error is not None:
        called = f"\n\nIt was called with {observed_shapes.shown(entry.seen)}" if entry.seen else ""
        return f"{head}\n\n{entry.error.code}: {entry.error.message}\n\nNext step: {entry.error.next_step}{called}"
    if entry.result is None:
        return f"{head}: {progress(entry)}"
    result = entry.result
    now = f" · now: {progress(entry)}" if entry.running else ""
    said = [
        f"{head}: {headline(result)}{age(entry)}{now}",
        _reason(
            result, f"for {observed_shapes.shown(entry.learned)}, what it was called with last" if entry.learned else ""
        ),
        _time(result),
        _verdict(result),
        _careful(result),
        " · ".join(filter(None, [*(f"`{k.name}`" for k in _kernels_of(result)), links])),
    ]
    return "\n\n".join(filter(None, said))


def _kernels_of(result: Result) -> Sequence[KernelFacts]:
    """The kernels that run: none where the answer is the function itself, whatever was tried."""
    return () if result.answer == "keep" else result.kernels


def _reason(result: Result, learned: str) -> str:
    """What explains the answer best, in one line."""
    why = [r.text for r in result.remarks[:1]] or [n for n in result.notes[:1]]
    return "; ".join(filter(None, [*why, learned]))


def _time(result: Result) -> str:
    """The times beside each other, in one line."""
    e = result.estimate
    if e is None or not e.us:
        return ""
    how = f"measured on {e.device}" if e.measured else f"estimated for {target(result)}, not measured"
    new = "" if result.answer == "keep" else f"{instead(result).removeprefix('the ')} {_us(e.us)}, "
    return f"Time: yours {_us(e.baseline_us)}, {new}speed of light {_us(e.speed_of_light_us)} ({how})"


def _verdict(result: Result) -> str:
    """The links of the verdict, in one line."""
    links = () if result.verdict is None else result.verdict.links
    said = (f"{x.name} {x.word}{'' if x.word == 'PROVED' else f' ({_bound(x)})'}" for x in links)
    return f"Verdict: {', '.join(said)}" if links else ""


def _careful(result: Result) -> str:
    """What refuses the kernel, or else what can overflow or err how far."""
    refused = [] if result.verdict is None else result.verdict.rejections
    if refused:
        return f"Refused by {refused[0].opinion} ({refused[0].link}): {_plain(refused[0].summary)}"
    said = _safety(result).partition("\n")[0].removeprefix("- ")
    return f"⚠ {said}" if result.verdict is not None and overflows(result.verdict) else said


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
    pieces += [_counterexamples(result), _safety(result), _times(result), _kernels(result), _why(result)]
    pieces += [_search(result), _notes(result)]
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
    return _table(rows, f"| {how} | time | |\n|---|---|---|")


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
    for k in _kernels_of(result):
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

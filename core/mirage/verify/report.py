"""A verdict for people: lines for a terminal, and one HTML file that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from html import escape

from mirage.ir.program import ASSUMED
from mirage.results.details import Details, FloatDetails, RegimeBound, RegimeError, RoundingDetails
from mirage.results.verdict import INTERPRETER, PROCESSOR, STRENGTH, TRUSTED, Counterexample, Evidence, Verdict

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --good: #1a7f37; --bad: #cf222e; --part: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --good: #3fb950; --bad: #ff7b72; --part: #d29922; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } td, th { border-bottom: 1px solid var(--line); padding: .3rem .6rem;
text-align: left; vertical-align: top; } td.n { text-align: right; font-variant-numeric: tabular-nums; }
.PROVED { color: var(--good); font-weight: 600; } .TESTED { color: var(--part); font-weight: 600; }
.UNDECIDED { color: var(--part); font-weight: 600; } .REJECTED { color: var(--bad); font-weight: 600; }
pre { background: var(--soft); padding: .8rem; overflow-x: auto; font-size: 13px; } .scroll { overflow-x: auto; }
"""
CLAIMS = {
    "algebra": "the function = the µGraph with its sizes erased",
    "schedule": "that meaning = the µGraph with its grid, loops, masks, splits and tails",
    "text": "the µGraph = the emitted module",
}


def bound(value: float | None) -> str:
    return "none" if value is None else "0" if value == 0 else f"{value:.1e}"


def about(e: Evidence, outputs: int) -> str:
    """Of which output an opinion speaks, where there are several and it speaks of one."""
    return "" if outputs == 1 or e.output is None else f"output {e.output}: "


def lines(verdict: Verdict, left: str, right: str) -> list[str]:
    """For a terminal."""
    out = [f"{left} and {right}: {verdict.headline}"]
    for link in verdict.links:
        out.append(f"  {link.name}: {link.word}" + (f", bound {bound(link.bound)}" if link.bound else ""))
        for e in link.evidence:
            at = "" if e.where in (PROCESSOR, INTERPRETER) else f" [{e.where}]"
            out.append(f"    {e.opinion:6} {e.word:8} {about(e, verdict.outputs)}{e.summary}{at}")
            if e.counterexample is not None:
                out += [f"           {x}" for x in shown(e.counterexample)]
    return [*out, *(f"  {x}" for x in verdict.notes if x.startswith(ASSUMED))]


def shown(c: Counterexample) -> list[str]:
    """A counterexample in words."""
    out = []
    if c.expected:
        at = f" at {c.index}" if c.index else ""
        out.append(f"output {c.output}{at}: {c.expected} and {c.actual} (sizes {c.sizes}, seed {c.seed})")
    f = c.concrete
    if f is None:
        return out
    if f.note:
        return [*out, f.note]
    given = "written out in the script" if f.values else f"inputs {f.kind!r}, seed {f.seed}"
    shapes = ", ".join(f"{i.name} {i.dtype}{list(i.shape)}" for i in f.inputs)
    said = f"raises {f.error}" if f.error else f"{f.expected} and {f.actual}"
    return [*out, f"in floats: output {f.output} at {f.index}: {said} ({given}; {shapes})"]


def html(verdict: Verdict, left: str, right: str) -> str:
    """One file: no scripts, no fonts, nothing from elsewhere; light and dark."""
    links = [(x.name, CLAIMS[x.name], x.word, bound(x.bound)) for x in verdict.links]
    opinions = [
        (
            e.link, e.opinion, e.word, bound(e.bound), f"{about(e, verdict.outputs)}{e.summary}", e.where,
            f"{e.seconds:.2f}",
        )
        for link in verdict.links for e in link.evidence
    ]  # fmt: skip
    parts = [
        f"<h1>{escape(left)} and {escape(right)}</h1>",
        f'<p><span class="{verdict.word}">{escape(verdict.headline)}</span>. A wrong candidate passes with a chance of at '
        f"most: {escape(bound(verdict.bound))}. Scope: {escape(verdict.scope)}.</p>",
        "<h2>Links</h2>",
        _table(("link", "claim", "verdict", "bound"), links),
        "<h2>Opinions</h2>",
        _table(("link", "opinion", "verdict", "bound", "what it says", "where it ran", "seconds"), opinions),
    ]
    for link in verdict.links:
        for e in link.evidence:
            parts += _details(e)
    parts.append("<h2>Trusted, not shown</h2><ul>" + "".join(f"<li>{escape(x)}</li>" for x in TRUSTED) + "</ul>")
    if verdict.notes:
        parts.append("<h2>Notes</h2><ul>" + "".join(f"<li>{escape(x)}</li>" for x in verdict.notes) + "</ul>")
    head = f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(verdict.headline)}: '
    head += f'{escape(left)}</title><meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n'
    return head + "<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"


def _details(e: Evidence) -> list[str]:
    out: list[str] = []
    if e.counterexample is not None:
        out.append(f"<h2>Counterexample ({escape(e.link)}, {escape(e.opinion)})</h2>")
        out.append("<ul>" + "".join(f"<li>{escape(x)}</li>" for x in shown(e.counterexample)) + "</ul>")
        concrete = e.counterexample.concrete
        if concrete is not None and concrete.script:
            out.append("<p>A script that shows it:</p><pre>" + escape(concrete.script) + "</pre>")
    told = e.details
    if isinstance(told, FloatDetails) and told.regimes:
        out.append(f"<h2>Regimes of inputs ({escape(e.link)})</h2>")
        head = ("regime", "output", "dtype", "error of the kernel", "of eager", "allowed", "reference")
        out.append(_table(head, [_regime(r) for r in told.regimes]))
    if isinstance(told, RoundingDetails) and told.regimes:
        out.append(
            f"<h2>Rounding ({escape(e.link)})</h2><p>Parts of the output's largest value, for these very inputs.</p>"
        )
        head = ("regime", "output", "inputs up to", "bound", "as written", "measured", "largest part of its own bound")
        out.append(_table(head, [_rounding(r) for r in told.regimes]))
    if e.opinion == "range":
        out.append("<h2>Range</h2><p>" + escape(e.summary) + "</p>")
    figures = [] if told is None else _figures(told)
    if figures:
        out.append(
            f"<details><summary>{escape(e.link)}, {escape(e.opinion)}: figures</summary>"
            f"{_table(('figure', 'value'), figures)}</details>"
        )
    return out


def _regime(r: RegimeError) -> tuple[object, ...]:
    eager = f"{r.eager:.2g}" if r.reference == "eager" else "-"
    return r.regime, r.output, r.dtype, f"{r.error:.2g}", eager, f"{r.allowed:.2g}", r.reference


def _rounding(r: RegimeBound) -> tuple[object, ...]:
    bound, written = ("not known" if x is None else f"{x:.2g}" for x in (r.bound, r.written))
    return r.regime, r.output, f"{r.inputs:.2g}", bound, written, f"{r.measured:.2g}", f"{r.reached:.2f}"


def _figures(told: Details) -> list[tuple[object, ...]]:
    """The figures of an opinion, without the table of regimes."""
    found = {f.name: getattr(told, f.name) for f in fields(told) if f.name != "regimes"}
    return [(name, value) for name, value in found.items() if value not in (None, "", (), {})]


def _table(head: tuple[str, ...], body: Sequence[tuple[object, ...]]) -> str:
    cells = "".join(f"<th>{escape(x)}</th>" for x in head)
    return (
        f'<div class="scroll"><table><tr>{cells}</tr>'
        + "".join("<tr>" + "".join(_cell(x) for x in row) + "</tr>" for row in body)
        + "</table></div>"
    )


def _cell(value: object) -> str:
    text = str(value)
    if text in STRENGTH:
        return f'<td class="{text}">{text}</td>'
    number = text.replace(".", "", 1).replace("e-", "", 1).replace("e+", "", 1).isdigit()
    return f'<td class="n">{text}</td>' if number else f"<td>{escape(text)}</td>"

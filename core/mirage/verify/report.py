"""A verdict for people: lines for a terminal, and one HTML file that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --good: #1a7f37; --bad: #cf222e; --part: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --good: #3fb950; --bad: #ff7b72; --part: #d29922; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } td, th { border-bottom: 1px solid var(--line); padding: .3rem .6rem;
text-align: left; vertical-align: top; } td.n { text-align: right; font-variant-numeric: tabular-nums; }
.PROVED { color: var(--good); font-weight: 600; } .TESTED { color: var(--part); font-weight: 600; }
.REJECTED { color: var(--bad); font-weight: 600; }
pre { background: var(--soft); padding: .8rem; overflow-x: auto; font-size: 13px; } .scroll { overflow-x: auto; }
"""
CLAIMS = {
    "algebra": "the function = the µGraph with its sizes erased",
    "schedule": "that meaning = the µGraph with its grid, loops, masks, splits and tails",
    "text": "the µGraph = the emitted module",
}
Row = tuple[str, str, dict[str, Any]]


def rows(verdict: Mapping[str, Any]) -> Iterator[Row]:
    """(link, opinion, what it says) in the order of the links. `verdict` is `Verdict.to_dict()`."""
    for link in verdict["links"]:
        for opinion, by_link in verdict["opinions"].items():
            if link in by_link:
                yield link, opinion, by_link[link]


def bound(value: float | None) -> str:
    return "none" if value is None else "0" if value == 0 else f"{value:.1e}"


def lines(verdict: Mapping[str, Any], left: str, right: str) -> list[str]:
    """For a terminal."""
    out = [f"{left} and {right}: {verdict['headline']}"]
    last = ""
    for link, opinion, e in rows(verdict):
        if link != last:
            found = verdict["links"][link]
            limit = "" if found["bound"] in (None, 0) else f", bound {bound(found['bound'])}"
            out.append(f"  {link}: {found['word']}{limit}")
        last = link
        out.append(f"    {opinion:6} {e['word']:8} {e['summary']}")
        if e["counterexample"] is not None:
            out += [f"           {x}" for x in shown(e["counterexample"])]
    return out


def shown(c: Mapping[str, Any]) -> list[str]:
    """A counterexample in words."""
    out = []
    if c["expected"]:
        at = f" at {tuple(c['index'])}" if c["index"] else ""
        out.append(
            f"output {c['output']}{at}: {c['expected']} and {c['actual']} (sizes {c['sizes']}, seed {c['seed']})"
        )
    f = c.get("concrete")
    if f is None:
        return out
    if f["note"]:
        return [*out, f["note"]]
    given = "written out in the script" if f["values"] else f"inputs {f['kind']!r}, seed {f['seed']}"
    shapes = ", ".join(f"{i['name']} {i['dtype']}{list(i['shape'])}" for i in f["inputs"])
    said = f"raises {f['error']}" if f["error"] else f"{f['expected']} and {f['actual']}"
    return [*out, f"in floats: output {f['output']} at {tuple(f['index'])}: {said} ({given}; {shapes})"]


def html(verdict: Mapping[str, Any], left: str, right: str) -> str:
    """One file: no scripts, no fonts, nothing from elsewhere; light and dark."""
    word = verdict["word"]
    parts = [
        f"<h1>{escape(left)} and {escape(right)}</h1>",
        f'<p><span class="{escape(word)}">{escape(verdict["headline"])}</span>. A wrong candidate passes with a chance of at '
        f"most: {escape(bound(verdict['bound']))}. Scope: {escape(verdict['scope'])}.</p>",
        "<h2>Links</h2>",
        _table(
            ("link", "claim", "verdict", "bound"),
            [(n, CLAIMS.get(n, ""), x["word"], bound(x["bound"])) for n, x in verdict["links"].items()],
        ),
        "<h2>Opinions</h2>",
        _table(
            ("link", "opinion", "verdict", "bound", "what it says", "seconds"),
            [
                (link, o, e["word"], bound(e["bound"]), e["summary"], f"{e['seconds']:.2f}")
                for link, o, e in rows(verdict)
            ],
        ),
    ]
    for link, opinion, e in rows(verdict):
        parts += _details(link, opinion, e)
    parts.append(
        "<h2>Trusted, not shown</h2><ul>" + "".join(f"<li>{escape(x)}</li>" for x in verdict["trusted"]) + "</ul>"
    )
    if verdict["notes"]:
        parts.append("<h2>Notes</h2><ul>" + "".join(f"<li>{escape(x)}</li>" for x in verdict["notes"]) + "</ul>")
    head = f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(verdict["headline"])}: '
    head += f'{escape(left)}</title><meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n'
    return head + "<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"


def _details(link: str, opinion: str, e: Mapping[str, Any]) -> list[str]:
    out: list[str] = []
    details, c = e["details"], e["counterexample"]
    if c is not None:
        out.append(f"<h2>Counterexample ({escape(link)}, {escape(opinion)})</h2>")
        out.append("<ul>" + "".join(f"<li>{escape(x)}</li>" for x in shown(c)) + "</ul>")
        if c.get("concrete") and c["concrete"]["script"]:
            out.append("<p>A script that shows it:</p><pre>" + escape(c["concrete"]["script"]) + "</pre>")
    if opinion == "float" and details.get("regimes"):
        out.append(f"<h2>Regimes of inputs ({escape(link)})</h2>")
        head = ("regime", "output", "dtype", "error of the kernel", "of eager", "allowed", "reference")
        found = [
            (
                r["regime"], r["output"], r["dtype"], f"{r['error']:.2g}",
                f"{r['eager']:.2g}" if r["reference"] == "eager" else "-", f"{r['allowed']:.2g}", r["reference"],
            )
            for r in details["regimes"]
        ]  # fmt: skip
        out.append(_table(head, found))
    if opinion == "range":
        out.append("<h2>Range</h2><p>" + escape(e["summary"]) + "</p>")
    rest = {k: v for k, v in details.items() if k != "regimes"}
    if rest:
        body = [(k, v) for k, v in rest.items()]
        out.append(
            f"<details><summary>{escape(link)}, {escape(opinion)}: figures</summary>{_table(('figure', 'value'), body)}</details>"
        )
    return out


def _table(head: tuple[str, ...], body: list[Any]) -> str:
    cells = "".join(f"<th>{escape(x)}</th>" for x in head)
    return (
        f'<div class="scroll"><table><tr>{cells}</tr>'
        + "".join("<tr>" + "".join(_cell(x) for x in row) + "</tr>" for row in body)
        + "</table></div>"
    )


def _cell(value: Any) -> str:
    text = str(value)
    if text in ("PROVED", "TESTED", "REJECTED"):
        return f'<td class="{text}">{text}</td>'
    number = text.replace(".", "", 1).replace("e-", "", 1).replace("e+", "", 1).isdigit()
    return f'<td class="n">{text}</td>' if number else f"<td>{escape(text)}</td>"

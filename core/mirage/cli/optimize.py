"""`mirage optimize FILE[::FUNCTION]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from mirage.cli import place
from mirage.errors import CannotWrite
from mirage.result import CancelToken, Progress


class Line:
    """One status line on a terminal, rewritten; silent elsewhere."""

    def __init__(self, name: str) -> None:
        self.name, self.on = name, sys.stderr.isatty()

    def __call__(self, p: Progress) -> None:
        if self.on:
            counts = " · ".join(f"{v} {k}" for k, v in p.counts.items() if v)
            text = f"{self.name}: {p.state}{' · ' + counts if counts else ''}{' · best ' + p.best if p.best else ''}"
            click.echo(f"\r\033[K{text[:110]}", nl=False, err=True)

    def clear(self) -> None:
        if self.on:
            click.echo("\r\033[K", nl=False, err=True)


def us(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} µs"


def table(result: dict[str, Any]) -> str:
    """The result for people."""
    v, s, e = result["verdict"], result["search"], result["estimate"]
    lines = [f"{result['function']}: {result['reason']}"]
    lines.append(f"  search   {s['values']} values, {s['mugraphs']} µGraphs, {s['seconds']:.2f} s"
                 + ("" if s["exhaustive"] else f" (bounded: {'; '.join(s['limits'])})"))  # fmt: skip
    if v:
        lines.append(f"  verdict  {v['headline']}")
        for name, link in v["links"].items():
            bound = f", bound {link['bound']:.1e}" if link["bound"] else ""
            said = "; ".join(f"{o}: {w[name]['summary']}" for o, w in v["opinions"].items() if name in w)
            lines.append(f"    {name:9}{link['word']}{bound} ({said})")
    for k in result["kernels"]:
        shared = "-" if k["shared_bytes"] is None else f"{k['shared_bytes']} B"
        loops = ", ".join(f"{x['dim']} x{x['range']}" for x in k["loops"]) or "none"
        lines.append(f"  kernel   {k['name']}: grid {tuple(k['grid'])}, loops {loops}, shared {shared}, "
                     f"registers {k['registers'] or '-'}, spilled {k['spill_bytes'] or 0} B ({k['target']})")  # fmt: skip
    if e:
        word = "measured" if e["measured"] else "estimated"
        lines.append(f"  time     {us(e['us'])} {word}; yours {us(e['baseline_us'])}; speed of light {us(e['speed_of_light_us'])}"
                     f" ({e['device']})")  # fmt: skip
    lines += [f"  why      {r['text']}" for r in result.get("remarks", ())]
    if result.get("derivation"):
        names = [law["name"] for law in result["derivation"]["laws"] if law["name"] != "inside"]
        lines.append(f"  derived  {', '.join(names) or 'as it is written'} (`mirage show --derivation`)")
    if result.get("path"):
        lines.append(f"  written  {result['path']}")
    return "\n".join(lines)


def destination(path: str, function: str, out: str | None) -> Path:
    if out:
        return Path(out) / f"{function}_mirage.py" if Path(out).is_dir() else Path(out)
    return Path(path).with_name(f"{function}_mirage.py")


def write(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as e:
        raise CannotWrite(f"{target} cannot be written: {e.strerror}", path=str(target)) from None


@click.command()
@click.argument("place_", metavar="FILE[::FUNCTION]")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object (a list if several).")
@click.option("--out", metavar="PATH", help="Where to write the module (a file or a folder; default beside FILE).")
@click.option("--target", default="sm_90", show_default=True, help="The GPU architecture.")
@click.option("--kernels", default=8, show_default=True, help="At most this many kernels in the answer.")
@click.option("--loops", default=8, show_default=True, help="At most this many loops in a kernel.")
@click.option("--anyway", is_flag=True, help="Write the best verified kernel even where the estimate says: keep yours.")
@click.option("--install", is_flag=True, help="Let the decorated function run the kernel where it fits.")
@click.option("--rules", "rules_file", metavar="FILE", help="Laws of yours that proofs may use, tested first.")
@click.option("--seconds", default=20.0, show_default=True, help="Bound on the search.")
def optimize(
    place_: str,
    as_json: bool,
    out: str | None,
    target: str,
    kernels: int,
    loops: int,
    anyway: bool,
    install: bool,
    rules_file: str | None,
    seconds: float,
) -> None:
    """Find, verify and write a Triton kernel for the decorated functions of a file."""
    from mirage.pipeline import Request
    from mirage.pipeline import optimize as run
    from mirage.runtime import registry
    from mirage.search.engine import Bounds

    path, text, names = place.functions(place_)
    rules = place.rules(rules_file)
    results = []
    for name in names:
        line = Line(name)
        bounds = Bounds(kernels=kernels, loops=loops, seconds=seconds)
        request = Request(text, str(Path(path).resolve()), name, target, anyway=anyway, bounds=bounds, rules=rules)
        try:
            result = run(request, line, CancelToken()).to_dict()
        finally:
            line.clear()
        module = result["source"]
        if result["answer"] == "kernel":
            where = destination(path, name, out)
            write(where, module)
            result["path"] = str(where)
            if install:
                registry.install_for(text, name, module)
        results.append(result)
        if not as_json:
            click.echo(table(result))
    if as_json:
        for result in results:
            result["text"], result["source"] = result["source"], result.get("path", "")
        click.echo(json.dumps(results[0] if len(results) == 1 else results, indent=1))

"""`mirage optimize FILE[::FUNCTION]`: a verified kernel for each decorated function, by the daemon or in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click

from mirage.cli import place_argument
from mirage.cli.command_options import taking
from mirage.derivation.json_form import laws
from mirage.errors import CannotWrite, DaemonUnavailable, RuleFalse, RuleUnreadable
from mirage.link.request_parameters import SearchOptions
from mirage.results.baselines import BASELINES, TRUSTED
from mirage.results.codec import unstructure
from mirage.results.progress import CancelToken, Progress
from mirage.results.result import Result
from mirage.results.verdict import Link


class Line:
    """One status line on a terminal, rewritten; silent elsewhere."""

    def __init__(self, name: str) -> None:
        self.name, self.on = name, sys.stderr.isatty()

    def __call__(self, p: Progress) -> None:
        if self.on:
            counts = " · ".join(f"{v} {k}" for k, v in p.counts.told().items())
            text = f"{self.name}: {p.state}{' · ' + counts if counts else ''}{' · best ' + p.best if p.best else ''}"
            click.echo(f"\r\033[K{text[:110]}", nl=False, err=True)

    def clear(self) -> None:
        if self.on:
            click.echo("\r\033[K", nl=False, err=True)


def us(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} µs"


def table(result: Result, path: str = "") -> str:
    """The result for people; `path`: where its module was written."""
    s, e = result.search, result.estimate
    lines = [f"{result.function}: {result.reason}"]
    if result.baseline:
        lines.append(f"  runs     the function as written by {BASELINES[result.baseline].words} ({TRUSTED})")
    lines.append(f"  search   {s.values} values, {s.mugraphs} µGraphs, {s.seconds:.2f} s"
                 + ("" if s.exhaustive else f" (bounded: {'; '.join(s.limits)})"))  # fmt: skip
    if result.verdict is not None:
        lines.append(f"  verdict  {result.verdict.headline}")
        lines += [f"    {one}" for one in map(link_line, result.verdict.links)]
    for k in result.kernels:
        shared = "-" if k.shared_bytes is None else f"{k.shared_bytes} B"
        loops = ", ".join(f"{x.dim} x{x.range}" for x in k.loops) or "none"
        lines.append(f"  kernel   {k.name}: grid {k.grid}, loops {loops}, shared {shared}, "
                     f"registers {k.registers or '-'}, spilled {k.spill_bytes or 0} B ({k.target})")  # fmt: skip
    if e is not None:
        word = "measured" if e.measured else "estimated"
        lines.append(f"  time     {us(e.us)} {word}; yours {us(e.baseline_us)}; speed of light {us(e.speed_of_light_us)}"
                     f" ({e.device})")  # fmt: skip
    lines += [f"  why      {r.text}" for r in result.remarks]
    if result.derivation:
        names = [law for law in laws(result.derivation) if law != "inside"]
        lines.append(f"  derived  {', '.join(names) or 'as it is written'} (`mirage show --derivation`)")
    if path:
        lines.append(f"  written  {path}")
    return "\n".join(lines)


def link_line(link: Link) -> str:
    bound = f", bound {link.bound:.1e}" if link.bound else ""
    said = "; ".join(f"{e.opinion}: {e.summary}" for e in link.evidence)
    return f"{link.name:9}{link.word}{bound} ({said})"


def destination(path: str, function: str, out: str | None) -> Path:
    if out:
        return Path(out) / f"{function}_mirage.py" if Path(out).is_dir() else Path(out)
    return Path(path).with_name(f"{function}_mirage.py")


def write(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as e:
        raise CannotWrite(f"{target} cannot be written: {e.strerror}", path=str(target)) from None


Ask = Callable[[str, str, str, str, SearchOptions, Line], Result]


def daemon(stack: ExitStack) -> Ask:
    """Asks the daemon. Where none can be had, this process does the work, and says so."""
    from mirage.cli.daemon_question import Daemon

    try:
        return stack.enter_context(Daemon()).optimize
    except DaemonUnavailable as e:
        click.echo(f"{e.message}: this process does the work, and nothing of it is remembered", err=True)
        return here


def here(text: str, path: str, function: str, target: str, options: SearchOptions, line: Line) -> Result:
    """Does the work in this process."""
    import attrs

    from mirage.pipeline.optimize import optimize as run
    from mirage.pipeline.request_payload import from_payload

    payload = {"text": text, "path": path, "function": function, "target": target, "options": attrs.asdict(options)}
    return run(from_payload(payload), line, CancelToken())


def keep(result: Result, path: str, text: str, function: str, out: str | None, install: bool) -> str:
    """Write an answer's module, and install it if that is asked. Gives the module's path, "" where the answer is "keep"."""
    if result.answer == "keep":
        return ""
    where = destination(path, function, out)
    write(where, result.source)
    if install:
        from mirage.runtime import installed_kernels

        installed_kernels.install_for(text, function, result.source)
    return str(where)


def as_data(result: Result, path: str) -> dict[str, object]:
    """The result as JSON data, with the module's text and where it was written."""
    return {**unstructure(result), "text": result.source, "source": path, "path": path}


@dataclass(frozen=True)
class OptimizeOptions:
    """What `mirage optimize` is asked; the options below say what each field means."""

    place_: str
    as_json: bool
    out: str | None
    target: str
    kernels: int
    loops: int
    anyway: bool
    install: bool
    rules_file: str | None
    seconds: float
    no_daemon: bool


@click.command()
@click.argument("place_", metavar="FILE[::FUNCTION]")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object (a list if several).")
@click.option("--out", metavar="PATH", help="Where to write the module (a file or a folder; default beside FILE).")
@click.option("--target", default="sm_90", show_default=True, help="The GPU architecture.")
@click.option("--kernels", default=0, metavar="N", help="At most this many kernels in the answer.")
@click.option("--loops", default=0, metavar="N", help="At most this many loops in a kernel.")
@click.option("--anyway", is_flag=True, help="Write the best verified kernel even where the estimate says: keep yours.")
@click.option("--install", is_flag=True, help="Let the decorated function run the kernel where it fits.")
@click.option("--rules", "rules_file", metavar="FILE", help="Laws of yours that proofs may use, tested first.")
@click.option("--seconds", default=0.0, metavar="S", help="Bound on the search.")
@click.option("--no-daemon", is_flag=True, help="Do all the work in this process, and remember nothing of it.")
@taking(OptimizeOptions)
def optimize(asked: OptimizeOptions) -> None:
    """Find, verify and write a Triton kernel for the decorated functions of a file."""
    path, text, names = place_argument.functions(asked.place_)
    options = SearchOptions(
        kernels=asked.kernels,
        loops=asked.loops,
        seconds=asked.seconds,
        anyway=asked.anyway,
        rules="" if asked.rules_file is None else place_argument.read(asked.rules_file),
    )
    results: list[Result] = []
    written: list[str] = []
    with ExitStack() as stack:
        ask = here if asked.no_daemon else daemon(stack)
        for name in names:
            line = Line(name)
            try:
                results.append(ask(text, str(Path(path).resolve()), name, asked.target, options, line))
            except (RuleFalse, RuleUnreadable) as e:
                e.path = asked.rules_file  # the daemon is told the rules, not where they are
                raise
            finally:
                line.clear()
            written.append(keep(results[-1], path, text, name, asked.out, asked.install))
            if not asked.as_json:
                click.echo(table(results[-1], written[-1]))
    if asked.as_json:
        every = [as_data(r, w) for r, w in zip(results, written, strict=True)]
        click.echo(json.dumps(every[0] if len(every) == 1 else every, indent=1))

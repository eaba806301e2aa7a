"""`mirage optimize FILE[::FUNCTION]` or FOLDER: a verified kernel for each decorated function, by the daemon or in this process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import click

from mirage.cli import named_text, place_argument
from mirage.cli.command_options import taking, target_of
from mirage.cli.place_argument import FunctionPlace
from mirage.cli.progress_line import ProgressLine
from mirage.codegen import module_header
from mirage.derivation.json_form import laws
from mirage.errors import (
    Cancelled,
    CannotWrite,
    DaemonUnavailable,
    MirageError,
    MissingPackage,
    RuleFalse,
    RuleUnreadable,
    UnknownTarget,
    UntrustedFolder,
)
from mirage.link.request_parameters import SearchOptions
from mirage.results.baselines import BASELINES, TRUSTED
from mirage.results.codec import unstructure
from mirage.results.phases import PHASES, PhaseSeconds
from mirage.results.progress import CancelToken
from mirage.results.result import Result
from mirage.results.verdict import Link

SHOWN_S = 0.05  # a phase that took less is not shown
AHEAD = (
    200  # functions whose answers are begun before they are waited for; the daemon remembers some more that are over
)


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
    for k in () if result.answer == "keep" else result.kernels:
        shared = "-" if k.shared_bytes is None else f"{k.shared_bytes} B"
        loops = ", ".join(f"{x.dim} x{x.range}" for x in k.loops) or "none"
        lines.append(f"  kernel   {k.name}: grid {k.grid}, loops {loops}, shared {shared}, "
                     f"registers {k.registers or '-'}, spilled {k.spill_bytes or 0} B ({k.target})")  # fmt: skip
    if e is not None:
        word = "measured" if e.measured else "estimated"
        lines.append(f"  time     {us(e.us)} {word}; yours {us(e.baseline_us)}; speed of light {us(e.speed_of_light_us)}"
                     f" ({e.device})")  # fmt: skip
    lines += elsewhere_lines(result)
    lines += seconds_lines(result.seconds)
    lines += [f"  why      {r.text}" for r in result.remarks]
    if result.derivation:
        names = [law for law in laws(result.derivation) if law != "inside"]
        lines.append(f"  derived  {', '.join(names) or 'as it is written'} (`mirage show --derivation`)")
    if path:
        lines.append(f"  written  {path}")
    return "\n".join(lines)


def seconds_lines(seconds: PhaseSeconds) -> list[str]:
    """The phases that took any time."""
    took = [f"{name} {s:.1f}" for name in PHASES if (s := getattr(seconds, name)) >= SHOWN_S]
    return [f"  seconds  {seconds.total:.1f}: {', '.join(took)}"] if took else []


def elsewhere_lines(result: Result) -> list[str]:
    """What another machine says that it measured."""
    if (there := result.elsewhere) is None:
        return []
    other = BASELINES[there.against].words if there.against in BASELINES else "the best baseline"
    said = f"{us(there.us)} measured on {there.device}, {us(there.baseline_us)} by {other}"
    return [f"  elsewhere {said}: the word of {there.by}, nothing was measured here"]


def link_line(link: Link) -> str:
    bound = f", bound {link.bound:.1e}" if link.bound else ""
    said = "; ".join(f"{e.opinion}: {e.summary}" for e in link.evidence)
    return f"{link.name:9}{link.word}{bound} ({said})"


# What is wrong with the question or the machine, so that no further function of the same run can fare better.
OF_ALL = (UnknownTarget, RuleFalse, RuleUnreadable, Cancelled, MissingPackage, CannotWrite, UntrustedFolder)


def destination(path: str, function: str, out: str | None) -> Path:
    if out:
        return Path(out) / f"{function}_mirage.py" if Path(out).is_dir() else Path(out)
    return Path(path).with_name(f"{function}_mirage.py")


def _full(place: FunctionPlace) -> str:
    return str(Path(place.path).resolve())


def check_destination(target: Path) -> None:
    """Raises CannotWrite where the module could not be written: said before a search, not after it."""
    folder = target.parent
    why = "is no folder" if not folder.is_dir() else "" if os.access(folder, os.W_OK) else "is not yours to write to"
    if why:
        step = "name a folder that exists and that you can write to with --out"
        raise CannotWrite(f"{folder} {why}", path=str(target), next_step=step)


Ask = Callable[[str, str, str, str, SearchOptions, ProgressLine], Result]
Begin = Callable[[str, str, str, str, SearchOptions], None]  # asks for an answer that is wanted later


@dataclass(frozen=True)
class Asking:
    """Who answers; `begin` (None: nobody works ahead) and `others` (in words, how far what was begun is) are the daemon's."""

    one: Ask
    begin: Begin | None = None
    others: Callable[[], str] = str


def daemon(stack: ExitStack, cluster: str) -> Asking:
    """Asks the daemon. Where none can be had, this process does the work, and says so; with a `cluster` that is an error."""
    from mirage.cli.daemon_question import Daemon

    try:
        asked = stack.enter_context(Daemon(cluster))
        return Asking(asked.optimize, asked.begin, asked.others)
    except DaemonUnavailable as e:
        if cluster:
            raise
        click.echo(f"{e.message}: this process does the work, and nothing of it is remembered", err=True)
        return Asking(here)


def here(text: str, path: str, function: str, target: str, options: SearchOptions, line: ProgressLine) -> Result:
    """Does the work in this process."""
    import attrs

    from mirage.pipeline.optimize import optimize as run
    from mirage.pipeline.request_payload import from_payload

    payload = {"text": text, "path": path, "function": function, "target": target, "options": attrs.asdict(options)}
    return run(from_payload(payload), line, CancelToken())


def keep(result: Result, place: FunctionPlace, out: str | None, install: bool) -> str:
    """Write an answer's module, and install it if that is asked. Gives the module's path, "" where the answer is "keep"."""
    if result.answer == "keep":
        return ""
    where = destination(place.path, place.function, out)
    source = result.source
    if result.verdict is not None:
        source = module_header.with_check(source, str(place), str(where))
    named_text.write_text(where, source)
    if install:
        from mirage.runtime import installed_kernels

        installed_kernels.install_for(place.text, place.function, result.source)
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
    kernels: int | None
    loops: int | None
    anyway: bool
    install: bool
    rules_file: str | None
    seconds: float | None
    cluster: str
    no_daemon: bool

    def search(self) -> SearchOptions:
        return SearchOptions(
            kernels=self.kernels or 0,
            loops=self.loops or 0,
            seconds=self.seconds or 0.0,
            anyway=self.anyway,
            rules="" if self.rules_file is None else named_text.read(self.rules_file),
        )


@dataclass
class Batch:
    """One run of the command: what was answered for each function and where it was written, and what went wrong with others."""

    asked: OptimizeOptions
    answered: list[tuple[FunctionPlace, Result, str]] = field(default_factory=list)
    errors: list[MirageError] = field(default_factory=list)

    def failed(self, error: MirageError) -> None:
        self.errors.append(error)
        click.echo(str(error), err=True)

    def one(self, asking: Asking, place: FunctionPlace, options: SearchOptions) -> None:
        """Ask for one function, write and print its answer."""
        check_destination(destination(place.path, place.function, self.asked.out))
        line = ProgressLine(place.function, others=asking.others)
        try:
            result = asking.one(place.text, _full(place), place.function, self.asked.target, options, line)
        except (RuleFalse, RuleUnreadable) as e:
            e.path = self.asked.rules_file  # the daemon is told the rules, not where they are
            raise
        finally:
            line.clear()
        written = keep(result, place, self.asked.out, self.asked.install)
        self.answered.append((place, result, written))
        if not self.asked.as_json:
            click.echo(table(result, written))
            if written and self.asked.install:
                click.echo(f"  install  `{place.function}` runs it from now on where it fits the call;"
                           f" `mirage status {place.path}` shows that, `mirage uninstall {place}` takes it back")  # fmt: skip

    def all(self, asking: Asking, places: list[FunctionPlace], options: SearchOptions) -> None:
        """Ask for each function. The next ones are begun while an answer is waited for."""
        begin = asking.begin
        several = len(places) + len(self.errors) > 1
        coming = iter(places if begin is not None and several else ())

        def begin_next(count: int) -> None:
            for place in islice(coming, count):
                assert begin is not None
                begin(place.text, _full(place), place.function, self.asked.target, options)

        begin_next(AHEAD)
        for place in places:
            begin_next(1)
            try:
                self.one(asking, place, options)
            except MirageError as e:
                if not several or isinstance(e, OF_ALL) or e.code.startswith("MIR5"):
                    raise
                self.failed(e)

    def end(self, several: bool) -> None:
        """Print what is printed once."""
        if self.asked.as_json:
            every = [as_data(r, w) for _, r, w in self.answered] + [{"error": e.to_dict()} for e in self.errors]
            click.echo(json.dumps(every if several else every[0], indent=1))
        elif several:
            answers = [r.answer for _, r, _ in self.answered]
            counts = ", ".join(f"{answers.count(a)} {a}" for a in sorted(set(answers))) or "no answer"
            click.echo(f"{len(answers)} of {len(answers) + len(self.errors)} answered: {counts}")


@click.command()
@click.argument("place_", metavar="FILE[::FUNCTION]|FOLDER")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object (a list if several).")
@click.option("--out", metavar="PATH", help="Where to write the module (a file or a folder; default beside FILE).")
@click.option(
    "--target", callback=target_of, default="sm_90", show_default=True, help="The GPU: sm_90, h100, rtx4090, ..."
)
@click.option("--kernels", type=click.IntRange(min=1), metavar="N", help="At most this many kernels in the answer.")
@click.option("--loops", type=click.IntRange(min=1), metavar="N", help="At most this many loops in a kernel.")
@click.option("--anyway", is_flag=True, help="Write the best verified kernel even where the estimate says: keep yours.")
@click.option("--install", is_flag=True, help="Let the decorated function run the kernel where it fits.")
@click.option("--rules", "rules_file", metavar="FILE", help="Laws of yours that proofs may use, tested first.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Bound on the search.")
@click.option("--cluster", metavar="ADDRESS", default="", help="Let a Ray cluster search: HOST:PORT, or auto.")
@click.option("--no-daemon", is_flag=True, help="Do all the work in this process, and remember nothing of it.")
@taking(OptimizeOptions)
def optimize(asked: OptimizeOptions) -> None:
    """Find, verify and write a Triton kernel for the decorated functions of a file, or of all files below a folder."""
    if asked.cluster and asked.no_daemon:
        raise click.UsageError("give --cluster or --no-daemon: it is the daemon that a cluster works for")
    batch = Batch(asked)
    places = place_argument.places(asked.place_, batch.failed)
    several = len(places) + len(batch.errors) > 1
    if several and asked.out and not Path(asked.out).is_dir():
        raise click.UsageError(f"--out must be a folder that exists: {len(places)} functions are asked for")
    options = asked.search()
    with ExitStack() as stack:
        batch.all(Asking(here) if asked.no_daemon else daemon(stack, asked.cluster), places, options)
    batch.end(several)
    if batch.errors:
        raise SystemExit(1)

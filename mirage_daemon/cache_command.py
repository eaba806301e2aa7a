"""The commands `mirage cache ...`: list, show, verify, delete, export and import results."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import ParamSpec, cast

import click

from mirage.errors import CannotWrite, MirageError, ResultsUnreadable
from mirage.link import Client, protocol
from mirage.link.answers import CacheAnswer, CacheRow
from mirage_daemon.known_result import KnownResult

FORMAT = "mirage results"
VERSION = 1
MAX_FILE, MAX_RESULTS = 256 << 20, 100_000
SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
TIMES = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# what an imported result may say, and of what type; everything else in it is not looked at
ASKED = {"text": str, "function": str, "target": str, "mugraph": dict}
P = ParamSpec("P")
UNITS = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]?)\Z")


def mistakes(command: Callable[P, None]) -> Callable[P, None]:
    """A MirageError ends the command with its words and status 1."""

    @wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except MirageError as e:
            click.echo(str(e), err=True)
            sys.exit(1)

    return guarded


def amount(text: str, units: dict[str, float] | dict[str, int]) -> float:
    found = UNITS.match(text.strip().lower())
    if found is None or found[2] not in units:
        raise click.BadParameter(f"{text!r} is not a number with one of {', '.join(u for u in units if u)} after it")
    return float(found[1]) * units[found[2]]


@click.group()
def cache() -> None:
    """What was found: list, show, verify, gc, export, import."""


def pages(client: Client, do: str, key: str = "") -> Iterator[CacheAnswer]:
    after = ""
    while True:
        page = client.cache(do, key=key, after=after)
        yield page
        after = page["after"]
        if not after:
            return


@cache.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
@mistakes
def list_(as_json: bool) -> None:
    """List the results, by key."""
    with Client.connect() as client:
        rows = [row for page in pages(client, "list") for row in page["results"]]
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    for row in rows:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["used"]))
        click.echo(f"{row['key'][:12]}  {day}  {row['size']:>9} B  {row['state']:5} {row['function']}: {row['reason']}")
    click.echo(f"{len(rows)} results", err=True)


@cache.command()
@click.argument("key")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result.")
@mistakes
def show(key: str, as_json: bool) -> None:
    """Show the result whose key begins with KEY: its module, or the reason to keep yours."""
    with Client.connect() as client:
        found = client.cache("show", key=key)
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    result = KnownResult.of(found["result"]).result
    click.echo(f"# {found['key']}\n# {result.function}: {result.reason}")
    click.echo(result.source or "\n".join(result.notes))


@cache.command()
@mistakes
def verify() -> None:
    """Read every entry; drop those that are torn, changed or not written by this daemon."""
    with Client.connect() as client:
        found = client.cache("verify")
    click.echo(f"{found['sound']} entries are sound, {found['refused']} were dropped")


@cache.command()
@click.option("--max-size", metavar="SIZE", help="Keep at most so much, such as 200m: the least recently used go.")
@click.option("--older", metavar="TIME", help="Forget what was not used for so long, such as 30d.")
@mistakes
def gc(max_size: str | None, older: str | None) -> None:
    """Forget what was not used for long."""
    if max_size is None and older is None:
        raise click.UsageError("say --max-size or --older")
    limit = -1 if max_size is None else int(amount(max_size, SIZES))
    seconds = -1.0 if older is None else amount(older, TIMES)
    with Client.connect() as client:
        found = client.cache("gc", limit_bytes=limit, older_s=seconds)
    click.echo(f"{found['deleted']} entries deleted; {found['entries']} with {found['bytes']} B are left")


@cache.command()
@click.argument("file", metavar="FILE")
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@mistakes
def export(file: str, keys: tuple[str, ...]) -> None:
    """Write results (all, or those whose keys begin with KEY) as one file for a colleague.

    It holds functions, inputs and µGraphs, no paths and nothing else of your files.
    """
    found: dict[str, CacheRow] = {}
    passed = 0
    with Client.connect() as client:
        for key in keys or ("",):
            for page in pages(client, "export", key):
                passed += page["passed"]
                found.update({json.dumps(row, sort_keys=True): row for row in page["results"]})
    write(Path(file), json.dumps({"format": FORMAT, "version": VERSION, "results": list(found.values())}, indent=1))
    rest = f"; {passed} are not for others (keep yours, several sizes, or rules of your own)" if passed else ""
    click.echo(f"{len(found)} results written to {file}{rest}")


def write(path: Path, text: str) -> None:
    """Whole or not at all."""
    draft = path.parent / f".mirage-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    except OSError as e:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise CannotWrite(f"{path} cannot be written: {e.strerror}", path=str(path)) from None


def read(path: Path) -> list[CacheRow]:
    """The results of a file, each with the fields of ASKED and "options" and "inputs"; ResultsUnreadable otherwise."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_FILE + 1)
        if len(content) > MAX_FILE:
            raise ResultsUnreadable(f"{path} has more than {MAX_FILE >> 20} MiB", path=str(path))
        data = json.loads(content.decode("utf-8"))
    except OSError as e:
        raise ResultsUnreadable(f"{path} cannot be read: {e.strerror}", path=str(path)) from None
    except (ValueError, RecursionError) as e:
        raise ResultsUnreadable(f"{path} is not JSON: {e}", path=str(path)) from None
    rows = data.get("results") if isinstance(data, dict) and data.get("format") == FORMAT else None
    if not isinstance(rows, list) or len(rows) > MAX_RESULTS:
        raise ResultsUnreadable(f"{path} holds no results", path=str(path))
    if data.get("version") != VERSION:
        raise ResultsUnreadable(
            f"{path} has version {data.get('version')!r} of the format, not {VERSION}",
            path=str(path),
            next_step="export it again with the same version of mirage as yours",
        )
    for n, row in enumerate(rows):
        if not isinstance(row, dict) or not all(type(row.get(name)) is kind for name, kind in ASKED.items()):
            raise ResultsUnreadable(f"{path}: result {n + 1} has not the form of a result", path=str(path))
    return cast("list[CacheRow]", rows)


@cache.command("import")
@click.argument("file", metavar="FILE")
@mistakes
def import_(file: str) -> None:
    """Take over results of a colleague's FILE, each verified again here. Runs the functions in it, as `mirage optimize`
    would run them; takes over nothing but µGraphs. Exit status 3 if one was refused."""
    rows, taken, refused = read(Path(file)), 0, 0
    for row in rows:
        with Client.connect() as client:  # what the daemon hangs up on costs no other result its connection
            state, why = adopt(client, row)
        taken += state in ("done", "kept")
        refused += state not in ("done", "kept")
        click.echo(printable(f"{row['function']}: {why}"))
    click.echo(f"{taken} of {len(rows)} results verified here, {refused} refused")
    if refused:
        sys.exit(3)


def printable(text: str) -> str:
    """A stranger's words on this terminal: without what would move its cursor or change its colours."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def adopt(client: Client, row: CacheRow) -> tuple[str, str]:
    """(final state, why in a few words) of one result."""
    try:
        options = protocol.structure(row.get("options") or {}, protocol.SearchOptions)
        inputs = [(str(n), [int(x) for x in shape], str(d)) for n, shape, d in row.get("inputs") or ()]
        job = client.adopt(
            row["text"],
            "imported.py",
            row["function"],
            json.dumps(row["mugraph"]),
            target=row["target"],
            options=options,
            inputs=inputs,
        )
        outcome = client.subscribe(job["job"])
        if outcome["result"] is not None:
            return outcome["state"], KnownResult.of(outcome["result"]).result.reason
    except (TypeError, ValueError, OverflowError, RecursionError):
        return "failed", "refused: it says what no function can have"
    except MirageError as e:
        return "failed", f"refused: {e.message}"
    return outcome["state"], f"refused: {(outcome['error'] or {}).get('message', outcome['state'])}"

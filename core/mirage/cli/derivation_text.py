"""`mirage show --derivation`: the steps from a program to its µGraph."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mirage.cli import named_text, place_argument
from mirage.derivation.json_form import from_json, lines
from mirage.errors import DerivationBroken, MugraphSyntax
from mirage.meaning.terms import Terms
from mirage.pipeline.optimize import optimize
from mirage.pipeline.request import Request
from mirage.results.progress import CancelToken


def load(where: str, target: str) -> list[dict[str, object]]:
    """The derivations of a file: of a result as JSON (or a list of them), or of a Python file, which is optimized."""
    path = where.partition("::")[0]
    if path.endswith(".py"):
        path, text, names = place_argument.functions(where)
        full = str(Path(path).resolve())
        results = [optimize(Request(text, full, n, target), lambda _: None, CancelToken()) for n in names]
        return [r.derivation for r in results if r.derivation]
    try:
        data = json.loads(named_text.read(path))
    except (ValueError, RecursionError) as e:
        raise MugraphSyntax(f"{path} is not JSON: {e}", path=path) from None
    rows = [r for r in (data if isinstance(data, list) else [data]) if isinstance(r, dict)]
    return [r["derivation"] for r in rows if isinstance(r.get("derivation"), dict) and r["derivation"]]


def show(where: str, target: str, form: str) -> None:
    """Prints every derivation of a file as text, or as JSON."""
    found = load(where, target)
    if not found:
        raise DerivationBroken(f"{where} has no derivation", path=where.partition("::")[0])
    for d in found:
        from_json(Terms(), d)  # what does not parse is said before anything is shown
        click.echo(json.dumps(d, indent=1) if form == "json" else "\n".join(lines(d)))

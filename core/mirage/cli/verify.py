"""`mirage verify A B`: do two decorated functions compute the same?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mirage.cli import place
from mirage.errors import FunctionNotFound
from mirage.result import CancelToken

if TYPE_CHECKING:
    from mirage.isolate.runner import Worker
    from mirage.program.ir import Program


def program(where: str, worker: Worker) -> Program:
    from mirage.pipeline import Request, read, trace

    path, text, names = place.functions(where)
    if len(names) > 1:
        raise FunctionNotFound(f"{path} has several decorated functions: {', '.join(names)}", path=path,
                               next_step=f"name one: {path}::{names[0]}")  # fmt: skip
    full = str(Path(path).resolve())
    return trace(read(Request(text, full, names[0])), full, worker, CancelToken())


@click.command()
@click.argument("a", metavar="A[::FUNCTION]")
@click.argument("b", metavar="B[::FUNCTION]")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def verify(a: str, b: str, as_json: bool) -> None:
    """Say whether two decorated functions of the same inputs compute the same; exit code 3 if not."""
    from mirage.isolate.runner import Worker
    from mirage.verify.compare import compare

    with Worker() as worker:
        left, right = program(a, worker), program(b, worker)
    verdict = compare(left, right)
    if as_json:
        click.echo(json.dumps(verdict.to_dict(), indent=1))
    else:
        click.echo(f"{left.name} and {right.name}: {verdict.headline}")
        for link in verdict.links:
            for e in link.evidence:
                click.echo(f"  {e.opinion:6} {e.word:8} {e.summary}")
                if e.counterexample is not None:
                    c = e.counterexample
                    click.echo(
                        f"         output {c.output} at {c.index}: {c.expected} and {c.actual} (sizes {c.sizes}, seed {c.seed})"
                    )
    if not verdict.accepted:
        raise SystemExit(3)

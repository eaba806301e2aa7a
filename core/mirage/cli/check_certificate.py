"""`mirage check-certificate FILE`: the independent checker as a command."""

from __future__ import annotations

import click

from mirage_certificate.certificate import main


@click.command()
@click.argument("certificate", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--first", type=click.Path(exists=True, dir_okay=False), help="The first side's file: its digest is compared."
)
@click.option("--second", type=click.Path(exists=True, dir_okay=False), help="The second side's file, likewise.")
@click.option("--show", is_flag=True, help="Print both sides of each equation, as the checker reads them.")
def check_certificate(certificate: str, first: str | None, second: str | None, show: bool) -> None:
    """Replay a certificate of `mirage verify --certificate`; exit code 3 if it is refused."""
    files = [x for flag, path in (("--first", first), ("--second", second)) if path is not None for x in (flag, path)]
    raise SystemExit(main([certificate, *files, *(["--show"] if show else [])]))

"""The command `mirage lsp`: the language server on standard input and output, or on a port."""

from __future__ import annotations

import gc
import logging
import sys

import click


@click.command()
@click.option("--stdio", is_flag=True, help="Speak over standard input and output (the default).")
@click.option(
    "--tcp", "port", type=click.IntRange(0, 65535), help="Listen on this port of 127.0.0.1 instead, for one client."
)
@click.option(
    "--log",
    "level",
    default="warning",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="What to log to standard error.",
)
def lsp(stdio: bool, port: int | None, level: str) -> None:
    """Language server, for editors. See docs/editor.md."""
    if stdio and port is not None:
        raise click.UsageError("choose one of --stdio and --tcp")
    gc.disable()  # while a thousand classes are made that stay
    from mirage_lsp import server  # only here: `mirage --help` does not need it

    gc.freeze()
    gc.enable()
    logging.basicConfig(stream=sys.stderr, level=level.upper(), format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("pygls").setLevel(max(logging.WARNING, logging.getLogger().level))
    if port is not None:
        server.serve_tcp(port, lambda actual: click.echo(f"listening on 127.0.0.1:{actual}", err=True))
    else:
        server.serve_stdio()

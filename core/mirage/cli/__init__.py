"""The `mirage` command line, one file for each command; other packages add theirs by the entry point group `mirage.commands`.

Nothing heavy is imported before a command runs: `mirage --help` needs neither torch nor triton.
"""

from __future__ import annotations

import importlib
from importlib import metadata
from pathlib import Path

import click

from mirage.cli import plain_terminal
from mirage.errors import MirageError

COMMANDS = {
    "optimize": ("mirage.cli.optimize", "optimize", "Find a verified kernel for a decorated function."),
    "show": ("mirage.cli.show", "show", "Show a µGraph as text, SVG or JSON."),
    "check-certificate": (
        "mirage.cli.check_certificate",
        "check_certificate",
        "Replay a certificate of what `mirage verify` proved.",
    ),
    "verify": ("mirage.cli.verify", "verify", "Say whether two functions compute the same."),
    "status": ("mirage.cli.installed", "status", "Say which decorated functions run an installed kernel here."),
    "uninstall": ("mirage.cli.installed", "uninstall", "Take installed kernels back."),
    "check": ("mirage.cli.check", "check", "Say which written kernels no longer belong to their functions."),
    "init": ("mirage.cli.init", "init", "Set a project up: settings, what the machine has, what to do next."),
    "explain": ("mirage.cli.explain", "explain", "Say what a written kernel computes, how, and why so."),
    "docs": ("mirage.cli.docs", "docs", "Print a page of the documentation, or what an error code means."),
    "doctor": ("mirage.cli.doctor", "doctor", "Check this machine and say what is missing."),
}
GROUP = "mirage.commands"
HELP = {  # of commands that other packages add: importing them for a line of text would take time
    "cache": "What was found: list, show, give to a colleague, forget.",
    "daemon": "The background service.",
    "fleet": "Who works for the daemon, what waits, and what came of it.",
    "import": "List the graphs that the original Mirage saved in a file.",
    "lsp": "The language server.",
}
EXIT_CODES = """
\b
Exit codes: 0 done (a kernel, or keep yours with the reason)
            1 a mistake that the message explains (MIRxxx, place, next step)
            2 wrong usage of the command
            3 rejected: not equal, or not verified
"""


class LazyGroup(click.Group):
    """Commands are imported when they are used; their one-line helps stand in the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*COMMANDS, *(e.name for e in metadata.entry_points(group=GROUP))})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in COMMANDS:
            module, attribute, _ = COMMANDS[name]
            command = getattr(importlib.import_module(module), attribute)
        else:
            found = [e for e in metadata.entry_points(group=GROUP) if e.name == name]
            if not found:
                return None
            command = found[0].load()
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = {name: help_text for name, (_, _, help_text) in COMMANDS.items()}
        for e in metadata.entry_points(group=GROUP):
            rows.setdefault(e.name, HELP.get(e.name, ""))
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows.items()))

    def invoke(self, ctx: click.Context) -> object:
        plain_terminal.enter()
        try:
            return super().invoke(ctx)
        except MirageError as e:
            click.echo(str(e), err=True)
            ctx.exit(1)


@click.group(cls=LazyGroup, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mirage-superoptimizer", prog_name="mirage")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Mirage: verified Triton kernels for PyTorch functions."""
    from mirage.cli import project_settings

    if ctx.invoked_subcommand in {c for _, commands in project_settings.KEYS.values() for c in commands}:
        ctx.default_map = project_settings.defaults(Path.cwd())

"""The comments at an emitted module's top: what it computes, by which laws, in which tiles, what is known of it, and how to check it."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Mapping

from mirage.mugraph import maps
from mirage.mugraph.grammar import CustomKernel, MuGraph

WIDTH = 86  # of a comment without its sign
BEGIN, END = "# mirage:begin header\n", "# mirage:end header\n"
_ROW = re.compile(r"# ([a-z ]+): (.*)")


def lines(header: Mapping[str, str]) -> list[str]:
    """A comment for each line of each entry; a long one goes on in the next, further in."""
    found = []
    for key, value in header.items():
        for line in value.splitlines():
            first, *more = textwrap.wrap(f"{key}: {line}", WIDTH, break_on_hyphens=False, break_long_words=False)
            found += [f"# {first}", *(f"#     {x}" for x in more)]
    return found


def read(module: str) -> dict[str, str]:
    """The entries of a module's header, lines of one key together."""
    part = module.partition(BEGIN)[2].partition(END)[0]
    found: dict[str, list[str]] = {}
    last: list[str] = []
    for line in part.splitlines():
        row = _ROW.fullmatch(line)
        if row is not None:
            last = found.setdefault(row[1], [])
            last.append(row[2])
        elif last:
            last[-1] += " " + line.lstrip("# ")
    return {key: "\n".join(rows) for key, rows in found.items()}


def with_entries(module: str, more: Mapping[str, str]) -> str:
    """The module with these entries before those that its header has."""
    head, mark, rest = module.partition(BEGIN)
    return head + mark + "".join(f"{x}\n" for x in lines(more)) + rest


def with_check(module: str, function: str, where: str) -> str:
    """The module with the command, in its header, that judges it again: `function` is FILE::NAME, `where` the module's own path. On a
    line of its own, however long, so that it can be pasted; paths that no line can hold are left out."""
    command = shlex.join(["mirage", "verify", function, where])
    head, mark, rest = module.partition(END)
    return head + (f"# check: {command}\n" if command.isprintable() else "") + mark + rest


def tiles(mugraph: MuGraph) -> str:
    """A line for each kernel: how its grid and loops cut the axes."""
    return "\n".join(_tiles(mugraph, k) for k in mugraph.kernels if isinstance(k, CustomKernel))


def _tiles(mugraph: MuGraph, kernel: CustomKernel) -> str:
    said = []
    for d in kernel.block.dims:
        name = "*".join(d.axes)
        if d.role == "grid":
            said.append(f"{name} by {d.tile} ({maps.tile_count(mugraph, d)} blocks)")
        elif d.role == "split":
            said.append(f"{name} in {d.parts} parts")
        elif d.role == "loop":
            said.append(f"{name} in a loop by {d.tile} ({maps.loop_range(mugraph, kernel, d.name)} steps)")
        else:
            said.append(f"{name} whole ({d.tile})")
    return f"{kernel.name}: {', '.join(said) or 'one block'}; {kernel.warps} warps, {kernel.stages} stages"

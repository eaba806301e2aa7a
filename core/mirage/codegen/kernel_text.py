"""One custom kernel as text: its `@triton.jit` function, and its launch."""

from __future__ import annotations

from dataclasses import dataclass

from mirage.codegen.block_text import BlockWriter
from mirage.codegen.kernel_parameters import Symbols
from mirage.codegen.line_layout import INDENT, indented
from mirage.errors import EmissionRefused
from mirage.mugraph.grammar import BlockGraph, CustomKernel, MuGraph, TileDim


@dataclass(frozen=True)
class KernelText:
    """An emitted kernel. `tensors` are its pointer parameters' device tensors in order, `descriptors` those that follow (the parameter,
    its tensor, the dims of its tiles), `counters` whether a pointer to
    the counters of a last-block tail follows, `sizes` and `tiles` map constexpr parameters to an axis and to a
    (table key, dim) of TILES."""

    name: str
    lines: tuple[str, ...]
    tensors: tuple[str, ...]
    descriptors: tuple[tuple[str, str, tuple[TileDim, ...]], ...]
    counters: bool
    sizes: tuple[tuple[str, str], ...]
    tiles: tuple[tuple[str, tuple[str, str]], ...]
    table: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]


def tile_value(dim: TileDim) -> int:
    """What TILES says of a dim: its tile, of a split dim its number of parts."""
    return dim.parts if dim.role == "split" else dim.tile


def emit_kernel(mugraph: MuGraph, kernel: CustomKernel, name: str, taken: tuple[str, ...]) -> KernelText:
    """The text of a custom kernel under the name `name`; `taken` are the module's other names."""
    symbols = Symbols(mugraph, kernel, name, *taken)
    writer = BlockWriter(symbols, "")
    ids = program_ids(symbols, writer)
    writer.write()
    tail = tail_lines(symbols, writer) if kernel.tail is not None else []
    lines = [*ids, *writer.places.head, *writer.lines, *tail]  # the tail may have added to the block's index vectors
    tensors = tuple(t.name for t in mugraph.tensors if t.name in symbols.tensors)
    sizes = tuple((symbols.sizes[a], a) for a, _ in mugraph.axes if a in symbols.sizes)
    tiles = tuple(
        (text, (kernel.name + (".tail" if part else ""), dim))
        for part in ("", "tail")
        for dim, text in (
            (n, symbols.tiles.get((part, n))) for d in dims_of(kernel, part) for n in (d.name, d.group_key)
        )
        if text is not None
    )
    descriptors = tuple((text, tensor, dims) for (tensor, dims), text in symbols.descriptors.items())
    parameters = (
        [symbols.tensors[t] for t in tensors]
        + [d for d, _, _ in descriptors]
        + ([symbols.counters] if symbols.counters else [])
    )
    parameters += [f"{c}: tl.constexpr" for c in (*(s for s, _ in sizes), *(t for t, _ in tiles))]
    head = ["@triton.jit", f"def {name}(", *(f"{INDENT}{p}," for p in parameters), "):"]
    text = (*head, *indented(lines))
    return KernelText(name, text, tensors, descriptors, bool(symbols.counters), sizes, tiles, table(kernel))


def dims_of(kernel: CustomKernel, part: str) -> tuple[TileDim, ...]:
    if not part:
        return kernel.block.dims
    return kernel.tail.dims if kernel.tail is not None else ()


def table(kernel: CustomKernel) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    """The kernel's rows of TILES; a tail's row has the dims that differ from the block's."""
    groups = tuple((d.group_key, d.group) for d in kernel.block.dims if d.group)
    rows = [(kernel.name, (*((d.name, tile_value(d)) for d in kernel.block.dims), *groups))]
    if kernel.tail is not None:
        own = tuple((d.name, tile_value(d)) for d in kernel.tail.dims if d not in kernel.block.dims)
        rows.append((f"{kernel.name}.tail", own))
    return tuple(rows)


def blocks_of(symbols: Symbols, dim: TileDim) -> str:
    """The number of blocks along a grid dim, as a constexpr expression."""
    if dim.role == "split":
        return symbols.tile("", dim)
    size = " * ".join(symbols.size(a) for a in dim.axes)
    if dim.tile == 1:
        return size if len(dim.axes) == 1 else f"({size})"
    block = symbols.tile("", dim)
    return f"(({size} + {block} - 1) // {block})"


def program_ids(symbols: Symbols, writer: BlockWriter) -> list[str]:
    """The block's place in the grid: one launch axis, its index taken apart with the last grid dim fastest; blocks that start in
    groups go through their group before that one."""
    wanted = list(symbols.graph("").grid)
    if not wanted:
        return []
    if len(wanted) == 1:
        return [f"{writer.places.program_id(wanted[0])} = tl.program_id(0)"]
    pid = symbols.names.fresh("pid")
    lines = [f"{pid} = tl.program_id(0)"]
    rest, inner = pid, ""
    grouped = next((d for d in wanted if d.group), None)
    if grouped is not None:
        group = symbols.group(grouped)
        inner = symbols.names.fresh(f"{writer.places.program_id(grouped)}_in_group")
        rest = symbols.names.fresh("pid_rest")
        lines += [f"{inner} = {pid} % {group}", f"{rest} = {pid} // {group}"]
    for i in range(len(wanted) - 1, -1, -1):
        place = writer.places.program_id(wanted[i])
        own = f" * {symbols.group(wanted[i])} + {inner}" if wanted[i] == grouped else ""
        if i == 0:
            lines.append(f"{place} = {rest}{own}")
            continue
        count = blocks_of(symbols, wanted[i])
        if own:
            count = f"({count} // {symbols.group(wanted[i])})"
        if count.startswith("("):
            text, count = count, symbols.names.fresh(f"{'groups' if own else 'blocks'}_{wanted[i].name}")
            lines.append(f"{count}: tl.constexpr = {text[1:-1]}")
        lines.append(f"{place} = {rest} % {count}{own}")
        rest = f"{rest} // {count}"
        if i > 1:
            name = symbols.names.fresh("pid_rest")
            lines.append(f"{name} = {rest}")
            rest = name
    return lines


def tail_lines(symbols: Symbols, writer: BlockWriter) -> list[str]:
    """The last block of each split group to arrive combines the group's partial results."""
    block, tail = symbols.graph(""), symbols.graph("tail")
    check_tail(block, tail)
    symbols.counters = symbols.names.fresh("counters_ptr")
    group = symbols.names.fresh("group")
    arrived = symbols.names.fresh("arrived")
    outer = [d for d in block.grid if d.role == "grid"]
    text = ""
    for d in outer:
        place = writer.places.program_id(d)
        text = (
            f"({text}) * {blocks_of(symbols, d)} + {place}"
            if " " in text
            else (f"{text} * {blocks_of(symbols, d)} + {place}" if text else place)
        )
    parts = " * ".join(symbols.tile("", d) for d in block.grid if d.role == "split")
    inner = BlockWriter(symbols, "tail", writer.places)
    inner.write()
    body = [*inner.places.head, *inner.lines]
    return [
        "",
        "# The last block of a group to arrive combines what its blocks have stored.",
        "tl.debug_barrier()",
        f"{group} = {text or '0'}",
        f'{arrived} = tl.atomic_add({symbols.counters} + {group}, 1, sem="acq_rel")',
        f"if {arrived} == {parts} - 1:",
        *indented(["tl.debug_barrier()", *body, f"tl.store({symbols.counters} + {group}, 0)"]),
    ]


def check_tail(block: BlockGraph, tail: BlockGraph) -> None:
    """A tail runs where its block ran: its grid dims are the block's, without the split ones."""
    if not any(d.role == "split" for d in block.dims):
        raise EmissionRefused("a tail needs a split dim in its block")
    own = {d for d in block.dims if d.role == "grid"}
    if {d for d in tail.grid} != own:
        raise EmissionRefused("the grid dims of a tail differ from its block's")


def grid_text(kernel: CustomKernel, sizes: str, tiles: str, *, groups: bool = False) -> str:
    """The number of blocks of a launch (of split groups, with `groups`) as the launcher computes it: in plain integers,
    which takes a tenth of the time of `triton.cdiv`."""
    factors = []
    for d in kernel.block.grid:
        if d.role == "split":
            if not groups:
                factors.append(f'{tiles}["{d.name}"]')
            continue
        size = " * ".join(f'{sizes}["{a}"]' for a in d.axes)
        factors.append(f'-(-{size} // {tiles}["{d.name}"])' if d.tile > 1 else size)
    return " * ".join(factors) or "1"

"""Draws a µGraph as SVG: a box for each kernel, in it its block graph, in that its loops and thread graphs.

Plain SVG text and rectangles: no script, no style sheet, no font beyond the viewer's monospace. Colours only repeat
what the words say, and every text keeps a contrast of at least 7:1.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from mirage.mugraph.grammar import BlockGraph, CustomKernel, LibraryKernel, Load, Loop, MuGraph, Statement, Store
from mirage.mugraph.maps import Map, fmap, grid, imap, loop_range, omap, tile_count
from mirage.mugraph.text import statement_text
from mirage.mugraph.walk import PlacedBlock, sites

CHAR, LINE, PAD, SIZE = 7.3, 17, 10, 12  # px: a character's width, a line, a box's padding, the font
MAX_TEXT = 160

# level -> fill, stroke
COLOURS = {
    "graph": ("#ffffff", "#ffffff"),
    "kernel": ("#f3f6fb", "#33507a"),
    "block": ("#ffffff", "#4d4d4d"),
    "loop": ("#eef7ee", "#2e6b34"),
    "thread": ("#fdf3e4", "#8a5a00"),
}


@dataclass(frozen=True)
class Box:
    """A titled box; `content` are lines of text and boxes, top to bottom."""

    level: str
    title: str
    content: tuple[str | Box, ...]

    @property
    def width(self) -> float:
        inner = [x.width if isinstance(x, Box) else len(x) * CHAR for x in self.content]
        return max([len(self.title) * CHAR, *inner]) + 2 * PAD

    @property
    def height(self) -> float:
        return LINE + 2 * PAD + sum(x.height + PAD if isinstance(x, Box) else LINE for x in self.content)


def _map_text(word: str, m: Map) -> str:
    cuts = ", ".join(f"{d}→{'φ' if i is None else i}" for d, i in m.items())
    return f"{word} {{{cuts}}}"


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _statement(block: BlockGraph, loop: Loop | None, s: Statement) -> str | Box:
    lines = statement_text(s).split("\n")
    if len(lines) > 1:
        title = lines[0].removesuffix(" = thread:")
        return Box("thread", f"thread graph {title}", tuple(_short(x.strip()) for x in lines[1:]))
    maps = ""
    if isinstance(s, Load | Store):
        maps = "   " + (_map_text("imap", imap(block, s)) if isinstance(s, Load) else _map_text("omap", omap(block, s)))
        if loop is not None:
            cut = fmap(block, loop, s)
            maps += f" fmap {{{loop.dim}→{'φ' if cut is None else cut}}}"
    return _short(lines[0] + maps)


def _block(m: MuGraph, k: CustomKernel, block: BlockGraph, word: str) -> Box:
    content: list[str | Box] = []
    for d in block.dims:
        if d.role == "resident":
            content.append(f"{d.name}: resident, one tile of {d.tile}")
    for item in block.body:
        if isinstance(item, Loop):
            inner = tuple(_statement(block, item, s) for s in item.body)
            times = loop_range(m, k, item) if word == "block graph" else tile_count(m, block.dim(item.dim))
            tile = block.dim(item.dim).tile
            content.append(Box("loop", f"for-loop over {item.dim}: range {times}, tiles of {tile}", inner))
        else:
            content.append(_statement(block, None, item))
    groups = {d.name: f", groups of {d.group}" if d.group else "" for d in block.grid}
    cuts = ", ".join(f"{d.name} {tile_count(m, d)} × {d.tile} ({d.role}{groups[d.name]})" for d in block.grid)
    cluster = f", clusters of {block.cluster}" if block.cluster > 1 else ""
    return Box("block", f"{word}: {cuts or 'one block'}{cluster}", tuple(content))


def _kernel(m: MuGraph, k: CustomKernel | LibraryKernel) -> Box:
    if isinstance(k, LibraryKernel):
        return Box("kernel", f"library kernel {k.name}", (f"{k.out} = {k.op}({', '.join(k.args)})",))
    parts = [PlacedBlock(k, "block", k.block), *([PlacedBlock(k, "tail", k.tail)] if k.tail is not None else [])]
    loaded = dict.fromkeys(s.statement.tensor for p in parts for s in sites(p) if isinstance(s.statement, Load))
    stored = dict.fromkeys(s.statement.tensor for p in parts for s in sites(p) if isinstance(s.statement, Store))
    title = f"kernel {k.name}: grid {' × '.join(map(str, grid(m, k))) or '1'}, {k.warps} warps, {k.stages} stages"
    content: list[str | Box] = [f"{', '.join(loaded)} → {', '.join(stored)}", _block(m, k, k.block, "block graph")]
    if k.tail is not None:
        content.append(_block(m, k, k.tail, "tail, by the last block of each group"))
    return Box("kernel", title, tuple(content))


def picture(m: MuGraph) -> Box:
    """The µGraph as boxes: what `svg` draws. The µGraph should be valid (`check`)."""
    tensors = [
        f"{t.kind} {t.name}: {t.dtype} [{', '.join(map(str, m.shape(t)))}]"
        + f" over [{', '.join('*'.join(a) or '1' for a in t.dims)}]"
        for t in m.tensors
    ]
    return Box("graph", f"µGraph {m.name}", (*tensors, *(_kernel(m, k) for k in m.kernels)))


def _draw(box: Box, x: float, y: float, width: float, out: list[str]) -> None:
    fill, stroke = COLOURS[box.level]
    out.append(f"<g><title>{escape(box.title)}</title>")
    out.append(
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{box.height:g}" rx="4" fill="{fill}" stroke="{stroke}"/>'
    )
    top = y + PAD + SIZE
    out.append(f'<text x="{x + PAD:g}" y="{top:g}" font-weight="bold">{escape(box.title)}</text>')
    top += LINE
    for item in box.content:
        if isinstance(item, Box):
            _draw(item, x + PAD, top - SIZE, width - 2 * PAD, out)
            top += item.height + PAD
        else:
            out.append(f'<text x="{x + PAD:g}" y="{top:g}" xml:space="preserve">{escape(item)}</text>')
            top += LINE
    out.append("</g>")


def summary(m: MuGraph) -> str:
    """One sentence that says what the picture shows, for readers who do not see it."""
    kernels = "; ".join(
        f"{k.name} calls {k.op}"
        if isinstance(k, LibraryKernel)
        else f"{k.name} with grid {'×'.join(map(str, grid(m, k))) or '1'} and "
        + (", ".join(f"a loop over {b.dim}" for b in k.block.body if isinstance(b, Loop)) or "no loop")
        for k in m.kernels
    )
    return f"{len(m.kernels)} kernel{'s' if len(m.kernels) > 1 else ''}: {kernels}."


def svg(m: MuGraph) -> str:
    """The µGraph as an SVG document. The µGraph should be valid (`check`)."""
    whole = picture(m)
    width, height = whole.width, whole.height
    # characters that XML does not allow cannot come from a valid µGraph: its names are identifiers
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img" aria-label={quoteattr(f"µGraph {m.name}. {summary(m)}")} '
        f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="{SIZE}" fill="#1a1a1a">',
        f"<desc>{escape(summary(m))}</desc>",
    ]
    _draw(whole, 0, 0, width, out)
    out.append("</svg>")
    return "\n".join(out) + "\n"

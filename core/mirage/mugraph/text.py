"""µGraphs as readable text. `to_text` prints, `parse.parse` reads it back exactly; docs/mugraph.md shows the form."""

from __future__ import annotations

import json
import re

from mirage.ir.index import DimIndex
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    CustomKernel,
    DTensor,
    LibraryKernel,
    Load,
    Loop,
    MuGraph,
    Statement,
    ThreadGraph,
    TileDim,
)

SIMPLE = re.compile(r"[A-Za-z0-9_./~+-]+\Z")
HEADER = "mugraph"


def number(x: float) -> str:
    """A pad as text: `0.0`, `-inf`, `nan`."""
    return repr(float(x))


def index_text(index: tuple[DimIndex, ...]) -> str:
    """`[m, h*q+4, 0]`: one entry a dimension."""
    return "[" + ", ".join(_entry(d) for d in index) + "]"


def _entry(d: DimIndex) -> str:
    if not d.axes:
        return str(d.offset)
    return "*".join(d.axes) + (f"{d.offset:+d}" if d.offset else "")


def dims_text(dims: tuple[str, ...]) -> str:
    return "[" + ", ".join(dims) + "]"


def _value(text: str) -> str:
    return text if SIMPLE.match(text) else json.dumps(text, ensure_ascii=False)


def statement_text(s: Statement) -> str:
    """One statement; a thread graph's body follows its first line, indented by two."""
    if isinstance(s, Load):
        pad = "" if s.pad == 0.0 and not number(s.pad).startswith("-") else f" pad {number(s.pad)}"
        by = f" by {s.by}" if s.by != "pointers" else ""
        return f"{s.out}{dims_text(s.dims)} = load {s.tensor}{index_text(s.index)}{pad}{by}"
    if isinstance(s, Compute):
        attrs = ", ".join(f"{k}={_value(v)}" for k, v in s.attrs)
        between = "; " if s.args and attrs else ""
        return f"{s.out}{dims_text(s.dims)} = {s.op}({', '.join(s.args)}{between}{attrs})"
    if isinstance(s, ThreadGraph):
        body = "".join("\n  " + statement_text(c) for c in s.body)
        return f"{s.out}{dims_text(s.dims)} = thread:{body}"
    if isinstance(s, Accumulate):
        carried = " carrying " + ", ".join(f"{c}*{acc or '@self'}" for c, acc in s.update) if s.update else ""
        return f"{s.out}{dims_text(s.dims)} {'+=' if s.op == 'sum' else 'max='} {s.arg}{carried}{f' after {s.start}' if s.start else ''}"
    return f"store {s.tensor}{index_text(s.index)} = {s.tile}{' first ' + ' '.join(s.first) if s.first else ''}"


def _tensor(t: DTensor) -> str:
    dims = ", ".join("*".join(axes) or "1" for axes in t.dims)
    rigid = " sizes [" + ", ".join("_" if n is None else str(n) for n in t.rigid) + "]" if t.rigid else ""
    return f"{t.kind} {t.name} {t.dtype} [{dims}]{rigid}"


def _dim(d: TileDim) -> str:
    split = f" splits {d.splits or '-'} parts {d.parts}" if d.splits or d.parts != 1 else ""
    group = f" group {d.group}" if d.group else ""
    return f"dim {d.name} ({'*'.join(d.axes)}) {d.role} tile {d.tile}{split}{group}"


def _block(word: str, block: BlockGraph) -> list[str]:
    lines = [f"{word} cluster {block.cluster}:"]
    lines += ["  " + _dim(d) for d in block.dims]
    for item in block.body:
        if isinstance(item, Loop):
            lines.append(f"  for {item.dim}:")
            lines += ["    " + line for s in item.body for line in statement_text(s).split("\n")]
        else:
            lines += ["  " + line for line in statement_text(item).split("\n")]
    return lines


def _kernel(k: CustomKernel | LibraryKernel) -> list[str]:
    if isinstance(k, LibraryKernel):
        attrs = " with " + json.dumps([list(a) for a in k.attrs], ensure_ascii=False) if k.attrs else ""
        return [f"library {k.name}: {k.out} = {k.op}({', '.join(k.args)}){attrs}"]
    wide = " operands wide" if k.operands == "wide" else ""
    lines = [f"kernel {k.name} warps {k.warps} stages {k.stages}{wide}:"]
    lines += ["  " + line for line in _block("block", k.block)]
    if k.tail is not None:
        lines += ["  " + line for line in _block("tail", k.tail)]
    return lines


def to_text(mugraph: MuGraph) -> str:
    """The whole µGraph, ending with a newline."""
    lines = [f"{HEADER} {mugraph.name}", ("axes " + " ".join(f"{a}={n}" for a, n in mugraph.axes)).rstrip()]
    lines += [_tensor(t) for t in mugraph.tensors]
    for k in mugraph.kernels:
        lines += _kernel(k)
    lines += ["note " + json.dumps(n, ensure_ascii=False) for n in mugraph.notes]
    return "\n".join(lines) + "\n"

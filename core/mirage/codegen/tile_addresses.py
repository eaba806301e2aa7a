"""The addresses of a block's tiles: index vectors of tile dims, indices of axes, masks, pointers into device tensors."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from mirage.codegen.kernel_parameters import Symbols
from mirage.codegen.text_values import ATOM, COMPARE, OR, PRODUCT, SUM, TextValue, spread
from mirage.errors import EmissionRefused
from mirage.ir.index import DimIndex
from mirage.mugraph.grammar import DTensor, TileDim


@dataclass(frozen=True)
class Term:
    """One summand of an offset: an index (of an axis, or of a whole tile dim) times the product of `factors`."""

    axis: str
    factors: tuple[str, ...]


class Places:
    """Index texts of one part of a kernel. `head` collects the lines that belong before the part's statements,
    `loop_head` those of the loop that is being written; each is written when it is first needed."""

    def __init__(self, symbols: Symbols, part: str, outer: Places | None = None) -> None:
        self.symbols, self.part = symbols, part
        self.graph = symbols.graph(part)
        self.head: list[str] = []
        self.loop_head: list[str] | None = None
        self.loop_dim = ""
        self.counter = ""
        self.made: dict[str, TextValue] = {}
        self.loop_made: dict[str, TextValue] = {}
        self.loop_names: dict[str, str] = {}
        self.dim_of = {a: d for d in self.graph.dims for a in d.axes}
        self.outer = outer

    def wide(self, dims: tuple[str, ...]) -> tuple[str, ...]:
        """The dims of a tile that are dims of its Triton tensor: those with a tile above one."""
        return tuple(d for d in dims if self.graph.dim(d).tile > 1 and self.graph.dim(d).role != "split")

    def enter_loop(self, dim: str, counter: str) -> list[str]:
        self.loop_head, self.loop_dim, self.counter, self.loop_made = [], dim, counter, {}
        return self.loop_head

    def leave_loop(self) -> None:
        self.loop_head, self.loop_dim, self.counter, self.loop_made = None, "", "", {}

    def define(self, dim: TileDim, key: str, hint: str, text: str, value: TextValue) -> TextValue:
        """`value` under a name of its own, written at the head of the part, or of the loop if `dim` is the loop's."""
        in_loop = dim.role == "loop"
        made = self.loop_made if in_loop else self.made
        lines = self.loop_head if in_loop else self.head
        assert lines is not None
        if key not in made:
            if in_loop and key in self.loop_names:
                name = self.loop_names[key]  # the same name in each loop over the dim
            else:
                name = self.symbols.names.fresh(hint)
                self.loop_names[key] = name
            lines.append(f"{name} = {text}")
            made[key] = TextValue(name, value.dims, value.kind)
        return made[key]

    def index(self, dim: TileDim) -> TextValue:
        """The index along a whole tile dim: a vector, or a number where the tile is one."""
        dims = self.wide((dim.name,))
        if self.outer is not None and self.shares(dim):
            return self.outer.index(dim)
        if dim.role == "loop" and dim.name != self.loop_dim:
            raise EmissionRefused(f"dim {dim.name!r} is used outside its loop")
        start = self.program_id(dim) if dim.role in ("grid", "split") else ""
        if dim.role == "loop":
            start = self.counter
        if not dims:
            return TextValue(start, (), "i") if start else TextValue("0", (), "c")
        block = self.symbols.tile(self.part, dim)
        text = f"{start} * {block} + tl.arange(0, {block})" if start else f"tl.arange(0, {block})"
        return self.define(dim, f"i_{dim.name}", f"i_{dim.name}", text, TextValue("", dims, "i"))

    def shares(self, dim: TileDim) -> bool:
        """Whether a tail's dim is its block's, whose index vectors then serve."""
        return dim.role in ("grid", "resident") and self.symbols.shared(dim)

    def program_id(self, dim: TileDim) -> str:
        """The name of a grid dim's coordinate; the kernel's first lines define it."""
        key = f"pid_{dim.name}"
        if key not in self.made:
            self.made[key] = TextValue(self.symbols.names.fresh(key), (), "i")
        return self.made[key].text

    def start(self, dim: TileDim) -> str:
        """Where the tile of a dim begins."""
        place = self.program_id(dim) if dim.role == "grid" else self.counter if dim.role == "loop" else "0"
        if dim.role == "loop" and dim.name != self.loop_dim:
            raise EmissionRefused(f"dim {dim.name!r} is used outside its loop")
        return place if place == "0" or dim.tile == 1 else f"{place} * {self.symbols.tile(self.part, dim)}"

    def size_of(self, dim: TileDim) -> TextValue:
        """The number of elements along a tile dim."""
        return product([self.symbols.size(a) for a in dim.axes])

    def axis(self, axis: str) -> TextValue:
        """The index along one axis."""
        if axis not in self.dim_of:
            raise EmissionRefused(f"axis {axis!r} has no tile dim")
        dim = self.dim_of[axis]
        whole = self.index(dim)
        if len(dim.axes) == 1 or whole.kind == "c":
            return whole
        at = dim.axes.index(axis)
        inner = [self.symbols.size(a) for a in dim.axes[at + 1 :]]
        text = whole.text
        if inner:
            text += f" // {product(inner).at(ATOM)}"
        if at:
            text += f" % {self.symbols.size(axis)}"
        key = f"i_{dim.name}.{axis}"
        if self.outer is not None and self.shares(dim):
            return self.outer.axis(axis)
        return self.define(dim, key, f"i_{axis}", text, TextValue("", whole.dims, "i"))

    def mask(self, dim: TileDim) -> TextValue | None:
        """Whether an element lies inside the dim's size; None where all do. The second condition is a constant: when
        tiles divide the dim, the compiler removes the mask and loads are plain."""
        if not self.wide((dim.name,)):
            return None
        if self.outer is not None and self.shares(dim):
            return self.outer.mask(dim)
        size = self.size_of(dim)
        block = self.symbols.tile(self.part, dim)
        text = f"({self.index(dim).text} < {size.at(SUM)}) | ({size.at(PRODUCT)} % {block} == 0)"
        key = f"in_{dim.name}"
        return self.define(dim, key, key, text, TextValue("", (dim.name,), "b"))

    # ---- pointers
    def extents(self, tensor: DTensor) -> list[list[str]]:
        """Each dimension's size, as factors."""
        out = []
        for i, axes in enumerate(tensor.dims):
            rigid = tensor.rigid[i] if tensor.rigid else None
            out.append([str(rigid)] if rigid is not None else [self.symbols.size(a) for a in axes])
        return out

    def pointer(self, tensor: DTensor, index: tuple[DimIndex, ...], dims: tuple[str, ...]) -> str:
        """The address of each element of a tile over the wide dims `dims`."""
        strides = self.strides(tensor)
        terms: list[Term] = []
        text = self.symbols.pointer(tensor.name)
        wide = self.symbols.wide_offsets(tensor)
        constant: list[str] = []
        for i, d in enumerate(index):
            for j, a in enumerate(d.axes):
                terms.append(Term(a, (*(self.symbols.size(b) for b in d.axes[j + 1 :]), *strides[i])))
            if d.offset:
                constant.append(" * ".join([str(d.offset), *strides[i]]))
        for place, factors in self.merged(terms):
            if place.text == "0":
                continue
            if not set(place.dims) <= set(dims):
                raise EmissionRefused(f"a tile of {tensor.name!r} lacks a dim that its index has")
            value = TextValue(f"{place.text}.to(tl.int64)", place.dims, "i") if wide else place
            text += f" + {spread(value, dims).text}"
            if factors:
                text += f" * {product(list(factors)).at(ATOM)}"
        return text + "".join(f" + {c}" if not c.startswith("-") else f" - {c[1:]}" for c in constant)

    def strides(self, tensor: DTensor) -> list[tuple[str, ...]]:
        extents = self.extents(tensor)
        return [tuple(f for e in extents[i + 1 :] for f in e) for i in range(len(extents))]

    def merged(self, terms: list[Term]) -> list[tuple[TextValue, tuple[str, ...]]]:
        """Terms as values; where all axes of a tile dim follow each other in memory, its own index serves."""
        out: list[tuple[TextValue, tuple[str, ...]]] = []
        i = 0
        while i < len(terms):
            dim = self.dim_of.get(terms[i].axis)
            run = terms[i : i + len(dim.axes)] if dim else []
            if dim and len(run) > 1 and tuple(t.axis for t in run) == dim.axes and self.chained(run):
                out.append((self.index(dim), run[-1].factors))
                i += len(run)
            else:
                out.append((self.axis(terms[i].axis), terms[i].factors))
                i += 1
        return out

    def chained(self, run: list[Term]) -> bool:
        return all(
            sorted(a.factors) == sorted((self.symbols.size(b.axis), *b.factors)) for a, b in itertools.pairwise(run)
        )

    def inside(self, tensor: DTensor, index: tuple[DimIndex, ...], dims: tuple[str, ...]) -> TextValue | None:
        """Which elements of a tile are elements of the tensor; None if all are."""
        parts: list[TextValue] = []
        extents = self.extents(tensor)
        seen: list[str] = []
        for i, d in enumerate(index):
            for a in d.axes:
                dim = self.dim_of[a]
                if dim.name not in seen:
                    seen.append(dim.name)
                    mask = self.mask(dim)
                    parts += [mask] if mask is not None else []
            rigid = tensor.rigid[i] if tensor.rigid else None
            if not d.axes and 0 <= d.offset < (rigid if rigid is not None else 1 if not tensor.dims[i] else 0):
                continue
            if rigid is not None or d.offset or d.axes != tensor.dims[i]:
                parts += self.bounds(d, product(extents[i]), rigid)
        if not parts:
            return None
        if len(parts) == 1:
            return spread(parts[0], dims)
        return TextValue(" & ".join(spread(p, dims).at(OR + 1) for p in parts), dims, "b", OR + 1)

    def bounds(self, d: DimIndex, extent: TextValue, rigid: int | None) -> list[TextValue]:
        """0 <= index < extent, for an index that its axes alone do not keep inside."""
        sizes = [self.symbols.mugraph.size(a) for a in d.axes]
        total = 1
        for s in sizes:
            total *= s
        flat = self.flat(d)
        out = []
        if d.offset < 0:
            out.append(TextValue(f"{flat.at(SUM)} >= 0", flat.dims, "b", COMPARE))
        if rigid is None or d.offset + total > rigid or d.offset < 0:
            out.append(TextValue(f"{flat.at(SUM)} < {extent.at(SUM)}", flat.dims, "b", COMPARE))
        return out

    def flat(self, d: DimIndex) -> TextValue:
        """The index into one dimension."""
        terms = [Term(a, tuple(self.symbols.size(b) for b in d.axes[j + 1 :])) for j, a in enumerate(d.axes)]
        values = [(v, f) for v, f in self.merged(terms) if v.text != "0"]
        order = [x.name for x in self.graph.dims]
        dims = tuple(sorted({x for v, _ in values for x in v.dims}, key=order.index))
        text = " + ".join(spread(v, dims).text + (f" * {product(list(f)).at(ATOM)}" if f else "") for v, f in values)
        if d.offset or not text:
            text = f"{text} {'-' if d.offset < 0 else '+'} {abs(d.offset)}" if text else str(d.offset)
        plain = len(values) == 1 and not values[0][1] and not d.offset
        return TextValue(text, dims, "i", ATOM if plain or not values else SUM)


def product(factors: list[str]) -> TextValue:
    """A product of constexprs."""
    return TextValue(" * ".join(factors) or "1", (), "c", ATOM if len(factors) < 2 else PRODUCT)

"""A block graph's statements as lines of Triton: one line an operator, loops indented."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mirage.codegen.exp2 import LN2, LOG2E, Base2, exponent
from mirage.codegen.kernel_parameters import Symbols
from mirage.codegen.line_layout import INDENT, call
from mirage.codegen.operator_text import pointwise, template
from mirage.codegen.product_dtype import DOT_TYPES, product_dtype
from mirage.codegen.text_values import ATOM, PRODUCT, SUM, TextValue, as_float, constant, number, permute, spread
from mirage.codegen.tile_addresses import Places
from mirage.codegen.tile_uses import Uses, parts, statements
from mirage.errors import EmissionRefused
from mirage.mugraph import old_value
from mirage.mugraph.decisions import decide
from mirage.mugraph.descriptors import described, refused
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    CustomKernel,
    DTensor,
    LibraryKernel,
    Load,
    Loop,
    Statement,
    Store,
    ThreadGraph,
    TileDim,
)
from mirage.mugraph.walk import size_of
from mirage.operators.block_operators import BLOCK

LoadText = tuple[
    tuple[str, ...], str, list[str], str
]  # a load's dims, what it calls, its arguments, what follows the call
INLINE = ("neg", "inv", "sqrt")  # read better as part of what uses them: a - b, a / b, tl.rsqrt(a)


@dataclass(frozen=True)
class Pending:
    """A dot that its accumulator will write as tl.dot(a, b, acc)."""

    compute: Compute


def loaded(graph: BlockGraph) -> set[str]:
    """The tensors that a block reads."""
    return {s.tensor for _, s in statements(graph) if isinstance(s, Load)}


def taken(kernel: CustomKernel | LibraryKernel) -> set[str]:
    """The tensors that a kernel reads."""
    if isinstance(kernel, LibraryKernel):
        return set(kernel.args)
    return loaded(kernel.block) | (loaded(kernel.tail) if kernel.tail is not None else set())


class BlockWriter:
    """Writes one part of a kernel. `values` maps (container, tile name) to its text; container is a loop's position."""

    def __init__(self, symbols: Symbols, part: str, outer: Places | None = None) -> None:
        self.symbols, self.part = symbols, part
        self.graph = symbols.graph(part)
        self.places = Places(symbols, part, outer)
        self.decisions = decide(self.graph, symbols.kernel.warps)
        self.uses = Uses(self.graph, self.decisions)
        self.base2 = Base2(symbols.mugraph, self.graph, self.uses)
        self.times_log2e: dict[tuple[int | None, str], TextValue] = {}  # factors that were given that number
        self.values: dict[tuple[int | None, str], TextValue | Pending] = {}
        self.old: dict[str, str] = {}
        self.lines: list[str] = []
        self.loaded: set[str] = set()
        self.before: list[str] = []  # the lines before the loop in hand
        self.where: int | None = None
        self.wide: dict[str, tuple[str, ...]] = {}  # of the loop in hand: accumulators that are reduced after it
        self.readers: dict[tuple[int | None, str], str] = {
            (where, s.arg): s.out for where, s in statements(self.graph) if isinstance(s, Accumulate)
        }
        computes = (c for _, s in statements(self.graph) for c in parts(s) if isinstance(c, Compute))
        self.reduced = {c.attr("dim") for c in computes if c.op in ("sum", "max", "dot")}

    def reader(self, name: str) -> str:
        """The accumulator that reads a tile in the loop in hand, if any."""
        return self.readers.get((self.where, name), "")

    # ---- names
    def bind(self, name: str, text: str, value: TextValue, hint: str = "") -> TextValue:
        """Writes `name = text` under a free name, like `hint` if one is given, and makes it the tile's value."""
        fresh = self.symbols.names.fresh(hint or name)
        self.lines.append(f"{fresh} = {text}")
        bound = replace(value, text=fresh, level=ATOM, form="", inner=(), number=None)
        self.values[(self.where, name)] = bound
        return bound

    def found(self, name: str) -> TextValue | Pending:
        base, old = old_value.bare(name), old_value.is_old(name)
        if old and base in self.old:
            return TextValue(self.old[base], self.accumulator(base).dims)
        for key in ((self.where, base), (None, base)):
            if key in self.values:
                return self.values[key]
        raise EmissionRefused(f"tile {name!r} is read before it is computed")

    def kept(self, name: str) -> TextValue:
        """A tile as it is bound: of some that is times log2(e) (`base2`)."""
        value = self.found(name)
        if isinstance(value, Pending):
            raise EmissionRefused(f"tile {name!r} is read before its accumulator")
        return value

    def value(self, name: str) -> TextValue:
        value = self.kept(name)
        if self.uses.key(self.where, name) in self.base2.kept:
            return replace(value, text=f"{value.at(PRODUCT)} * {LN2}", level=PRODUCT)
        return value

    def accumulator(self, name: str) -> TextValue:
        value = self.values[(None, name)]
        assert isinstance(value, TextValue)
        return value

    # ---- statements
    def write(self) -> None:
        """Writes the part into `lines`; the index vectors that it needs are in `places.head`."""
        for i, item in enumerate(self.graph.body):
            if isinstance(item, Loop):
                self.loop(i, item)
            else:
                self.statement(item)

    def statement(self, s: Statement) -> None:
        if isinstance(s, Load):
            self.load(s)
        elif isinstance(s, Compute):
            self.compute(s)
        elif isinstance(s, ThreadGraph):
            for c in s.body:
                self.compute(c)
        elif isinstance(s, Accumulate):
            self.accumulate(s)
        else:
            self.store(s)

    def loop(self, position: int, loop: Loop) -> None:
        dim = self.graph.dim(loop.dim)
        self.wide = {d.accumulator: d.wide for d in self.decisions.deferred.get(position, ())}
        for s in loop.body:
            if isinstance(s, Accumulate):
                self.start(s)
        first, stop = self.run(loop.dim)
        counter = self.symbols.names.fresh(f"tile_{dim.name}")
        self.before, self.lines, self.where = self.lines, [], position
        outside = self.before
        head = self.places.enter_loop(dim.name, counter)
        for n, s in enumerate(loop.body):
            if isinstance(s, Accumulate) and self.old_wanted(loop.body[n:], s.out):
                self.old[s.out] = self.symbols.names.fresh(f"{s.out}_old")
                self.lines.append(f"{self.old[s.out]} = {self.accumulator(s.out).text}")
            self.statement(s)
        body = [*head, *self.lines]
        self.places.leave_loop()
        self.lines, self.where, self.old = outside, None, {}
        span = f"{first}, {stop}" if first != "0" else stop
        called = f"range({span}):"
        stages = self.symbols.kernel.stages
        if stages > 1 and not self.decisions.has_product(position):  # with them the compiler prefetches by itself
            called = f"tl.range({span}, num_stages={stages}):"
        self.lines.append(f"for {counter} in {called}")
        self.lines += [INDENT + line for line in body]
        for s in loop.body:
            if isinstance(s, Accumulate) and s.out in self.wide:
                wide, rest = self.wide[s.out], self.places.wide(s.dims)
                text = f"tl.sum({self.accumulator(s.out).text}, axis={wide.index(loop.dim)})"
                self.bind(s.out, permute(text, tuple(d for d in wide if d != loop.dim), rest), TextValue("", rest))
        self.wide = {}

    def start(self, s: Accumulate) -> None:
        """An accumulator before its loop: 0, what an earlier one is, or -inf for a maximum."""
        dims = self.wide.get(s.out) or self.places.wide(s.dims)
        shape = self.shape(dims)
        text = f"tl.zeros({shape}, tl.float32)" if dims else "tl.full((), 0.0, tl.float32)"
        if s.op == "max":
            text = f'tl.full({shape}, float("-inf"), tl.float32)'
        if s.start:
            before = self.accumulator(s.start)
            text = permute(before.text, before.dims, dims)
        self.bind(s.out, text, TextValue("", dims), f"{s.out}_wide" if s.out in self.wide else "")

    def old_wanted(self, rest: tuple[Statement, ...], name: str) -> bool:
        """Whether the value before this update is read after it."""
        for s in rest[1:]:
            computes = s.body if isinstance(s, ThreadGraph) else (s,)
            for c in computes:
                if isinstance(c, Compute) and old_value.old(name) in c.args:
                    return True
                if isinstance(c, Accumulate) and any(a == name for _, a in c.update):
                    return True
        return False

    def run(self, name: str) -> tuple[str, str]:
        """The first tile of this block's share of a loop, and the one after the last."""
        dim = self.graph.dim(name)
        size, block = self.places.size_of(dim), self.symbols.tile(self.part, dim)
        tiles = f"({size.at(SUM)} + {block} - 1) // {block}"
        split = [d for d in self.graph.dims if d.role == "split" and d.splits == name]
        if not split:
            return "0", tiles
        if len(split) > 1:
            raise EmissionRefused(f"loop {name!r} is split twice")
        parts = self.symbols.tile(self.part, split[0])
        names = self.symbols.names
        count, each, first = (names.fresh(f"{x}_{name}") for x in ("tiles", "share", "first"))
        self.lines.append(f"{count}: tl.constexpr = {tiles}")
        self.lines.append(f"{each}: tl.constexpr = ({count} + {parts} - 1) // {parts}")
        self.lines.append(f"{first} = {self.places.index(split[0]).text} * {each}")
        return first, f"min({first} + {each}, {count})"

    def shape(self, dims: tuple[str, ...]) -> str:
        tiles = [self.symbols.tile(self.part, self.graph.dim(d)) for d in dims]
        return "(" + ", ".join(tiles) + ("," if len(tiles) == 1 else "") + ")"

    # ---- memory
    def load(self, s: Load) -> None:
        tensor = self.symbols.tensor(s.tensor)
        if tensor.dtype == "fp64":
            raise EmissionRefused(f"{tensor.name} is float64, kernels compute in float32", next_step="cast it first")
        wanted = self.places.wide(s.dims)
        dims, called, arguments, shaped = (self.copied if s.by == "descriptor" else self.fetched)(s, tensor, wanted)
        use = self.uses.of(self.where, s.out)
        kind = {"bool": "b", "int64": "i", "int32": "i", "int8": "i"}.get(tensor.dtype, "f")
        cast = {"fp32": "", "bool": "", "int64": "", "int32": "", "int8": "tl.int32"}.get(tensor.dtype, "tl.float32")
        own = cast and not use.dots
        name = self.symbols.names.fresh(s.out)
        self.lines += call(f"{name} = {called}", arguments, shaped + (f".to({cast})" if own else ""))
        if use.others and dims != wanted:
            self.lines.append(f"{name} = {permute(name, dims, wanted)}")
            dims = wanted
        text = name
        if cast and use.dots and use.others:
            text = self.symbols.names.fresh(
                f"{s.out}_{cast.removeprefix('tl.').replace('float', 'f').replace('int', 'i')}"
            )
            self.lines.append(f"{text} = {name}.to({cast})")
        storage = tensor.dtype if tensor.kind == "input" or tensor.dtype != "fp32" else ""
        self.values[(self.where, s.out)] = TextValue(text, dims, kind, raw=name, storage=storage)
        self.loaded.add(s.out)

    def fetched(self, s: Load, tensor: DTensor, wanted: tuple[str, ...]) -> LoadText:
        """A load by pointers."""
        dims = self.memory_order(s, wanted)
        arguments = [self.places.pointer(tensor, s.index, dims)]
        mask = self.places.inside(tensor, s.index, dims)
        if mask is not None:
            arguments.append(f"mask={mask.text}")
            arguments.append(f"other={self.padding(s.pad, tensor)}")
        if self.read_once(s):
            arguments.append('eviction_policy="evict_first"')
        return dims, "tl.load", arguments, ""

    def copied(self, s: Load, tensor: DTensor, wanted: tuple[str, ...]) -> LoadText:
        """A load by a descriptor, which also says what lies outside the tensor."""
        whole = described(self.symbols.mugraph, self.graph, s)
        if refused(self.symbols.mugraph, self.graph, s) or self.part:
            raise EmissionRefused(f"the tile {s.out!r} of {s.tensor!r} has no descriptor")
        dims = tuple(d.name for d in whole if d.name in wanted)
        starts = ", ".join(self.places.start(d) for d in whole)
        shape = ", ".join(self.symbols.tile(self.part, self.graph.dim(d)) for d in dims)
        shaped = f".reshape({shape})" if len(dims) < len(whole) else ""
        return dims, f"{self.symbols.descriptor(s.tensor, whole)}.load", [f"[{starts}]"], shaped

    def read_once(self, s: Load) -> bool:
        """Whether each element is read by one block alone, in a loop, and by nothing after it: it need not stay in the cache."""
        if self.where is None or self.read_later(s):
            return False
        own = {self.places.dim_of[a].name for d in s.index for a in d.axes}
        blocks = [d for d in self.graph.dims if d.role in ("grid", "split") and self.blocks(d) > 1]
        return all(d.name in own or d.splits in own for d in blocks)

    def read_later(self, s: Load) -> bool:
        """Whether another loop of this block, its tail or a later kernel reads the tensor too."""
        kernel, kernels = self.symbols.kernel, self.symbols.mugraph.kernels
        place = next(i for i, k in enumerate(kernels) if k == kernel)
        here = [where for where, x in statements(self.graph) if isinstance(x, Load) and x.tensor == s.tensor]
        return (
            any(where != self.where for where in here[here.index(self.where) + 1 :])
            or (not self.part and kernel.tail is not None and s.tensor in loaded(kernel.tail))
            or any(s.tensor in taken(k) for k in kernels[place + 1 :])
        )

    def blocks(self, d: TileDim) -> int:
        """How many blocks there are along a dim of the grid."""
        return d.parts if d.role == "split" else -(-size_of(self.symbols.mugraph, d) // d.tile)

    def memory_order(self, s: Load, dims: tuple[str, ...]) -> tuple[str, ...]:
        """The dims of a tile as they lie in memory, the fastest last: only so does the compiler pipeline the load. Outside
        loops a dim that is reduced stands behind the others, but for the fastest: the compiler spreads the warps over the
        first dim, and a reduction across warps sends every element through shared memory."""
        place = {self.places.dim_of[a].name: i for i, a in enumerate(a for d in s.index for a in d.axes)}
        order = sorted(dims, key=lambda d: place.get(d, -1))
        if self.where is None:
            order = sorted(order[:-1], key=lambda d: d in self.reduced) + order[-1:]
        return tuple(order)

    def padding(self, pad: float, tensor: DTensor) -> str:
        if tensor.dtype in ("bool", "int64", "int32", "int8"):
            return str(int(pad))
        if pad != pad or pad in (float("inf"), float("-inf")):
            return f'float("{pad}")'
        return repr(float(pad))

    def store(self, s: Store) -> None:
        tensor = self.symbols.tensor(s.tensor)
        value = self.value(s.tile)
        order = {a: i for i, a in enumerate(a for d in s.index for a in d.axes)}
        if tensor.dtype == "fp64":
            raise EmissionRefused(f"{tensor.name} is float64, kernels compute in float32", next_step="cast it first")
        touched = {self.places.dim_of[a].name for a in order if a in self.places.dim_of}
        dims = tuple(d.name for d in self.graph.dims if d.name in touched and self.places.wide((d.name,)))
        if value.dims and set(value.dims) == set(dims):
            dims = value.dims
        pointer = self.places.pointer(tensor, s.index, dims)
        mask = self.places.inside(tensor, s.index, dims)
        out = spread(value, dims)
        if out.kind == "c":
            text = out.text
        else:
            text = (
                out.text if tensor.dtype == "fp32" and out.kind == "f" else f"{out.at(ATOM)}.to({self.element(tensor)})"
            )
        lines = call("tl.store", [pointer, text, *([f"mask={mask.text}"] if mask is not None else [])])
        self.lines += self.by_first_block(s, lines)

    def by_first_block(self, s: Store, lines: list[str]) -> list[str]:
        """A store's lines; where the blocks along some dims hold the same tile, for the first of them alone."""
        if not s.first:
            return lines
        ids = [f"{self.places.program_id(self.graph.dim(d))} == 0" for d in s.first]
        condition = ids[0] if len(ids) == 1 else " & ".join(f"({i})" for i in ids)
        return [f"if {condition}:", *(f"    {line}" for line in lines)]

    def element(self, tensor: DTensor) -> str:
        return f"{self.symbols.pointer(tensor.name)}.dtype.element_ty"

    # ---- operators
    def compute(self, c: Compute) -> None:
        key = (self.where, c.out)
        dims = self.places.wide(c.dims)
        if c.op == "const":
            self.values[key] = self.constant(c.attr("value"))
        elif c.op == "size":
            self.values[key] = TextValue(self.symbols.size(c.attr("axis")), (), "c")
        elif c.op == "index":
            self.values[key] = self.places.axis(c.attr("axis"))
        elif c.op == "mask":
            inside = self.places.mask(self.graph.dim(c.attr("dim")))
            self.values[key] = inside if inside is not None else number(constant("1"))
        elif c.op in ("sum", "dot") and self.reader(c.out) in self.wide:
            self.values[key] = self.summand(c)
        elif c.op in ("sum", "max"):
            self.reduce(c, dims)
        elif c.op == "dot":
            product = self.decisions.product(self.where, c)
            if product is not None and product.fused:
                self.values[key] = Pending(c)
            else:
                self.bind(c.out, self.waited(c, self.contraction(c, dims, "")), TextValue("", dims))
        else:
            value = self.pointwise(c, dims)
            use = self.uses.of(self.where, c.out)
            inline = c.op in INLINE and use.total == 1 and use.containers == {self.where}
            if inline or value.kind == "c":
                self.values[key] = value
            else:
                self.bind(c.out, value.text, value)

    def pointwise(self, c: Compute, dims: tuple[str, ...]) -> TextValue:
        key, kept = self.uses.key(self.where, c.out), self.base2.kept
        if exponent(c) and self.uses.key(self.where, c.args[0]) in kept:
            return template(BLOCK[c.op].exp2, [spread(as_float(self.kept(c.args[0])), dims)], dims, "f")
        if key not in kept and not self.base2.compares(self.where, c, kept):
            return pointwise(c.op, [self.value(a) for a in c.args], dims)
        args = [self.kept(a) for a in c.args]
        if key in self.base2.factor:
            place = self.base2.factor[key]
            self.lines.append("# in units of log2(e), for tl.exp2")
            args[place] = self.scaled(c.args[place])
        return pointwise(c.op, args, dims)

    def scaled(self, name: str) -> TextValue:
        """A factor times log2(e), computed where the factor was."""
        key = self.uses.key(self.where, name)
        if self.kept(name).number is not None:
            return TextValue(f"({self.kept(name).text} * {LOG2E})", (), "c")
        if key not in self.times_log2e:
            value, fresh = as_float(self.kept(name)), self.symbols.names.fresh(f"{name}_log2e")
            lines = self.lines if key[0] == self.where else self.before
            lines.append(f"{fresh} = {value.at(PRODUCT)} * {LOG2E}")
            self.times_log2e[key] = replace(value, text=fresh, level=ATOM, form="", inner=(), raw="", number=None)
        return self.times_log2e[key]

    def constant(self, text: str) -> TextValue:
        if text == "-inf":
            return TextValue('float("-inf")', (), "c")
        return number(constant(text))

    def reduce(self, c: Compute, dims: tuple[str, ...]) -> None:
        same = self.uses.key(self.where, c.out) in self.base2.kept
        value = as_float(self.kept(c.args[0]) if same else self.value(c.args[0]))
        if c.attr("dim") not in value.dims:
            if c.op == "sum" and self.graph.dim(c.attr("dim")).tile > 1:
                raise EmissionRefused(f"{c.out!r} sums over a dim that its argument lacks")
            self.values[(self.where, c.out)] = value
            return
        rest = tuple(d for d in value.dims if d != c.attr("dim"))
        text = f"tl.{c.op}({value.text}, axis={value.dims.index(c.attr('dim'))})"
        self.bind(c.out, permute(text, rest, dims), TextValue("", dims))

    def summand(self, c: Compute) -> TextValue:
        """What a reduction adds up, element by element."""
        values = [as_float(self.value(a)) for a in c.args]
        if c.op == "sum":
            return values[0]
        every = tuple(d.name for d in self.graph.dims if any(d.name in v.dims for v in values))
        return pointwise("mul", values, every)

    def waited(self, c: Compute, text: str) -> str:
        """The text of a product, or one that waits for it (see `WAITS`)."""
        shared = any(a in self.loaded and self.uses.of(self.where, a).others for a in c.args)
        if self.where is None or not shared or self.decisions.product(self.where, c) is None:
            return text
        self.lines += WAITS
        return f"{text} + 0.0"

    def contraction(self, c: Compute, dims: tuple[str, ...], add: str) -> str:
        """A dot's text: on tensor cores where the tiles are large enough, else a sum of products."""
        product = self.decisions.product(self.where, c)
        k = c.attr("dim")
        values = [self.value(a) for a in c.args]
        if product is None:
            if any(k not in v.dims for v in values) and self.graph.dim(k).tile > 1:
                raise EmissionRefused(f"{c.out!r} contracts a dim that an argument lacks")
            summand = self.summand(c)
            every = summand.dims
            if k not in every:
                return summand.text
            rest = tuple(d for d in every if d != k)
            return permute(f"tl.sum({summand.text}, axis={every.index(k)})", rest, dims)
        batch, m, n = product.batch, product.m, product.n
        left, right = (values[1], values[0]) if product.swapped else (values[0], values[1])
        wide = self.symbols.kernel.operands == "wide"
        storage = product_dtype((left.storage, right.storage), wide, self.symbols.mugraph)
        a = permute(self.operand(left, right, storage), left.dims, (*batch, m, k))
        b = permute(self.operand(right, left, storage), right.dims, (*batch, k, n))
        arguments = [a, b, *([permute(add, dims, (*batch, m, n))] if add else [])]
        if storage == "fp32":
            short = wide and "fp32" not in (left.storage, right.storage)
            arguments.append('input_precision="tf32"' if short else 'input_precision="ieee"')
        return permute(f"tl.dot({', '.join(arguments)})", (*batch, m, n), dims)

    def operand(self, value: TextValue, other: TextValue, storage: str) -> str:
        if value.storage == storage and value.raw:
            return value.raw
        if storage == "fp32":
            narrow = value.raw and value.storage and value.storage != "fp32"
            return f"{value.raw}.to(tl.float32)" if narrow else as_float(value).text
        like = f"{other.raw}.dtype" if other.storage == storage else f"tl.{DOT_TYPES[storage]}"
        base = value.raw if value.storage and value.raw else as_float(value).at(ATOM)
        if value.storage == "fp8e5m2" and storage == "bf16":  # the direct way makes numbers of infinity and NaN
            base += ".to(tl.float32)"
        return f"{base}.to({like})"

    def accumulate(self, s: Accumulate) -> None:
        acc = self.accumulator(s.out)
        arg = self.found(s.arg)
        terms = [self.carried(s, coefficient, name) for coefficient, name in s.update]
        if isinstance(arg, Pending):
            before = " + ".join(t.at(SUM) for t in terms) or acc.text
            text = self.contraction(replace(arg.compute, dims=s.dims), acc.dims, before)
            self.lines.append(f"{acc.text} = {self.waited(arg.compute, text)}")
            return
        value = spread(as_float(arg), acc.dims)
        if s.op == "max":
            if s.update:
                raise EmissionRefused(f"accumulator {s.out!r} carries a maximum")
            self.lines.append(f"{acc.text} = tl.maximum({acc.text}, {value.text})")
        elif not s.update:
            self.lines.append(f"{acc.text} += {value.text}")
        else:
            self.lines.append(f"{acc.text} = {' + '.join([*(t.at(SUM) for t in terms), value.at(SUM)])}")

    def carried(self, s: Accumulate, coefficient: str, name: str) -> TextValue:
        """coefficient * accumulator, as that was when the iteration began."""
        acc = self.accumulator(s.out)
        name = name or s.out
        source = TextValue(self.old.get(name, self.accumulator(name).text), self.accumulator(name).dims)
        if name == s.out:
            source = TextValue(acc.text, acc.dims)
        factor = self.value(coefficient)
        return replace(pointwise("mul", [source, factor], acc.dims), level=PRODUCT if factor.kind != "b" else ATOM)


# Triton 3.6 gives a loaded tile that a product and something else read one buffer too few, and so begins to overwrite it while a
# warp group's product, which nothing waits for, still reads it. What reads the sum waits for the product.
WAITS = (
    "# + 0.0 waits for the product: its operand is also read otherwise, and Triton would",
    "# load the tile after the next over it",
)

"""The error bound of a µGraph as it is emitted: every operator, accumulator, product and store of its schedule in its own order.

What the emitter decides is asked of the same tables: which products matrix units make and in which dtype they read, which sums are
added up whole and reduced after their loop, and which exponents are kept times log2(e).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from string import ascii_letters

import numpy as np

from mirage.codegen.exp2 import Base2
from mirage.codegen.product_dtype import product_dtype
from mirage.codegen.tile_uses import Uses
from mirage.ir.dtypes import DTYPES
from mirage.ir.opaque_calls import is_call
from mirage.mugraph import old_value
from mirage.mugraph.decisions import Decisions, Deferred, Product, decide
from mirage.mugraph.grammar import (
    Accumulate,
    Compute,
    CustomKernel,
    LibraryKernel,
    Load,
    Loop,
    MuGraph,
    Store,
    TileDim,
)
from mirage.mugraph.walk import PlacedBlock, parts, sites
from mirage.operators.error_rules import STRETCH, UNIT, absolute, own_unit
from mirage.verify.rounding.bounds import TF32_CUT, ErrorBounds, contract, cut, join, rounded, split
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.execute import BlockTile, Env, ExecutionFault, Machine, RunningBlock, evaluate_mugraph

SAMPLED = 4  # places in the grid of a kernel


class NotBounded(Exception):
    """A program of which no bound is known, with the reason."""


def parts_of(k: CustomKernel) -> Iterator[PlacedBlock]:
    yield PlacedBlock(k, "block", k.block)
    if k.tail is not None:
        yield PlacedBlock(k, "tail", k.tail)


class EmittedBlock:
    """What the emitter decides about one part of a kernel."""

    def __init__(self, mugraph: MuGraph, part: PlacedBlock) -> None:
        self.part, self.graph = part, part.graph
        self.decisions: Decisions = decide(part.graph, part.kernel.warps)
        self.uses = Uses(part.graph, self.decisions)
        self.base2 = Base2(mugraph, part.graph, self.uses)
        self.storage = {self.uses.key(where, s.out): self._kept(mugraph, s) for where, s in self._loads()}
        self.mugraph = mugraph

    def _loads(self) -> list[tuple[int | None, Load]]:
        found: list[tuple[int | None, Load]] = []
        for i, item in enumerate(self.graph.body):
            inner = [(i, s) for s in item.body] if isinstance(item, Loop) else [(None, item)]
            found += [(where, s) for where, s in inner if isinstance(s, Load)]
        return found

    @staticmethod
    def _kept(mugraph: MuGraph, s: Load) -> str:
        """The dtype in which a loaded tile may be read as it is; "" where it is read as computed."""
        tensor = mugraph.tensor(s.tensor)
        return tensor.dtype if tensor.kind == "input" or tensor.dtype != "fp32" else ""

    def stored_as(self, where: int | None, name: str) -> str:
        return "" if old_value.is_old(name) else self.storage.get(self.uses.key(where, name), "")


def row_depth(n: int, warps: int) -> int:
    """The longest chain of additions in the sum of a row: on a device of what a thread has of it (up to 8 elements, or its share of
    them), then between the 32 lanes of a warp, then between warps; in numpy of 16 additions, 3, and one for each halving down
    to 128."""
    thread = max(8, -(-n // (32 * warps)))
    return max(thread + 5 + (warps - 1).bit_length(), 16 + 3 + max(0, (-(-n // 128) - 1).bit_length()))


class RoundedBlock(RunningBlock):
    """One block with the roundings of its emitted text."""

    a: ErrorBounds

    def __init__(
        self, machine: RoundedMachine, part: PlacedBlock, emitted: EmittedBlock, place: dict[str, int]
    ) -> None:
        super().__init__(machine, part.graph, place, part.where)
        self.emitted = emitted
        self.free_shift = False
        self.relative: dict[
            str, float
        ] = {}  # of a product that is added to its accumulator in place: `cut` of its lanes

    # ---- what is decided
    def product(self, c: Compute) -> Product | None:
        return self.emitted.decisions.product(self.container, c)

    def deferred(self, name: str, accumulator: bool = False) -> Deferred | None:
        """The decision on a sum that is reduced after the loop in hand, by its summand or its accumulator."""
        if self.container is None:
            return None
        found = self.emitted.decisions.deferred.get(self.container, ())
        return next((d for d in found if name == (d.accumulator if accumulator else d.summand)), None)

    # ---- statements
    def compute(self, c: Compute, env: Env) -> BlockTile:
        if self.deferred(c.out) is not None:
            return self.summand(c, env)
        if c.op == "dot":
            decided = self.product(c)
            if decided is not None:
                return self.matrix_product(c, decided, env)
        made = self.row_sum(c, env) if c.op == "sum" else None
        made = made or super().compute(c, env)
        if self.emitted.uses.key(self.container, c.out) in self.emitted.base2.factor:
            value, error = split(self.a.lift(made.value))  # the factor times log2(e): both are rounded
            return BlockTile(
                made.dims, join(value, error + 2 * UNIT * np.where(np.isinf(value), 0.0, absolute(value, error)))
            )
        return made

    def row_sum(self, c: Compute, env: Env) -> BlockTile | None:
        """The sum of a tile of one dim, whose order is known (`row_depth`); None of others."""
        arg, over = self.tile(c.args[0], env), c.attr("dim")
        if (
            over not in arg.dims
            or any(d != over and self.dims[d].tile > 1 for d in arg.dims)
            or c.dims != tuple(d for d in arg.dims if d != over)
        ):
            return None
        depth = row_depth(self.dims[over].tile, self.emitted.part.kernel.warps)
        return BlockTile(c.dims, self.a.total(arg.value, (1 + arg.dims.index(over),), depth))

    def summand(self, c: Compute, env: Env) -> BlockTile:
        """What a reduction adds up, element by element."""
        args = [self.tile(x, env) for x in c.args]
        dims = tuple(d.name for d in self.graph.dims if any(d.name in x.dims for x in args))
        parts = [self.a.lift(self.align(x, dims)) for x in args]
        return BlockTile(dims, self.a.mul(*parts) if c.op == "dot" else parts[0])

    def matrix_product(self, c: Compute, decided: Product, env: Env) -> BlockTile:
        args = [self.tile(x, env) for x in c.args]
        kept = [self.emitted.stored_as(self.container, x) for x in c.args]
        wide = self.emitted.part.kernel.operands == "wide"
        dtype = product_dtype((kept[0], kept[1]), wide, self.emitted.mugraph)
        tf32 = dtype == "fp32" and wide and "fp32" not in kept
        values = [self.operand(self.a.lift(x.value), dtype, tf32) for x in args]
        names = dict(zip((d.name for d in self.graph.dims), ascii_letters))
        dims = tuple(d for d in c.dims if any(d in x.dims for x in args))
        left, right = ("".join(names[d] for d in x.dims) for x in args)
        matrix_unit = dtype != "fp32" or tf32
        out = contract(f"{left},{right}->{''.join(names[d] for d in dims)}", values[0], values[1], matrix_unit)
        if decided.fused:
            self.relative[c.out] = cut(self.dims[decided.k].tile, matrix_unit)
        return BlockTile(dims, out)

    @staticmethod
    def operand(x: Array, dtype: str, tf32: bool) -> Array:
        if tf32:
            value, error = split(x)
            return join(value, error + TF32_CUT * absolute(value, error))
        return rounded(x, dtype, own_unit)

    def accumulate(self, s: Accumulate) -> None:
        late = self.deferred(s.out, accumulator=True)
        if late is not None:
            new = self.tile(s.arg, self.env)
            before = self.a.lift(self.align(self.old[s.out], new.dims))
            self.env[s.out] = BlockTile(new.dims, self.a.add(before, new.value))
            return
        super().accumulate(s)
        if s.op == "max" and self.free_shift:
            self.env[s.out] = self.as_shift(self.env[s.out])
        relative = self.relative.get(s.arg, 0.0)
        if relative:  # the unit adds its products to what is there, whose size counts too
            made = self.env[s.out]
            value, error = split(self.a.lift(made.value))
            for coefficient, name in s.update or (("", ""),):
                there = self.a.lift(self.align(self.old[name or s.out], made.dims))
                if coefficient:
                    there = self.a.lift(self.a.mul(self.align(self.tile(coefficient, self.env), made.dims), there))
                error = error + relative * absolute(*split(there))
            self.env[s.out] = BlockTile(made.dims, join(value, error))

    def as_shift(self, tile: BlockTile) -> BlockTile:
        """A running maximum of which the result is independent. The computed one shifts as well as the exact one, so it is exact
        by definition. What is computed from it is then larger or smaller by a common factor, of which the error bounds are multiples
        (`STRETCH` is room for it), and the distances to it by its error, which their roundings see (4 units are room for that)."""
        value, error = split(self.a.lift(tile.value))
        near = 2 * error <= np.log1p(STRETCH)
        return BlockTile(tile.dims, join(value, np.where(near, 4 * UNIT * error, error)))

    def loop(self, loop: Loop) -> None:
        super().loop(loop)
        for s in loop.body:
            late = self.deferred(s.out, accumulator=True) if isinstance(s, Accumulate) else None
            if late is not None and isinstance(s, Accumulate):
                tile = self.env[s.out]
                if loop.dim in tile.dims:
                    axis = 1 + tile.dims.index(loop.dim)
                    self.env[s.out] = BlockTile(
                        tuple(d for d in tile.dims if d != loop.dim), self.a.sum(tile.value, axis)
                    )

    def stored(self, value: Array, s: Store) -> Array:
        if self.emitted.uses.key(None, s.tile) in self.emitted.base2.kept:  # log2(e) is taken out again
            exact, error = split(self.a.lift(value))
            value = join(exact, error + 2 * UNIT * np.where(np.isinf(exact), 0.0, absolute(exact, error)))
        dtype = self.m.graph.tensor(s.tensor).dtype
        return rounded(value, dtype) if DTYPES[dtype].floating else value


class RoundedMachine(Machine):
    """Device memory of one run with bounds. `made_for`: the µGraph at the tiles that its text was emitted for, which
    decide how; `free`: its outputs are independent of its running maxima."""

    a: ErrorBounds

    def __init__(
        self, made_for: MuGraph, free: bool, graph: MuGraph, inputs: Mapping[str, Array], a: ErrorBounds, random: bool
    ) -> None:
        super().__init__(graph, inputs, a, random)
        self.free = free
        self.emitted = {part.where: EmittedBlock(made_for, part) for part in parts(made_for)}

    def block(self, part: PlacedBlock, place: dict[str, int]) -> RunningBlock:
        block = RoundedBlock(self, part, self.emitted[part.where], place)
        block.free_shift = self.free
        return block

    def groups(self, k: CustomKernel, shared: list[TileDim]) -> Iterable[dict[str, int]]:
        """Of a kernel from which no other one reads, a few places: the first and the last, whose tiles reach beyond the sizes, and
        some between."""
        every = list(self.blocks(shared))
        stored = {s.statement.tensor for p in parts_of(k) for s in sites(p) if isinstance(s.statement, Store)}
        if len(every) <= SAMPLED or any(self.graph.tensor(x).kind != "output" for x in stored) or stored & self.read:
            return every
        return [every[i] for i in np.unique(np.linspace(0, len(every) - 1, SAMPLED).astype(int))]

    @cached_property
    def read(self) -> set[str]:
        """The tensors that kernels load or are given."""
        loaded = {s.statement.tensor for p in parts(self.graph) for s in sites(p) if isinstance(s.statement, Load)}
        return loaded.union(*(k.args for k in self.graph.kernels if isinstance(k, LibraryKernel)))

    def library(self, k: LibraryKernel) -> Array:
        if is_call(k.op):
            raise NotBounded(f"{k.op} is PyTorch's own")
        dtype = self.graph.tensor(k.out).dtype
        self.a.operands = dtype if DTYPES[dtype].floating else "fp32"
        return rounded(super().library(k), self.a.operands)


def mugraph_bound(
    graph: MuGraph, made_for: MuGraph, inputs: Mapping[str, Array], free_shift: bool = False
) -> dict[str, Array]:
    """Of a text that was emitted for a µGraph and runs at the sizes and tiles of `graph`: by output (value, bound on the error) of each
    element; NaN where it is written by a block that was not looked at. `inputs`: float64, flags or integers, by name; `free_shift`:
    the outputs do not depend on the running maxima. Raises NotBounded."""
    given = {name: np.asarray(x)[None] for name, x in inputs.items()}
    try:
        run = evaluate_mugraph(graph, given, ErrorBounds(), machine=partial(RoundedMachine, made_for, free_shift))
    except ExecutionFault as fault:
        raise NotBounded(str(fault)) from fault
    return {name: np.where(run.writes[name] > 0, x, np.nan) for name, x in run.outputs.items()}

"""Base-2 exponentials: chooses the tiles of a block that are kept times log2(e), so that exponentials of them are `tl.exp2`.

A GPU has an instruction for 2^x alone: `tl.exp(x)` multiplies every element by log2(e) first. Where the exponent is a
scaled tile (the scores of an attention, times 1 / sqrt(d)), that number goes into the scale, and so does it with all that is
made of such tiles by operators that commute with a positive factor: differences, maxima, running maxima (the trick is
FlashAttention-2's). Which tiles these are is read off the block graph as a greatest fixed point: every tile that could
be kept so, less those that are also read in another way, and those of which no exponential is made. A running maximum that is
stored has the number taken out again; that is only done where nothing but exponents is made of what is stored: there the
maximum is a shift that cancels, and its last digit does not matter.
"""

from __future__ import annotations

import math
from collections import defaultdict

from mirage.codegen.tile_uses import Uses, parts, reads, statements
from mirage.mugraph.decisions import decide
from mirage.mugraph.grammar import Accumulate, BlockGraph, Compute, LibraryKernel, Load, MuGraph, Store
from mirage.mugraph.walk import PlacedBlock
from mirage.mugraph.walk import parts as blocks
from mirage.operators.block_operators import BLOCK

LOG2E, LN2 = 1.4426950408889634, 0.6931471805599453
CHEAPER = 8  # a factor of the loop takes the number where it has so many times fewer elements than the product

Key = tuple[int | None, str]
Read = Compute | Accumulate | Store


class Base2:
    """`kept`: the tiles that are bound times log2(e). `factor`: of each product among them that begins such a chain, the place of
    the argument that takes the number."""

    def __init__(self, mugraph: MuGraph, graph: BlockGraph, uses: Uses) -> None:
        self.mugraph, self.graph, self.uses = mugraph, graph, uses
        self.made: dict[Key, Compute | Accumulate] = {}
        self.where: dict[Key, int | None] = {}  # the loop of what is made
        self.readers: dict[Key, list[tuple[int | None, Read]]] = defaultdict(list)
        for where, s in statements(graph):
            for c in parts(s):
                if isinstance(c, Load):
                    continue
                if not isinstance(c, Store):
                    key = (None if isinstance(c, Accumulate) else where, c.out)
                    self.made[key], self.where[key] = c, where
                for name in reads(c):
                    self.readers[uses.key(where, name)].append((where, c))
        self.factor: dict[Key, int] = {}
        self.kept = self._kept()
        self.factor = {k: i for k, i in self.factor.items() if k in self.kept}

    def _kept(self) -> set[Key]:
        kept = {k for k, c in self.made.items() if self.could(c)}
        while True:
            made = {k for k in kept if self.follows(k, kept)}
            good = {k for k in made if self.read_so(k, kept)}
            wanted = self.wanted(good)
            if wanted == kept:
                return kept
            kept = wanted

    def could(self, c: Compute | Accumulate) -> bool:
        if isinstance(c, Accumulate):
            return c.op == "max" and not c.update
        return scaling(c) == "homogeneous" or c.op in ("where", "mul")

    def neutral(self, key: Key) -> bool:
        """0 and -inf, which are the same times any positive number."""
        c = self.made.get(key)
        return isinstance(c, Compute) and c.op == "const" and c.attr("value") in ("0", "-inf")

    def follows(self, key: Key, kept: set[Key]) -> bool:
        """Whether the tile comes out times log2(e) where its arguments in `kept` are."""
        c = self.made[key]
        where = self.where[key]
        args = [self.uses.key(where, a) for a in reads(c)]
        if isinstance(c, Compute) and c.op == "mul":
            place = self.place(c, where)
            if not any(a in kept for a in args) and place is not None:
                self.factor[key] = place
                return True
            self.factor.pop(key, None)
            return sum(a in kept for a in args) == 1
        if isinstance(c, Compute) and c.op == "where":
            if args[0] in kept:
                return False
            args = args[1:]
        return any(a in kept for a in args) and all(a in kept or self.neutral(a) for a in args)

    def place(self, c: Compute, where: int | None) -> int | None:
        """The argument of a product of a loop that takes the number for least: a number, one from before the loop, or a small one."""
        if where is None:
            return None
        costs = []
        for i, a in enumerate(c.args):
            key = self.uses.key(where, a)
            made = self.made.get(key)
            if not isinstance(made, Compute) or made.op in ("mask", "index", "size"):
                continue
            if made.op == "const":
                return i
            size = self.elements(self.uses.wide(where, a))
            if key[0] is None or size * CHEAPER <= self.elements(c.dims):
                costs.append((key[0] is not None, size, i))
        return min(costs)[2] if costs else None

    def elements(self, dims: tuple[str, ...]) -> int:
        return math.prod(self.graph.dim(d).tile for d in dims)

    def read_so(self, key: Key, kept: set[Key]) -> bool:
        """Whether every reader takes the tile so, or stores it behind the loops where only exponents are made of it."""
        for where, c in self.readers[key]:
            if self.takes(where, c, kept):
                continue
            if where is not None or not isinstance(c, Store) or not only_exponents(self.mugraph, c.tensor):
                return False
        return True

    def takes(self, where: int | None, c: Read, kept: set[Key]) -> bool:
        if isinstance(c, Store):
            return False
        if isinstance(c, Compute) and (exponent(c) or self.compares(where, c, kept)):
            return True
        own = (None if isinstance(c, Accumulate) else where, c.out)
        return own in kept and own not in self.factor

    def compares(self, where: int | None, c: Compute, kept: set[Key]) -> bool:
        """Whether the operator compares tiles all of which are kept so."""
        args = [self.uses.key(where, a) for a in c.args]
        return (
            scaling(c) == "invariant"
            and any(a in kept for a in args)
            and all(a in kept or self.neutral(a) for a in args)
        )

    def wanted(self, good: set[Key]) -> set[Key]:
        """Those of which an exponential is made that a loop computes again and again."""
        found: set[Key] = set()
        todo = [
            self.uses.key(where, c.args[0])
            for (where, _), c in self.made.items()
            if isinstance(c, Compute) and exponent(c)
        ]
        if not any(k in good and k[0] is not None for k in todo):
            return set()
        while todo:
            key = todo.pop()
            if key in good and key not in found:
                found.add(key)
                c = self.made[key]
                todo += [self.uses.key(self.where[key], a) for a in reads(c)]
        return found


def scaling(c: Compute) -> str:
    """What a positive factor of its arguments does to an operator's result; nothing is known of one that no entry has."""
    entry = BLOCK.get(c.op)
    return entry.scaling if entry is not None else ""


def exponent(c: Compute) -> bool:
    """Whether the operator has a text that takes its argument times log2(e)."""
    entry = BLOCK.get(c.op)
    return entry is not None and bool(entry.exp2)


def ends(c: Compute) -> bool:
    """Whether an operator's result has nothing to do with the factor: an exponential takes it, a comparison does not see it."""
    return exponent(c) or scaling(c) == "invariant"


def only_exponents(m: MuGraph, tensor: str) -> bool:
    """Whether all that is made of a tensor between kernels are exponents, by differences and maxima."""
    if m.tensor(tensor).kind != "temp" or any(tensor in k.args for k in m.kernels if isinstance(k, LibraryKernel)):
        return False
    return all(_exponents_in(m, part, tensor) for part in blocks(m))


def _exponents_in(m: MuGraph, part: PlacedBlock, tensor: str) -> bool:
    """The same of one block: what is made of the tensor is followed until nothing new is reached."""
    graph = part.graph
    uses = Uses(graph, decide(graph, part.kernel.warps))
    tainted: set[Key] = set()
    before = -1
    while len(tainted) > before:
        before = len(tainted)
        for where, s in statements(graph):
            for c in parts(s):
                if not _reads_tainted(c, where, tensor, uses, tainted):
                    continue
                if isinstance(c, Store):
                    if not only_exponents(m, c.tensor):
                        return False
                elif _changes_exponents(c, where, uses, tainted):
                    return False
                else:
                    tainted.add((None if isinstance(c, Accumulate) else where, c.out))
    return True


def _reads_tainted(
    c: Load | Compute | Accumulate | Store, where: int | None, tensor: str, uses: Uses, tainted: set[Key]
) -> bool:
    """Whether a statement takes something that is made of the tensor, and does not end there as a comparison or exp does."""
    if isinstance(c, Load):
        return c.tensor == tensor
    if isinstance(c, Compute) and ends(c):
        return False
    return any(uses.key(where, a) in tainted for a in reads(c))


def _changes_exponents(
    c: Load | Compute | Accumulate | Store, where: int | None, uses: Uses, tainted: set[Key]
) -> bool:
    """Whether what a statement makes of exponents is anything but a difference, a maximum or a choice of them."""
    if isinstance(c, Accumulate):
        return c.op != "max" or bool(c.update)
    return isinstance(c, Compute) and scaling(c) != "homogeneous" and not shifts(c, where, uses, tainted)


def shifts(c: Compute, where: int | None, uses: Uses, tainted: set[Key]) -> bool:
    """Whether the operator selects between values by a condition that has nothing to do with them."""
    return c.op == "where" and uses.key(where, c.args[0]) not in tainted

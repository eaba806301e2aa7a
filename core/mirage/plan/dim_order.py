"""Layout: the order of the dims of each tile and of each intermediate tensor, chosen by an integer program.

A tile's order decides which operand of a dot stands left (64 rows or more there are a warp group's matrix instruction,
which reads both operands from shared memory; with fewer, every warp holds fragments), which tiles meet in one order
without an exchange through shared memory, and how a tile meets memory. The program (one 0/1 variable a tile and order,
one for each pair that may disagree) is solved by HiGHS; costs are bytes that one block moves beyond what it must. Layout
never changes what a µGraph computes (OSDI'25, section 6), so it is chosen last and for the chosen µGraph alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import permutations

from mirage.ir.dtypes import DTYPES
from mirage.ir.index import DimIndex
from mirage.mugraph import old_value
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    CustomKernel,
    DTensor,
    Load,
    Loop,
    MuGraph,
    Statement,
    Store,
    ThreadGraph,
)
from mirage.mugraph.walk import PlacedBlock, computes, dims_of_axes, parts, reads, size_of

FLOAT32, HALF = 4, 2
SECTOR = 32  # bytes: the least that a memory access moves
ROWS = 64  # of a warp group's matrix instruction
CHANGE = 1e-3  # bytes: an order that gains nothing stays as it was
MOST = 3  # dims of a tile whose orders are all tried; of more, the order stays

Order = tuple[str, ...]
Key = tuple[str, str]  # (where, name): a part's loop and tile, or ("", tensor)


@dataclass
class OrderVariable:
    """A tile or a tensor and its possible orders, the present one first; `alone` are bytes that an order costs."""

    orders: tuple[Order, ...]
    alone: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.alone = self.alone or [CHANGE * (i > 0) for i in range(len(self.orders))]


@dataclass(frozen=True)
class Edge:
    """Bytes that are moved where two orders disagree on the dims that both have. `seen` gives for each order of a tensor
    the order in which a tile finds its dims there."""

    a: Key
    b: Key
    bytes: float
    seen: tuple[tuple[Order, Order], ...] = ()

    def agree(self, a: Order, b: Order) -> bool:
        a = dict(self.seen).get(a, a)
        common = set(a) & set(b)
        return [d for d in a if d in common] == [d for d in b if d in common]


class Orders:
    """The integer program of one µGraph: its nodes and edges."""

    def __init__(self, m: MuGraph) -> None:
        self.m = m
        self.nodes: dict[Key, OrderVariable] = {}
        self.edges: list[Edge] = []
        for t in m.tensors:
            positions = tuple(str(i) for i in range(len(t.dims)))
            free = t.kind == "temp" and self.custom(t) and 1 < len(positions) <= MOST and not any(t.rigid)
            self.nodes["", t.name] = OrderVariable(tuple(permutations(positions)) if free else (positions,))
        for part in parts(m):
            _Block(self, part).write()

    def custom(self, t: DTensor) -> bool:
        """True if only custom kernels touch the tensor."""
        return not any(not isinstance(k, CustomKernel) and t.name in (*k.args, k.out) for k in self.m.kernels)

    def solve(self) -> dict[Key, Order]:
        """The cheapest orders. Ties keep what is."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import lil_matrix

        first: dict[Key, int] = {}
        cost: list[float] = []
        for key, n in self.nodes.items():
            first[key] = len(cost)
            cost += n.alone
        rows: list[tuple[dict[int, float], float, float]] = []
        for key, n in self.nodes.items():
            rows.append(({first[key] + i: 1.0 for i in range(len(n.orders))}, 1.0, 1.0))
        for e in self.edges:
            a, b = self.nodes[e.a], self.nodes[e.b]
            gap = len(cost)
            cost.append(e.bytes)
            for i, order in enumerate(a.orders):  # gap >= (a has this order) - (b has one that agrees)
                good = [j for j, other in enumerate(b.orders) if e.agree(order, other)]
                row = {gap: 1.0, first[e.a] + i: -1.0, **{first[e.b] + j: 1.0 for j in good}}
                rows.append((row, 0.0, math.inf))
        matrix = lil_matrix((len(rows), len(cost)))
        for r, (row, _, _) in enumerate(rows):
            for column, x in row.items():
                matrix[r, column] = x
        constraints = LinearConstraint(matrix.tocsr(), [low for _, low, _ in rows], [high for _, _, high in rows])
        found = milp(cost, integrality=[1] * len(cost), bounds=Bounds(0, 1), constraints=constraints)
        if found.x is None:
            raise AssertionError(f"the orders of {self.m.name} have no solution: {found.message}")
        chosen: dict[Key, Order] = {}
        for key, n in self.nodes.items():
            values = list(found.x[first[key] : first[key] + len(n.orders)])
            chosen[key] = n.orders[values.index(max(values))]
        return chosen


class _Block:
    """Adds one block graph's tiles to the program."""

    def __init__(self, orders: Orders, part: PlacedBlock) -> None:
        self.o, self.m, self.part, self.graph = orders, orders.m, part, part.graph
        self.keys: dict[str, Key] = {}
        self.loads: set[Key] = set()
        self.dim_of = dims_of_axes(part.graph)

    def write(self) -> None:
        for i, item in enumerate(self.graph.body):
            self.where, times = self.part.where, 1.0
            if isinstance(item, Loop):
                self.where, times = f"{self.part.where}/{i}", self.iterations(item)
                for s in item.body:  # what an accumulator was is read before it is written
                    if isinstance(s, Accumulate):
                        self.tile(s.out, s.dims)
            body = item.body if isinstance(item, Loop) else (item,)
            for s in body:
                self.statement(s, times, body)

    def iterations(self, loop: Loop) -> float:
        """The number of times that a block runs the loop's body."""
        d = self.graph.dim(loop.dim)
        shares = math.prod(x.parts for x in self.graph.dims if x.role == "split" and x.splits == loop.dim)
        return float(math.ceil(math.ceil(size_of(self.m, d) / d.tile) / shares))

    def statement(self, s: Statement, times: float, body: tuple[Statement, ...]) -> None:
        if isinstance(s, Load):
            self.loads.add(self.tile(s.out, s.dims))
            readers = self.graph.body if body == (s,) else body
            self.memory(s.tensor, s.index, s.out, times, load=True, meets=met_in_registers(s.out, readers))
        elif isinstance(s, Store):
            self.memory(s.tensor, s.index, s.tile, times, load=False, meets=True)
        elif isinstance(s, Accumulate):
            self.edge(s.arg, s.out, times)
            if s.start:
                self.edge(s.start, s.out, 1.0)
            for _, name in s.update:
                if name:
                    self.edge(name, s.out, times)
        else:
            for c in computes(s):
                self.compute(c, times)

    def wide(self, dims: tuple[str, ...]) -> Order:
        return tuple(d for d in dims if self.graph.dim(d).tile > 1 and self.graph.dim(d).role != "split")

    def tile(self, name: str, dims: tuple[str, ...]) -> Key:
        key = (self.where, name)
        wide = self.wide(dims)
        self.keys[name] = key
        if key not in self.o.nodes:
            rest = [p for p in permutations(wide) if p != wide] if len(wide) <= MOST else []
            self.o.nodes[key] = OrderVariable((wide, *rest))
        return key

    def key(self, name: str) -> Key:
        return self.keys[old_value.bare(name)]

    def size(self, key: Key) -> int:
        return math.prod(self.graph.dim(d).tile for d in self.o.nodes[key].orders[0])

    def edge(self, a: str, b: str, times: float) -> None:
        x, y = self.key(a), self.key(b)
        if len(set(self.o.nodes[x].orders[0]) & set(self.o.nodes[y].orders[0])) > 1:
            self.o.edges.append(Edge(x, y, times * FLOAT32 * self.size(x)))

    def compute(self, c: Compute, times: float) -> None:
        key = self.tile(c.out, c.dims)
        if c.op != "dot":
            for a in c.args:
                self.edge(a, c.out, times)
            return
        k = self.graph.dim(c.attr("dim")).tile
        node = self.o.nodes[key]
        if len(node.orders[0]) < 2:
            return
        for i, order in enumerate(node.orders):
            m, n = order[-2], order[-1]
            rows, columns = self.graph.dim(m).tile, self.graph.dim(n).tile
            if rows < ROWS:  # both operands as fragments in registers, the larger one's mostly
                node.alone[i] += times * HALF * k * max(rows, columns)
            for a in c.args:
                if n in self.o.nodes[self.key(a)].orders[0] and self.key(a) not in self.loads:
                    node.alone[i] += times * HALF * self.size(self.key(a))  # a computed right operand is written there
            if len(order) > 2 and order[0] != node.orders[0][0]:
                node.alone[i] += times * FLOAT32 * self.size(key)  # the batch stays in front

    def memory(
        self, tensor: str, index: tuple[DimIndex, ...], tile: str, times: float, *, load: bool, meets: bool
    ) -> None:
        """A tile and the tensor that it comes from or goes to: their orders, and how long the pieces in memory are."""
        t = self.m.tensor(tensor)
        node, key = self.o.nodes["", tensor], self.key(tile)
        width = DTYPES[t.dtype].bytes
        for i, order in enumerate(node.orders):
            last = [self.dim_of[a] for a in index[int(order[-1])].axes if a in self.dim_of] if order else []
            piece = width * math.prod(d.tile for d in dict.fromkeys(last))
            node.alone[i] += times * width * self.size(key) * (SECTOR / min(SECTOR, max(piece, 1)) - 1)
        if meets and len(self.o.nodes[key].orders[0]) > 1:
            seen = tuple((o, self.dims_along(index, o)) for o in node.orders)
            size = width if load else FLOAT32
            self.o.edges.append(Edge(("", tensor), key, times * size * self.size(key), seen))

    def dims_along(self, index: tuple[DimIndex, ...], order: Order) -> Order:
        """The tile dims in the order in which they lie in memory."""
        found = [self.dim_of[a].name for i in order for a in index[int(i)].axes if a in self.dim_of]
        return self.wide(tuple(dict.fromkeys(found)))


def met_in_registers(name: str, body: tuple[Statement | Loop, ...]) -> bool:
    """True if anything but a dot reads a loaded tile: a dot's operand is read from shared memory in any order."""
    for item in body:
        for s in item.body if isinstance(item, Loop) else (item,):
            made = computes(s)
            if any(c.op != "dot" and name in c.args for c in made) or (not made and name in reads(s)):
                return True
    return False


def _ordered(dims: tuple[str, ...], wide: Order) -> tuple[str, ...]:
    """`dims` with the wide ones in the order `wide`, the others where they were."""
    rest = iter(wide)
    return tuple(next(rest) if d in wide else d for d in dims)


def _block(part: PlacedBlock, chosen: dict[Key, Order]) -> BlockGraph:
    def tile(where: str, out: str, dims: tuple[str, ...]) -> tuple[str, ...]:
        return _ordered(dims, chosen.get((where, out), ()))

    def compute(where: str, c: Compute) -> Compute:
        return replace(c, dims=tile(where, c.out, c.dims))

    def statement(where: str, s: Statement) -> Statement:
        if isinstance(s, ThreadGraph):
            body = tuple(compute(where, c) for c in s.body)
            return replace(s, body=body, dims=body[-1].dims)
        return s if isinstance(s, Store) else replace(s, dims=tile(where, s.out, s.dims))

    body: list[Statement | Loop] = []
    for i, item in enumerate(part.graph.body):
        if isinstance(item, Loop):
            inner = f"{part.where}/{i}"
            body.append(replace(item, body=tuple(statement(inner, s) for s in item.body)))
        else:
            body.append(statement(part.where, item))
    return replace(part.graph, body=tuple(body))


def _permuted(m: MuGraph, chosen: dict[Key, Order]) -> MuGraph:
    """The µGraph with its intermediate tensors' dimensions in their chosen order, where they are read and written too."""
    moved = {t.name: tuple(map(int, chosen["", t.name])) for t in m.tensors if t.kind == "temp"}

    def statement(s: Statement) -> Statement:
        if isinstance(s, (Load, Store)) and s.tensor in moved:
            return replace(s, index=tuple(s.index[i] for i in moved[s.tensor]))
        return s

    def block(graph: BlockGraph) -> BlockGraph:
        body = tuple(
            replace(x, body=tuple(map(statement, x.body))) if isinstance(x, Loop) else statement(x) for x in graph.body
        )
        return replace(graph, body=body)

    tensors = tuple(
        replace(t, dims=tuple(t.dims[i] for i in moved[t.name])) if t.name in moved else t for t in m.tensors
    )
    kernels = tuple(
        replace(k, block=block(k.block), tail=block(k.tail) if k.tail else None) if isinstance(k, CustomKernel) else k
        for k in m.kernels
    )
    return replace(m, tensors=tensors, kernels=kernels)


def layout(m: MuGraph) -> MuGraph:
    """The µGraph with the cheapest order of every tile's dims and of every intermediate tensor's dimensions."""
    chosen = Orders(m).solve()
    blocks = {part.where: _block(part, chosen) for part in parts(m)}
    kernels = tuple(
        replace(k, block=blocks[k.name], tail=blocks.get(f"{k.name}.tail")) if isinstance(k, CustomKernel) else k
        for k in m.kernels
    )
    return _permuted(replace(m, kernels=kernels), chosen)

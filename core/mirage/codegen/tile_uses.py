"""The uses of each tile of a block, by reader: decides what stays in its storage dtype and what need not be named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from mirage.mugraph import old_value
from mirage.mugraph.grammar import Accumulate, BlockGraph, Compute, Load, Loop, Statement, Store, ThreadGraph

LEAST_DOT = 16  # the least extent of a tensor-core operand


@dataclass
class Use:
    """The readers of one definition. `dots` counts reads as a dot operand, `others` the rest; `containers` are the
    loops (position in the block's body, or None) of the readers."""

    dots: int = 0
    others: int = 0
    containers: set[int | None] = field(default_factory=set)

    @property
    def total(self) -> int:
        return self.dots + self.others


class Uses:
    """Uses by definition. A name may be bound again in another loop: keys are (container, name), and a read finds the
    binding of its own loop first."""

    def __init__(self, graph: BlockGraph) -> None:
        self.graph = graph
        self.uses: dict[tuple[int | None, str], Use] = defaultdict(Use)
        self.dims: dict[tuple[int | None, str], tuple[str, ...]] = {}
        for where, s in statements(graph):
            for c in parts(s):
                if not isinstance(c, Store):
                    self.dims[(None if isinstance(c, Accumulate) else where, c.out)] = c.dims
        for where, s in statements(graph):
            for c in parts(s):
                dot = isinstance(c, Compute) and self.dot_dims(where, c) is not None
                for name in reads(c):
                    use = self.uses[self.key(where, name)]
                    use.dots += dot
                    use.others += not dot
                    use.containers.add(where)

    def key(self, where: int | None, name: str) -> tuple[int | None, str]:
        base = old_value.bare(name)
        return (where, base) if (where, base) in self.dims else (None, base)

    def of(self, where: int | None, name: str) -> Use:
        return self.uses[self.key(where, name)]

    def wide(self, where: int | None, name: str) -> tuple[str, ...]:
        """The wide dims of the tile that `name` means there."""
        return tuple(d for d in self.dims.get(self.key(where, name), ()) if self.graph.dim(d).tile > 1)

    def dot_dims(self, where: int | None, c: Compute) -> tuple[tuple[str, ...], tuple[str, str, str], bool] | None:
        """If the operator can be a tl.dot: its batch dims, its (M, N, K) dims, and whether its arguments change places.
        None if it is written as a sum of products (or is no dot)."""
        if c.op != "dot":
            return None
        k = c.attr("dim")
        left, right = self.wide(where, c.args[0]), self.wide(where, c.args[1])
        if k not in left or k not in right:
            return None
        a, b = set(left) - {k}, set(right) - {k}
        result = [d for d in c.dims if self.graph.dim(d).tile > 1]
        batch = tuple(d for d in result if d in a and d in b)
        rows, columns = [d for d in a if d not in batch], [d for d in b if d not in batch]
        if len(rows) != 1 or len(columns) != 1 or len(batch) > 1 or sorted(result) != sorted([*batch, *rows, *columns]):
            return None
        m, n = rows[0], columns[0]
        if min(self.graph.dim(d).tile for d in (m, n, k)) < LEAST_DOT:
            return None
        changed = result.index(m) > result.index(n)
        return batch, (n, m, k) if changed else (m, n, k), changed


def statements(graph: BlockGraph) -> Iterator[tuple[int | None, Statement]]:
    """Every statement with the position of its loop."""
    for i, item in enumerate(graph.body):
        if isinstance(item, Loop):
            for s in item.body:
                yield i, s
        else:
            yield None, item


def parts(statement: Statement) -> tuple[Load | Compute | Accumulate | Store, ...]:
    return statement.body if isinstance(statement, ThreadGraph) else (statement,)


def reads(s: Load | Compute | Accumulate | Store) -> tuple[str, ...]:
    if isinstance(s, Compute):
        return s.args
    if isinstance(s, Accumulate):
        carried = (x for c, a in s.update for x in (c, old_value.old(a or s.out)))
        return (s.arg, *carried, *((s.start,) if s.start else ()))
    return (s.tile,) if isinstance(s, Store) else ()

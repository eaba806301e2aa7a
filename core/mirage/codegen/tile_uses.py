"""The uses of each tile of a block, by reader: decides what stays in its storage dtype and what need not be named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from mirage.mugraph import old_value
from mirage.mugraph.decisions import Decisions
from mirage.mugraph.grammar import Accumulate, BlockGraph, Compute, Load, Loop, Statement, Store, ThreadGraph


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

    def __init__(self, graph: BlockGraph, decisions: Decisions) -> None:
        self.graph = graph
        self.uses: dict[tuple[int | None, str], Use] = defaultdict(Use)
        self.dims: dict[tuple[int | None, str], tuple[str, ...]] = {}
        for where, s in statements(graph):
            for c in parts(s):
                if not isinstance(c, Store):
                    self.dims[(None if isinstance(c, Accumulate) else where, c.out)] = c.dims
        for where, s in statements(graph):
            for c in parts(s):
                dot = isinstance(c, Compute) and decisions.product(where, c) is not None
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

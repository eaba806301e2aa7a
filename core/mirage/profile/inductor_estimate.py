"""What torch.compile would make of a program, as far as it can be told without a GPU: which operators Inductor fuses, and the µs.

Inductor leaves products and attention to libraries and fuses what lies between them: pointwise operators with their producers,
reductions with what goes over the same elements before and after them. Views cost nothing. A reduction of everything to
few values is cut over the blocks, as two kernels. (Inductor's scheduler: https://dev-discuss.pytorch.org/t/747.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from mirage.devices.table import Device
from mirage.ir.program import Operation, Program
from mirage.operators.table import OPERATORS
from mirage.profile.roofline import ATTENTION, EAGER, PICKING, VIEWS, Eager, library_us, operator_flops

FREE = VIEWS | {"const", "iota", "size", "eye", "identity"}  # computed where they are read
FEW = 1024  # results of a reduction that do not fill a device
CUT = 16  # results of a reduction that is always cut over the blocks
LONG = 32768  # bytes of a row that one block does not hold: what follows a reduction reads it again
ROWS = frozenset(
    {"softmax", "log_softmax", "rms_norm", "layer_norm", "normalize"}
)  # reduce rows, and give as much as they take


@dataclass
class Group:
    """One kernel: `nodes` by id, and over how many elements it goes (`space`, with `kept` results where it reduces, and in `passes`
    where what follows a reduction goes over them once more). A library's own has `library`. `after`: the groups that it waits for."""

    nodes: list[int]
    space: int
    kept: int = 0
    passes: int = 1
    library: bool = False
    after: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class InductorEstimate:
    """The µs of a program under torch.compile by the model, and the `kernels` that it launches."""

    us: float
    kernels: int


def inductor_estimate(program: Program, device: Device) -> InductorEstimate:
    """The model's figures for torch.compile's default mode. Shapes are the program's own."""
    us, kernels = 0.0, 0
    for g in _Fusion(program).groups():
        more, launched = _library(program, g, device) if g.library else _generated(program, g, device)
        us, kernels = us + more, kernels + launched
    return InductorEstimate(us, kernels)


def _library(program: Program, g: Group, device: Device) -> tuple[float, int]:
    n = program.nodes[g.nodes[0] - len(program.inputs)]
    flops = operator_flops(n.op, [program.type_of(a) for a in n.args], n.type)
    depth = flops / (2.0 * n.type.numel) if n.op != ATTENTION else 0.0
    moved = float(sum(_read(program, g).values()) + n.type.bytes)
    return library_us(moved, flops, depth, device) + (EAGER.get(n.op, Eager()).us if n.op == ATTENTION else 0.0), 1


def _generated(program: Program, g: Group, device: Device) -> tuple[float, int]:
    """Rows that a block does not hold are read again; fewer rows than multiprocessors leave some of these idle, unless all that is
    left are the results: then each row is cut, and a second kernel joins the parts."""
    read = _read(program, g)
    written = float(sum(program.type_of(i).bytes for i in _written(program, g)))
    if not g.kept:
        return library_us(sum(read.values()) + written, 0.0, 0.0, device), 1
    row = max(read.values(), default=0) / g.kept
    if g.passes == 1 and g.kept <= FEW and row > LONG:
        return library_us(sum(read.values()) + written, 0.0, 0.0, device) + device.launch_us + device.ramp_us, 2
    again = g.passes if row > LONG else 1
    busy = min(1.0, g.kept / device.sms)
    return library_us((again * sum(read.values()) + written) / busy, 0.0, 0.0, device), 1


@dataclass
class _Fusion:
    """Greedy, in the program's order: a node goes into a kernel that makes one of its arguments, and joins several such, where
    no other kernel lies between them."""

    program: Program
    made: dict[int, int] = field(default_factory=dict)  # node -> number of its group
    found: dict[int, Group] = field(default_factory=dict)

    def groups(self) -> list[Group]:
        first = len(self.program.inputs)
        for i, n in enumerate(self.program.nodes, first):
            if n.op not in FREE:
                self._add(i, n)
        return list(self.found.values())

    def _add(self, i: int, n: Operation) -> None:
        sources = {g for a in n.args for g in self._makers(a)}
        entry = OPERATORS.get(n.op)
        library = n.op not in PICKING and (
            n.op == ATTENTION or entry is None or entry.family in ("contraction", "call")
        )
        read = [self.program.type_of(a).numel for a in (n.args[1:] if n.op in PICKING else n.args)]
        largest = max([n.type.numel, *read])
        group = Group([i], largest, n.type.numel if n.type.numel < largest else 0, 1, library)
        if n.op in ROWS:
            group.kept, group.passes = largest // n.type.shape[-1], 2
        for g in sources:
            group.after |= {g} | self.found[g].after
        number = i
        self.found[number], self.made[i] = group, number
        if not library:
            for g in sorted(sources, reverse=True):
                if g in self.found and self._fits(self.found[g], self.found[number]) and self._direct(g, number):
                    self._join(g, number)

    def _makers(self, i: int) -> Iterator[int]:
        """The groups that make this value, views followed to what they show."""
        if i < len(self.program.inputs):
            return
        if i in self.made:
            yield self.made[i]
            return
        for a in self.program.nodes[i - len(self.program.inputs)].args:
            yield from self._makers(a)

    def _fits(self, one: Group, other: Group) -> bool:
        """Whether both go over the same elements, or one over the other's results alone. What is reduced to very few is not there
        before all blocks are done."""
        if one.library or other.library:
            return False
        if one.kept and other.kept and one.kept != other.kept:
            return False
        if one.space == other.space and 0 < one.kept <= CUT:
            return False
        return one.space == other.space or other.space == one.kept or one.space == other.kept

    def _direct(self, g: int, number: int) -> bool:
        """No third group comes after the one and before the other."""
        return not any(g in self.found[x].after for x in self.found[number].after if x in self.found and x != g)

    def _join(self, g: int, into: int) -> None:
        old, new = self.found.pop(g), self.found[into]
        later = old.kept and new.space == old.space  # it goes over the elements of a reduction that is done
        new.passes = max(old.passes + (1 if later else 0), new.passes)
        new.nodes = old.nodes + new.nodes
        new.space, new.kept = max(old.space, new.space), max(old.kept, new.kept)
        new.after = (new.after | old.after) - {g}
        for i in old.nodes:
            self.made[i] = into
        for other in self.found.values():
            if g in other.after:
                other.after = (other.after - {g}) | {into}


def _shown(program: Program, i: int) -> Iterator[int]:
    """The values that this one shows, which are in memory: itself, or what a view is of."""
    if i >= len(program.inputs) and (n := program.nodes[i - len(program.inputs)]).op in FREE:
        for a in n.args:
            yield from _shown(program, a)
    else:
        yield i


def _read(program: Program, g: Group) -> dict[int, float]:
    """The bytes that a group reads of each value that it does not make: of a view no more than the view has."""
    own, bytes_of = set(g.nodes), dict[int, float]()
    for i in g.nodes:
        n = program.nodes[i - len(program.inputs)]
        for a in n.args:
            for source in _shown(program, a):
                if source not in own:
                    picked = n.op in PICKING and a == n.args[0]
                    seen = min(
                        program.type_of(a).bytes, program.type_of(source).bytes, n.type.bytes if picked else math.inf
                    )
                    bytes_of[source] = min(program.type_of(source).bytes, bytes_of.get(source, 0) + seen)
    return bytes_of


def _written(program: Program, g: Group) -> set[int]:
    """The values of a group that others read, or that are the program's results."""
    own = set(g.nodes)
    outside = {x for o in program.outputs for x in _shown(program, o)}
    for i, n in enumerate(program.nodes, len(program.inputs)):
        if i not in own and n.op not in FREE:
            outside |= {x for a in n.args for x in _shown(program, a)}
    return own & outside

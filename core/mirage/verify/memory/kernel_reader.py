"""The index arithmetic of an emitted Triton kernel, read off its text: every load and store with its conditions.

The kernel's syntax tree is followed once, with its constexprs as numbers, the block's number, loop counters and lanes as
variables, and everything that comes from memory unknown. A place that depends on data, or a construct that is not
among those that are understood, raises `Undecided`: nothing is then claimed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mirage.verify.memory import linear_forms
from mirage.verify.memory.launch_values import (
    DATA,
    Arguments,
    Arrived,
    Data,
    Described,
    IndexTile,
    LaunchTensor,
    Least,
    TensorPointer,
    Value,
)
from mirage.verify.memory.linear_forms import TRUE, Cond, LinearForm, Var
from mirage.verify.memory.z3_proofs import Access, AccessKind, MemoryFault, Undecided

INT32 = 2**31 - 1
MEMORY = ("tl.load", "tl.store", "tl.atomic_")


@dataclass
class KernelAccesses:
    """One kernel's accesses at one launch."""

    name: str
    grid: tuple[int, ...]
    accesses: list[Access] = field(default_factory=list)
    group: LinearForm | None = None
    parts: int = 0  # the last block is the one that arrives as this many-th
    counter: LaunchTensor | None = None
    cleared: bool = False  # the last block sets its group's counter back to zero


class KernelReader:
    """Follows one kernel. `names` are its parameters' values: tensors and numbers."""

    def __init__(self, tree: ast.FunctionDef, grid: tuple[int, ...], names: Mapping[str, object]) -> None:
        self.tree = tree
        self.env: dict[str, Value] = {n: parameter(x) for n, x in names.items()}
        self.out = KernelAccesses(tree.name, grid)
        self.path: list[Cond] = []
        self.loops: list[Var] = []
        self.blocks: list[Var] = [Var(f"block{i}" if i else "block", 0, n - 1) for i, n in enumerate(grid)]
        self.fenced = False
        self.combined: set[str] = set()  # tensors that the last block has stored since a barrier
        self.seen: set[ast.expr] = set()

    def run(self) -> KernelAccesses:
        self.body(self.tree.body)
        for n in ast.walk(self.tree):
            if isinstance(n, ast.Attribute) and f"tl.{n.attr}".startswith(MEMORY) and n not in self.seen:
                raise Undecided(f"line {n.lineno}: {ast.unparse(n)} was not reached")
        return self.out

    # ---- statements
    def body(self, statements: Sequence[ast.stmt]) -> None:
        for s in statements:
            if isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name):
                self.env[s.targets[0].id] = self.of(s.value)
            elif isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name) and s.value is not None:
                self.env[s.target.id] = self.of(s.value)
            elif isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
                self.env[s.target.id] = self.binary(s.op, self.env.get(s.target.id, DATA), self.of(s.value))
            elif isinstance(s, ast.Expr):
                self.of(s.value)
            elif isinstance(s, ast.For):
                self.loop(s)
            elif isinstance(s, ast.If):
                self.branch(s)
            elif not isinstance(s, ast.Pass):
                raise Undecided(f"line {s.lineno}: {type(s).__name__} is not followed")

    def forget(self, statements: Sequence[ast.stmt]) -> None:
        """Names that are assigned in a loop or a branch are not known around it."""
        for s in statements:
            for n in ast.walk(s):
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                    self.env[n.id] = DATA

    def loop(self, s: ast.For) -> None:
        if not (
            isinstance(s.iter, ast.Call)
            and isinstance(s.target, ast.Name)
            and not s.orelse
            and all(k.arg == "num_stages" for k in s.iter.keywords)  # how far ahead it loads: no index depends on it
        ):
            raise Undecided(f"line {s.lineno}: a loop that is no range")
        called = ast.unparse(s.iter.func)
        if called not in ("range", "tl.range", "tl.static_range"):
            raise Undecided(f"line {s.lineno}: a loop over {called}")
        given = [self.of(a) for a in s.iter.args]
        first, stop, step = {1: [0, *given, 1], 2: [*given, 1], 3: given}[len(given)]
        begin = self.form(first)
        ends = [self.form(p) for p in stop.parts] if isinstance(stop, Least) else [self.form(stop)]
        if not isinstance(step, int) or step <= 0:
            raise Undecided(f"line {s.lineno}: a loop with another step")
        most = min(linear_forms.span(e)[1] for e in ends) - 1
        counter = Var(f"{s.target.id}.{s.lineno}", 0, max(0, (most - linear_forms.span(begin)[0]) // step))
        whole = linear_forms.add(begin, linear_forms.of(counter), step)
        if begin.number is None and step == 1:  # a share of a loop: its counter itself, from the first to the last
            counter = Var(
                f"{s.target.id}.{s.lineno}", linear_forms.span(begin)[0], max(most, linear_forms.span(begin)[0])
            )
            whole = linear_forms.of(counter)
        inside = [
            linear_forms.at_most(begin, whole),
            *(linear_forms.at_most(linear_forms.add(whole, linear_forms.of(1)), e) for e in ends),
        ]
        self.forget(s.body)
        self.env[s.target.id] = IndexTile(whole)
        self.path += inside
        self.loops.append(counter)
        self.body(s.body)
        self.loops.pop()
        del self.path[-len(inside) :]
        self.forget([s])

    def branch(self, s: ast.If) -> None:
        test = s.test
        if isinstance(test, ast.Compare) and isinstance(self.quiet(test.left), Arrived):
            self.last(s, test)
            return
        c = self.scalar_condition(self.of(test), s.lineno)
        for statements, when in ((s.body, c), (s.orelse, linear_forms.negated(c))):
            if when != linear_forms.FALSE and statements:
                self.path.append(when)
                self.body(statements)
                self.path.pop()
        if c not in (TRUE, linear_forms.FALSE):
            self.forget([*s.body, *s.orelse])

    def last(self, s: ast.If, test: ast.Compare) -> None:
        """`if arrived == parts - 1:`, what the last block of a group runs."""
        arrived, limit = self.of(test.left), self.of(test.comparators[0])
        equal = len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)
        if not isinstance(arrived, Arrived) or not equal or not isinstance(limit, int) or s.orelse:
            raise Undecided(f"line {s.lineno}: the last block is found in another way")
        if self.path or self.loops:
            raise Undecided(f"line {s.lineno}: the last block is found inside a loop or a branch")
        self.out.group, self.out.parts = self.form(arrived.group), limit + 1
        self.fenced = False
        self.body(s.body)
        self.out.group, done = None, self.out.group
        self.forget(s.body)
        self.out.group = done
        if s is not self.tree.body[-1]:
            raise Undecided(f"line {s.lineno}: statements behind what the last block does")

    def quiet(self, e: ast.expr) -> Value | None:
        return self.env.get(e.id) if isinstance(e, ast.Name) else None

    def scalar_condition(self, x: Value, line: int) -> Cond:
        if isinstance(x, bool):
            return TRUE if x else linear_forms.FALSE
        if isinstance(x, IndexTile) and isinstance(x.value, Cond) and not x.shape:
            return x.value
        raise Undecided(f"line {line}: a branch depends on data")

    # ---- values
    def form(self, x: Value) -> LinearForm:
        if isinstance(x, int):
            return linear_forms.of(int(x))
        if isinstance(x, IndexTile) and isinstance(x.value, LinearForm):
            return x.value
        raise Undecided("an index depends on data")

    def tile(self, x: Value) -> IndexTile:
        if isinstance(x, bool):
            return IndexTile(TRUE if x else linear_forms.FALSE)
        if isinstance(x, int):
            return IndexTile(linear_forms.of(x), wide=False)
        if isinstance(x, IndexTile):
            return x
        raise Undecided("an index or a mask depends on data")

    def of(self, e: ast.expr) -> Value:
        found = EXPRESSIONS.get(type(e))
        return found(self, e) if found is not None else self.other(e)

    def other(self, e: ast.expr) -> Value:
        """An expression that is no index arithmetic: only its loads are read."""
        for child in ast.iter_child_nodes(e):
            if isinstance(child, ast.expr):
                self.of(child)
        return DATA

    def name(self, e: ast.Name) -> Value:
        return self.env.get(e.id, DATA)

    def constant(self, e: ast.Constant) -> Value:
        return e.value if isinstance(e.value, int) else DATA

    def unary(self, e: ast.UnaryOp) -> Value:
        x = self.of(e.operand)
        if isinstance(x, int) and not isinstance(x, bool) and isinstance(e.op, ast.USub):
            return -x
        if isinstance(x, IndexTile) and isinstance(x.value, LinearForm) and isinstance(e.op, ast.USub):
            return replace(x, value=linear_forms.scale(x.value, -1))
        if isinstance(e.op, ast.Invert | ast.Not) and isinstance(x, bool | IndexTile):
            t = self.tile(x)
            if isinstance(t.value, Cond):
                return replace(t, value=linear_forms.negated(t.value))
        return DATA

    def bin(self, e: ast.BinOp) -> Value:
        return self.binary(e.op, self.of(e.left), self.of(e.right))

    def binary(self, op: ast.operator, x: Value, y: Value) -> Value:
        if isinstance(x, int) and isinstance(y, int) and type(op) in NUMBERS:
            if y == 0 and isinstance(op, ast.FloorDiv | ast.Mod):
                raise Undecided("a division by zero")
            return NUMBERS[type(op)](x, y)
        if isinstance(y, TensorPointer) and not isinstance(x, TensorPointer):
            x, y = y, x
        if isinstance(x, TensorPointer):
            return self.moved(op, x, y)
        if isinstance(x, Least) and isinstance(op, ast.Add | ast.Sub) and isinstance(y, int):
            parts = [self.arithmetic(op, p, self.tile(y)) for p in x.parts]
            tiles = tuple(p for p in parts if isinstance(p, IndexTile))
            return Least(tiles) if len(tiles) == len(parts) else DATA
        if not isinstance(x, int | IndexTile) or not isinstance(y, int | IndexTile):
            return DATA
        return self.arithmetic(op, self.tile(x), self.tile(y))

    def moved(self, op: ast.operator, x: TensorPointer, by: Value) -> TensorPointer:
        forward = isinstance(op, ast.Add | ast.Sub) and isinstance(by, int | IndexTile)
        offset = self.arithmetic(op, x.offset, self.tile(by)) if forward else DATA
        if isinstance(offset, Data):
            raise Undecided(f"a pointer into {x.tensor.name} that depends on data")
        return TensorPointer(x.tensor, offset)

    def arithmetic(self, op: ast.operator, x: IndexTile, y: IndexTile) -> IndexTile | Data:
        a, b, shape = aligned(x, y)
        if isinstance(a, Cond) and isinstance(b, Cond) and isinstance(op, ast.BitAnd | ast.BitOr):
            joined = linear_forms.both(a, b) if isinstance(op, ast.BitAnd) else linear_forms.either(a, b)
            return IndexTile(joined, shape, wraps=x.wraps or y.wraps)
        if isinstance(a, Cond) or isinstance(b, Cond) or type(op) not in FORMS:
            return DATA
        if isinstance(op, ast.FloorDiv | ast.Mod) and b.number is None:
            return DATA
        value = FORMS[type(op)](a, b)
        if value is None or (x.wraps and isinstance(op, ast.FloorDiv | ast.Mod)):
            raise Undecided("a division of an index that may be negative")
        wide = x.wide or y.wide
        wraps = x.wraps or y.wraps or (not wide and max(map(abs, linear_forms.span(value))) > INT32)
        return IndexTile(value, shape, wide, wraps)

    def boolean(self, e: ast.BoolOp) -> Value:
        parts = [self.of(v) for v in e.values]
        if not all(isinstance(p, bool) or (isinstance(p, IndexTile) and isinstance(p.value, Cond)) for p in parts):
            return DATA
        conditions = [self.scalar_condition(p, e.lineno) for p in parts]
        return IndexTile((linear_forms.both if isinstance(e.op, ast.And) else linear_forms.either)(*conditions))

    def compare(self, e: ast.Compare) -> Value:
        parts = [self.of(x) for x in (e.left, *e.comparators)]
        if len(parts) != 2 or not all(isinstance(p, int | IndexTile) for p in parts):
            return DATA
        x, y = (self.tile(p) for p in parts)
        a, b, shape = aligned(x, y)
        if isinstance(a, Cond) or isinstance(b, Cond) or type(e.ops[0]) not in COMPARISONS:
            return DATA
        if x.wraps or y.wraps:
            raise Undecided("a comparison of 32-bit indices that may be too large")
        return IndexTile(COMPARISONS[type(e.ops[0])](a, b), shape)

    def subscript(self, e: ast.Subscript) -> Value:
        x = self.of(e.value)
        if isinstance(x, Data):
            return DATA
        index = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
        if not isinstance(x, IndexTile):
            raise Undecided("a part of what is no tile")
        shape: list[int] = []
        names: dict[str, str] = {}
        axis = 0
        for i in index:
            if isinstance(i, ast.Constant) and i.value is None:
                shape.append(1)
            elif isinstance(i, ast.Slice) and i.lower is i.upper is i.step is None and axis < len(x.shape):
                names[lane(axis)] = lane(len(shape))
                shape.append(x.shape[axis])
                axis += 1
            else:
                raise Undecided("a part of a tile that is not followed")
        if axis != len(x.shape):
            raise Undecided("a part of a tile that is not followed")
        return replace(x, value=renamed(x.value, names), shape=tuple(shape))

    def call(self, e: ast.Call) -> Value:
        called = ast.unparse(e.func)
        named = {k.arg: k.value for k in e.keywords if k.arg is not None}
        a = Arguments([self.of(x) for x in e.args], {n: self.of(x) for n, x in named.items()})
        described = self.quiet(e.func.value) if isinstance(e.func, ast.Attribute) else None
        if isinstance(described, Described):
            return self.tiled(described, e)
        known = CALLS.get(called)
        found = None if known is None else known(self, e, a)
        return self.unknown_call(called, e, a) if found is None else found

    def barrier(self, e: ast.Call, a: Arguments) -> Value:
        if not self.path and not self.loops:  # in a branch or a loop it may not run
            self.fenced = True
            self.combined.clear()
        return DATA

    def program_id(self, e: ast.Call, a: Arguments) -> Value:
        axis = a.at(0, "axis")
        if not isinstance(axis, int) or not 0 <= axis < 3:
            raise Undecided("the number of a block along no axis")
        return (
            IndexTile(linear_forms.of(self.blocks[axis])) if axis < len(self.blocks) else IndexTile(linear_forms.of(0))
        )

    def arange(self, e: ast.Call, a: Arguments) -> Value | None:
        numbers = a.numbers
        if numbers is None or len(numbers) != 2:
            return None
        first, stop = numbers
        if stop <= first:
            raise Undecided("an empty range")
        value = linear_forms.add(linear_forms.of(Var(lane(0), 0, stop - first - 1)), linear_forms.of(first))
        return IndexTile(value, (stop - first,))

    def minimum(self, e: ast.Call, a: Arguments) -> Value | None:
        if a.numbers:
            return min(a.numbers)
        if not all(isinstance(x, int | IndexTile) for x in a.given):
            return None
        return Least(tuple(self.tile(x) for x in a.given))

    def maximum(self, e: ast.Call, a: Arguments) -> Value | None:
        return max(a.numbers) if a.numbers else None

    def unknown_call(self, called: str, e: ast.Call, a: Arguments) -> Value:
        """A method of a tile, or a function that is not index arithmetic: it may take no pointer."""
        values = [*a.given, *a.named.values()]
        if isinstance(e.func, ast.Attribute) and not (isinstance(e.func.value, ast.Name) and e.func.value.id == "tl"):
            x = self.of(e.func.value)
            if e.func.attr == "to" and isinstance(x, IndexTile) and isinstance(x.value, LinearForm) and not x.wraps:
                return replace(x, wide=True) if e.args and ast.unparse(e.args[0]) == "tl.int64" else DATA
            values.append(x)
        if any(isinstance(x, TensorPointer | Described) for x in values):
            raise Undecided(f"line {e.lineno}: a pointer is passed to {called}")
        return DATA

    # ---- memory
    def load(self, e: ast.Call, a: Arguments) -> Value:
        return self.memory("load", a.at(1, "mask"), e, a)

    def store(self, e: ast.Call, a: Arguments) -> Value:
        return self.memory("store", a.at(2, "mask"), e, a)

    def atomic_add(self, e: ast.Call, a: Arguments) -> Value:
        return self.memory("atomic", a.at(2, "mask"), e, a)

    def tiled(self, of: Described, e: ast.Call) -> Value:
        """`desc.load([...])`: a tile from where its first element is, as far as it lies in the tensor."""
        assert isinstance(e.func, ast.Attribute)
        starts = e.args[0].elts if len(e.args) == 1 and isinstance(e.args[0], ast.List) else []
        if e.func.attr != "load" or e.keywords or len(starts) != len(of.block):
            raise Undecided(f"line {e.lineno}: an access by a descriptor that is not followed")
        place, inside = linear_forms.of(0), [TRUE]
        for axis, start in enumerate(starts):
            at = self.tile(self.of(start))
            if at.shape or at.wraps:
                raise Undecided(f"line {e.lineno}: a tile that begins at what is no 32-bit index")
            index = linear_forms.add(self.form(at), linear_forms.of(Var(lane(axis), 0, of.block[axis] - 1)))
            inside += [
                linear_forms.at_most(linear_forms.of(0), index),
                linear_forms.at_most(linear_forms.add(index, linear_forms.of(1)), linear_forms.of(of.shape[axis])),
            ]
            place = linear_forms.add(place, index, of.strides[axis])
        pointer = TensorPointer(of.tensor, IndexTile(place, of.block, wide=True))
        return self.access("load", pointer, IndexTile(linear_forms.both(*inside), of.block), e, Arguments([], {}))

    def memory(self, kind: AccessKind, mask: Value | None, e: ast.Call, a: Arguments) -> Value:
        return self.access(kind, *self.place(kind, mask, e, a), e, a)

    def access(self, kind: AccessKind, pointer: TensorPointer, keep: IndexTile, e: ast.Call, a: Arguments) -> Value:
        self.seen.add(e.func)
        offset = pointer.offset
        value, when, shape = aligned(offset, keep)
        assert isinstance(value, LinearForm) and isinstance(when, Cond)
        if offset.wide and offset.wraps:
            raise Undecided(f"line {e.lineno}: part of an offset has 32 bits only")
        free = not self.path and not self.loops
        counter = pointer.tensor is self.out.counter and self.out.group == value
        if kind == "store" and counter and a.given[1:2] == [0]:
            self.out.cleared = self.out.cleared or (when == TRUE and free)
            return DATA  # where it is was looked at when the block arrived
        if kind == "atomic" and self.out.group is None and (shape or not free):
            raise Undecided(f"line {e.lineno}: an atomic sum of tiles")
        lanes = tuple(Var(lane(i), 0, n - 1) for i, n in enumerate(shape) if n > 1)
        self.out.accesses.append(
            Access(
                pointer.tensor.name,
                kind,
                value,
                linear_forms.both(*self.path, when),
                (*self.blocks, *self.loops, *lanes),
                f"{self.tree.name}, line {e.lineno}",
                self.out.group,
                offset.wide,
            )
        )
        self.ordered(kind, pointer.tensor, e)
        return self.arrival(pointer.tensor, value, e, a) if kind == "atomic" else DATA

    def place(self, kind: AccessKind, mask: Value | None, e: ast.Call, a: Arguments) -> tuple[TensorPointer, IndexTile]:
        """The address of an access, and the condition that its mask puts on it."""
        pointer = a.at(0, "pointer")
        said = "atomic_add" if kind == "atomic" else kind
        if not isinstance(pointer, TensorPointer):
            raise Undecided(f"line {e.lineno}: {said} at a place that is not followed")
        if isinstance(mask, Data):
            raise Undecided(f"line {e.lineno}: a mask depends on data")
        keep = IndexTile(TRUE) if mask is None else self.tile(mask)
        if not isinstance(keep.value, Cond) or not isinstance(pointer.offset.value, LinearForm):
            raise Undecided(f"line {e.lineno}: a mask that is none")
        return pointer, keep

    def ordered(self, kind: AccessKind, tensor: LaunchTensor, e: ast.Call) -> None:
        """Barriers stand between the arrival, what the last block does, and its own stores and loads."""
        where = f"{self.tree.name}, line {e.lineno}"
        if self.out.group is not None and not self.fenced:
            raise MemoryFault(f"{where}: no barrier between the arrival and what the last block does")
        if kind == "load" and tensor.name in self.combined:
            raise MemoryFault(f"{where}: no barrier between a store of the last block and this load")
        if kind == "store" and self.out.counter is not None and self.out.group is None:
            raise MemoryFault(
                f"{where}: a store of {tensor.name} after the block has arrived: the last one may not see it"
            )
        if kind == "store" and self.out.group is None:
            self.fenced = False
        elif kind == "store":
            self.combined.add(tensor.name)

    def arrival(self, tensor: LaunchTensor, group: LinearForm, e: ast.Call, a: Arguments) -> Arrived:
        """The block counts itself as one of its group. What orders its stores before the arrival, and the last block's loads behind
        the others' arrivals: a barrier, since one thread counts for all of them, and an operation that both releases and acquires
        for all blocks of the device."""
        where = f"{self.tree.name}, line {e.lineno}"
        if not self.fenced:
            raise MemoryFault(f"{where}: no barrier between the stores of a block and its arrival")
        if len(e.args) != 2 or any(k.arg not in ORDERS for k in e.keywords):
            raise Undecided(f"line {e.lineno}: an arrival that is counted in another way")
        for k in e.keywords:
            asked = k.value.value if isinstance(k.value, ast.Constant) else None
            if asked not in ORDERS[k.arg or ""]:
                raise MemoryFault(
                    f"{where}: {ast.unparse(k.value)} does not order the stores of all blocks before the last one's loads"
                )
        if tensor.content not in ("zeros", "kept") or a.given[1:2] != [1] or self.out.counter is not None:
            raise Undecided(f"line {e.lineno}: a counter that does not count from zero")
        self.out.counter = tensor
        return Arrived(IndexTile(group))


def parameter(x: object) -> Value:
    """A kernel's parameter at its launch: a tensor is a pointer to its first element."""
    if isinstance(x, Described):
        return x
    if isinstance(x, LaunchTensor):
        return TensorPointer(x, IndexTile(linear_forms.of(0)))
    return x if isinstance(x, int) else DATA


def product(a: LinearForm, b: LinearForm) -> LinearForm:
    if a.number is None and b.number is None:
        raise Undecided("a product of two indices")
    return linear_forms.scale(b, a.constant) if a.number is not None else linear_forms.scale(a, b.constant)


def lane(axis: int) -> str:
    return f"lane{axis}"


def renamed(value: LinearForm | Cond, names: Mapping[str, str]) -> LinearForm | Cond:
    return (
        linear_forms.rename(value, names) if isinstance(value, LinearForm) else linear_forms.rename_cond(value, names)
    )


def aligned(x: IndexTile, y: IndexTile) -> tuple[LinearForm | Cond, LinearForm | Cond, tuple[int, ...]]:
    """Two tiles' values over the shape that both broadcast to; the last axes belong together."""
    rank = max(len(x.shape), len(y.shape))
    values, shapes = [], []
    for t in (x, y):
        shift = rank - len(t.shape)
        values.append(renamed(t.value, {lane(i): lane(i + shift) for i in range(len(t.shape))}) if shift else t.value)
        shapes.append((1,) * shift + t.shape)
    for a, b in zip(*shapes, strict=True):
        if a != b and 1 not in (a, b):
            raise Undecided(f"tiles of shapes {x.shape} and {y.shape} do not go together")
    return values[0], values[1], tuple(max(p) for p in zip(*shapes, strict=True))


# What an arrival may ask for, by keyword; the first is what it is without one.
ORDERS: dict[str, tuple[str, ...]] = {"sem": ("acq_rel",), "scope": ("gpu", "sys")}
NUMBERS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda x, y: x + y,
    ast.Sub: lambda x, y: x - y,
    ast.Mult: lambda x, y: x * y,
    ast.FloorDiv: lambda x, y: x // y,
    ast.Mod: lambda x, y: x % y,
    ast.BitAnd: lambda x, y: x & y,
    ast.BitOr: lambda x, y: x | y,
}
FORMS: dict[type[ast.operator], Callable[[LinearForm, LinearForm], LinearForm | None]] = {
    ast.Add: linear_forms.add,
    ast.Sub: lambda a, b: linear_forms.add(a, b, -1),
    ast.Mult: product,
    ast.FloorDiv: lambda a, b: linear_forms.divide(a, b.constant, False),
    ast.Mod: lambda a, b: linear_forms.divide(a, b.constant, True),
}
COMPARISONS: dict[type[ast.cmpop], Callable[[LinearForm, LinearForm], Cond]] = {
    ast.Lt: lambda x, y: linear_forms.at_most(linear_forms.add(x, linear_forms.of(1)), y),
    ast.LtE: linear_forms.at_most,
    ast.Gt: lambda x, y: linear_forms.at_most(linear_forms.add(y, linear_forms.of(1)), x),
    ast.GtE: lambda x, y: linear_forms.at_most(y, x),
    ast.Eq: linear_forms.equal,
    ast.NotEq: lambda x, y: linear_forms.negated(linear_forms.equal(x, y)),
}
EXPRESSIONS: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Name: KernelReader.name,
    ast.Constant: KernelReader.constant,
    ast.UnaryOp: KernelReader.unary,
    ast.BinOp: KernelReader.bin,
    ast.BoolOp: KernelReader.boolean,
    ast.Compare: KernelReader.compare,
    ast.Subscript: KernelReader.subscript,
    ast.Call: KernelReader.call,
}
CALLS: dict[str, Callable[[KernelReader, ast.Call, Arguments], Value | None]] = {
    "tl.load": KernelReader.load,
    "tl.store": KernelReader.store,
    "tl.atomic_add": KernelReader.atomic_add,
    "tl.debug_barrier": KernelReader.barrier,
    "tl.program_id": KernelReader.program_id,
    "tl.arange": KernelReader.arange,
    **dict.fromkeys(("min", "tl.minimum"), KernelReader.minimum),
    **dict.fromkeys(("max", "tl.maximum"), KernelReader.maximum),
}

"""What an emitted module launches, read off its launcher's text: tensors, grids, kernels in order."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mirage.codegen.launcher_text import ASKED, is_refusal
from mirage.verify.memory.kernel_reader import NUMBERS, KernelAccesses, KernelReader
from mirage.verify.memory.launch_values import Described, LaunchTensor
from mirage.verify.memory.z3_proofs import Undecided

Sizes = Mapping[str, int]
Tiles = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class LibraryCall:
    """A library call: it reads whole tensors and writes one."""

    name: str
    reads: tuple[str, ...]
    writes: str


@dataclass
class Launches:
    """The effects of `_run`: its steps in order, every tensor by name, the names of those that it returns."""

    steps: list[KernelAccesses | LibraryCall] = field(default_factory=list)
    tensors: dict[str, LaunchTensor] = field(default_factory=dict)
    returned: tuple[str, ...] = ()


def _passed(tree: ast.Module, inputs: Sequence[str]) -> Sequence[str]:
    """The inputs in the order in which the public function passes them to `_run`."""
    calls: dict[str, list[ast.Call]] = {}
    for n in ast.walk(tree):
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name):
            calls.setdefault(n.func.id, []).append(n)
    direct = calls.get("_run", [])
    orders = {tuple(_texts(c.args)) for c in direct}
    for run, *tables in _rows_taken(tree):
        found = calls.get(run, [])
        given = [_texts(c.args) for c in found]
        orders |= {tuple(g[:-2]) for g in given if g[-2:] == tables and not any(map(_named, found))}
    if len(orders) != 1 or any(map(_named, direct)):
        raise Undecided("the launcher is not called in one way")
    (order,) = orders
    if not set(order) <= set(inputs):
        raise Undecided("the launcher is called with other than the function's inputs")
    return order


def _named(call: ast.Call) -> bool:
    """Does a call of a launcher give tensors or tables by name?"""
    return any(k.arg != ASKED for k in call.keywords)


def _rows_taken(tree: ast.Module) -> list[list[str]]:
    """The names that a row of the table of sizes is taken apart into: its launcher, sizes and tiles."""
    assigned = [n.targets[0] for n in ast.walk(tree) if isinstance(n, ast.Assign)]
    return [_texts(x.elts) for x in assigned if isinstance(x, ast.Tuple) and len(x.elts) == 3]


def _texts(expressions: Sequence[ast.expr]) -> list[str]:
    return [ast.unparse(e) for e in expressions]


class Launcher:
    """Follows `_run` with numbers for sizes and tiles."""

    def __init__(
        self, tree: ast.Module, shapes: Mapping[str, tuple[int, ...]], inputs: Sequence[str],
        sizes: Sizes | None, tiles: Tiles | None,
    ) -> None:  # fmt: skip
        self.kernels = {f.name: f for f in tree.body if isinstance(f, ast.FunctionDef)}
        tables = {
            s.targets[0].id: s.value
            for s in tree.body
            if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)
        }
        self.shapes = shapes
        self.env: dict[str, object] = {}
        self.out = Launches()
        if "_run" not in self.kernels or not {"SIZES", "TILES"} <= set(tables):
            raise Undecided("the module has no launcher")
        self.run_text = self.kernels["_run"]
        self.env["sizes"] = sizes if sizes is not None else self.of(tables["SIZES"])
        self.env["tiles"] = tiles if tiles is not None else self.of(tables["TILES"])
        for name, argument in zip(_passed(tree, inputs), self.run_text.args.args):
            if name in shapes:  # an input that no kernel reads has no place in the µGraph
                self.env[argument.arg] = self.tensor(argument.arg, shapes[name], "input")

    def tensor(
        self, name: str, shape: tuple[int, ...], content: Literal["input", "nothing", "zeros", "kept"]
    ) -> LaunchTensor:
        self.out.tensors[name] = made = LaunchTensor(name, shape, content)
        return made

    def run(self) -> Launches:
        for s in self.run_text.body:
            if is_refusal(s) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)):
                continue
            if isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name):
                self.env[s.targets[0].id] = self.assigned(s.targets[0].id, s.value)
            elif isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and isinstance(s.value.func, ast.Subscript):
                self.launch(s.value, s.value.func)
            elif isinstance(s, ast.Return) and s.value is not None:
                results = s.value.elts if isinstance(s.value, ast.Tuple) else [s.value]
                self.out.returned = tuple(t.name for r in results if isinstance(t := self.of(r), LaunchTensor))
            else:
                raise Undecided(f"line {s.lineno}: the launcher does what is not followed")
        return self.out

    def assigned(self, name: str, e: ast.expr) -> object:
        called = ast.unparse(e.func) if isinstance(e, ast.Call) else ""
        if called in ("torch.empty", "torch.zeros"):
            assert isinstance(e, ast.Call)
            shape = self.of(e.args[0])
            shape = (shape,) if isinstance(shape, int) else shape
            if not isinstance(shape, tuple) or not all(isinstance(n, int) for n in shape):
                raise Undecided(f"line {e.lineno}: a tensor of unknown shape")
            return self.tensor(name, shape, "zeros" if called == "torch.zeros" else "nothing")
        if called == "TensorDescriptor" and isinstance(e, ast.Call):
            return self.described(e)
        if called == "_counters" and isinstance(e, ast.Call):  # the launcher's own: zeros, of each stream its own
            count = self.of(e.args[0])
            if isinstance(count, int):
                return self.tensor(name, (count,), "kept")
        try:
            return self.of(e)
        except Undecided:
            if name not in self.shapes:
                raise
        reads = [n.id for n in ast.walk(e) if isinstance(n, ast.Name) and isinstance(self.env.get(n.id), LaunchTensor)]
        self.out.steps.append(LibraryCall(name, tuple(dict.fromkeys(reads)), name))
        return self.tensor(name, self.shapes[name], "nothing")

    def described(self, e: ast.Call) -> Described:
        """A descriptor of a whole tensor, which begins where the tensor does. Raises Undecided."""
        tensor, *parts = [self.of(a) for a in e.args]
        lists = [tuple(n for n in p if isinstance(n, int)) for p in parts if isinstance(p, tuple)]
        if e.keywords or not isinstance(tensor, LaunchTensor) or lists != parts or len({*map(len, lists)}) != 1:
            raise Undecided(f"line {e.lineno}: a descriptor that is not followed")
        shape, strides, block = lists if len(lists) == 3 else ((), (), ())
        if not shape or strides[-1] != 1 or min((*shape, *strides, *block)) < 1:
            raise Undecided(f"line {e.lineno}: a descriptor that Triton refuses")
        return Described(tensor, shape, strides, block)

    def launch(self, call: ast.Call, head: ast.Subscript) -> None:
        name = ast.unparse(head.value)
        grid = self.of(head.slice)
        tree = self.kernels.get(name)
        if tree is None or not isinstance(grid, tuple) or not all(isinstance(n, int) for n in grid):
            raise Undecided(f"line {call.lineno}: a launch that is not followed")
        parameters = [a.arg for a in tree.args.args]
        names = {p: self.of(a) for p, a in zip(parameters, call.args)}
        names |= {k.arg: self.of(k.value) for k in call.keywords if k.arg in parameters}
        if min(grid) >= 1:
            self.out.steps.append(KernelReader(tree, grid, names).run())

    def of(self, e: ast.expr) -> object:
        """The value of an expression of numbers, tensors and tables."""
        found = EXPRESSIONS.get(type(e))
        if found is None:
            raise not_followed(e)
        return found(self, e)

    def name(self, e: ast.Name) -> object:
        if e.id not in self.env:
            raise not_followed(e)
        return self.env[e.id]

    def subscript(self, e: ast.Subscript) -> object:
        table, key = self.of(e.value), self.of(e.slice)
        if isinstance(table, Mapping) and key in table:
            return table[key]
        raise not_followed(e)

    def unary(self, e: ast.UnaryOp) -> int:
        x = self.of(e.operand) if isinstance(e.op, ast.USub) else None
        if not isinstance(x, int):
            raise not_followed(e)
        return -x

    def binary(self, e: ast.BinOp) -> int:
        if type(e.op) in NUMBERS:
            x, y = self.of(e.left), self.of(e.right)
            if isinstance(x, int) and isinstance(y, int) and not (y == 0 and isinstance(e.op, ast.FloorDiv | ast.Mod)):
                return NUMBERS[type(e.op)](x, y)
        raise not_followed(e)

    def call(self, e: ast.Call) -> int:
        given = [self.of(a) for a in e.args]
        done = CALLS.get(ast.unparse(e.func))
        if done is None or e.keywords or not all(isinstance(x, int) for x in given):
            raise not_followed(e)
        return done(*given)


def not_followed(e: ast.expr) -> Undecided:
    return Undecided(f"line {e.lineno}: {ast.unparse(e)[:60]} is not followed")


EXPRESSIONS: dict[type[ast.expr], Callable[..., object]] = {
    ast.Constant: lambda launcher, e: e.value,
    ast.Name: Launcher.name,
    ast.Tuple: lambda launcher, e: tuple(launcher.of(x) for x in e.elts),
    ast.List: lambda launcher, e: tuple(launcher.of(x) for x in e.elts),
    ast.Dict: lambda launcher, e: {
        launcher.of(k): launcher.of(v) for k, v in zip(e.keys, e.values, strict=True) if k is not None
    },
    ast.Subscript: Launcher.subscript,
    ast.UnaryOp: Launcher.unary,
    ast.BinOp: Launcher.binary,
    ast.Call: Launcher.call,
}
CALLS: dict[str, Callable[..., int]] = {
    "triton.cdiv": lambda x, y: -(-x // y),
    "max": lambda *x: max(x),
    "min": lambda *x: min(x),
    "math.prod": lambda *x: math.prod(x),
}


def read_launches(
    module: str, shapes: Mapping[str, tuple[int, ...]], inputs: Sequence[str],
    sizes: Sizes | None = None, tiles: Tiles | None = None,
) -> Launches:  # fmt: skip
    """The launches of the module at its own sizes and tiles, or at the given ones. `shapes`: of the µGraph's tensors there,
    by name; `inputs`: the function's tensor parameters in order. Raises Unknown."""
    try:
        tree = ast.parse(module)
    except SyntaxError as e:
        raise Undecided(f"the text does not parse: {e.msg}") from None
    return Launcher(tree, shapes, inputs, sizes, tiles).run()

"""What a block graph computes as lines of PyTorch on whole tensors: its loop and grid are dims like any other.

A running maximum stands for the last one, and a rescaled accumulator for the sum of what it adds, taken at that maximum.
That a block graph computes this is what verification shows; one that rescales otherwise is rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mirage.mugraph import old_value
from mirage.mugraph.grammar import Accumulate, Compute, Load, Store
from mirage.operators.block_operators import BLOCK
from mirage_original.block_data import Threadblock
from mirage_original.block_statements import Emission, Emitted
from mirage_original.graph_axes import Joint
from mirage_original.mistakes import Place, mistake

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
LIMITS = {"maximum": "min", "minimum": "max"}


def lines(
    data: Threadblock, reads: Sequence[str], writes: Sequence[str], prefix: str, place: Place | None = None
) -> list[str]:
    """Statements that make the tensors `writes` (by name) from `reads`; other names begin with `prefix`."""
    joint = Joint()
    return Text(Emission(data, joint, 0, reads, writes).run(), joint, data, writes, prefix, place).run()


class Text:
    def __init__(
        self, e: Emitted, joint: Joint, data: Threadblock, writes: Sequence[str], prefix: str, place: Place | None
    ) -> None:
        self.e, self.joint, self.data, self.prefix, self.place = e, joint, data, prefix, place
        self.shapes = {w: s.attr("full") for w, s in zip(writes, data.outputs, strict=True)}
        self.parts: dict[str, list[tuple[int, int, str]]] = {}  # stores of a tensor that is written in parts
        self.dims: dict[str, tuple[str, ...]] = {}
        self.numbers: dict[str, str] = {}
        self.counts: dict[str, tuple[str, ...]] = {}  # sizes: the units that they are the number of elements of
        self.sums: dict[str, tuple[str, tuple[str, ...]]] = {}  # what was summed, along which units
        self.unknown: set[str] = set()  # what depends on a maximum of an earlier iteration
        self.made: list[str] = []

    def run(self) -> list[str]:
        for part in self.e.statements:
            for s in part:
                if isinstance(s, Load):
                    self.load(s)
                elif isinstance(s, Compute):
                    self.compute(s)
                elif isinstance(s, Accumulate):
                    self.alias(s)
                elif isinstance(s, Store):
                    self.store(s)
        for tensor, parts in self.parts.items():
            dim = parts[0][1]
            self.made.append(f"{tensor} = torch.cat(({', '.join(text for _, _, text in sorted(parts))}), {dim})")
        return self.made

    def size(self, unit: str) -> int:
        return self.joint.total((int(unit[1:]),))

    def add(self, name: str, dims: tuple[str, ...], text: str) -> None:
        self.dims[name] = dims
        self.made.append(f"{self.prefix}{name} = {text}")

    def load(self, s: Load) -> None:
        units = tuple(a for e in s.index for a in e.axes)
        self.add(s.out, units, f"{s.tensor}.reshape({', '.join(str(self.size(u)) for u in units) or '()'})")

    def alias(self, s: Accumulate) -> None:
        if s.arg in self.unknown:
            raise self.none()
        self.add(s.out, self.dims[s.arg], f"{self.prefix}{s.arg}")
        if s.arg in self.sums:
            self.sums[s.out] = self.sums[s.arg]

    def none(self) -> Exception:
        return mistake(
            "this block graph reads the maximum of an earlier iteration otherwise than to rescale",
            "give its meaning as a graph of plain operators: graph.verify(program)",
            self.place,
        )

    def compute(self, s: Compute) -> None:
        if any(old_value.is_old(a) or a in self.unknown for a in s.args):
            self.unknown.add(s.out)
        elif s.op == "const":
            value = s.attr("value")
            self.numbers[s.out] = 'float("-inf")' if value == "-inf" else repr(number(value))
        elif s.op == "size":
            n = 1
            for u in s.attr("axis").split():
                n *= self.size(u)
            self.numbers[s.out] = str(n)
            self.counts[s.out] = tuple(s.attr("axis").split())
        elif s.op == "mask":
            self.numbers[s.out] = ""
            self.dims[s.out] = s.dims
        elif s.op in ("sum", "max"):
            (x,) = s.args
            own = self.dims[x]
            at = own.index(s.attr("dim"))
            call = {"sum": "torch.sum", "max": "torch.amax"}[s.op]
            if s.op == "sum":
                base, along = self.sums.get(x, (x, ()))
                self.sums[s.out] = base, (*along, s.attr("dim"))
            self.add(s.out, tuple(d for d in own if d != s.attr("dim")), f"{call}({self.prefix}{x}, {at})")
        elif s.op == "dot":
            self.dot(s)
        else:
            self.pointwise(s)

    def dot(self, s: Compute) -> None:
        letters: dict[str, str] = {}
        for d in (d for a in s.args for d in self.dims[a]):
            letters.setdefault(d, chr(ord("a") + len(letters)))
        dims = tuple(d for d in letters if d != s.attr("dim"))
        left = ",".join("".join(letters[d] for d in self.dims[a]) for a in s.args)
        names = ", ".join(self.prefix + a for a in s.args)
        self.add(s.out, dims, f'torch.einsum("{left}->{"".join(letters[d] for d in dims)}", {names})')

    def pointwise(self, s: Compute) -> None:
        tensors = [a for a in s.args if a not in self.numbers]
        widened = [d for a in s.args if self.numbers.get(a) == "" for d in self.dims[a]]
        dims = tuple(dict.fromkeys(d for a in tensors for d in self.dims[a]))
        if s.op == "div" and self.is_mean(*s.args):
            base, along = self.sums[s.args[0]]
            at = tuple(self.dims[base].index(u) for u in along)
            self.add(s.out, dims, f"torch.mean({self.prefix}{base}, {at})")
        elif not tensors:
            self.numbers[s.out] = f"({f' {INFIX[s.op]} '.join(self.numbers[a] for a in s.args)})"
        elif widened:
            self.add(s.out, (*dims, *widened), self.expanded(tensors[0], dims, widened))
        elif s.op in LIMITS and len(tensors) < len(s.args):
            self.add(s.out, dims, self.clamped(s, tensors[0]))
        else:
            self.add(s.out, dims, self.call(s, dims))

    def expanded(self, tensor: str, dims: Sequence[str], widened: Sequence[str]) -> str:
        """The text of a tensor with further dims, along which it stays the same."""
        sizes = ", ".join(str(self.size(d)) for d in (*dims, *widened))
        text = self.prefix + tensor + "[" + ":, " * len(dims) + ", ".join(["None"] * len(widened)) + "]"
        return f"{text}.expand({sizes})"

    def clamped(self, s: Compute, tensor: str) -> str:
        """The text of a minimum or maximum of a tensor and a number."""
        limit = next(self.numbers[a] for a in s.args if a in self.numbers)
        return f"torch.clamp({self.prefix}{tensor}, {LIMITS[s.op]}={limit})"

    def call(self, s: Compute, dims: tuple[str, ...]) -> str:
        """The text of an operator of tensors and numbers."""
        texts = [self.numbers[a] if a in self.numbers else self.aligned(a, dims) for a in s.args]
        if s.op in INFIX:
            return f" {INFIX[s.op]} ".join(texts)
        return BLOCK[s.op].torch.format(*texts)

    def is_mean(self, total: str, count: str) -> bool:
        """Is it a sum over the number of what was summed? Then it is said as a mean, which holds for every size."""
        return total in self.sums and count in self.counts and sorted(self.sums[total][1]) == sorted(self.counts[count])

    def aligned(self, name: str, dims: tuple[str, ...]) -> str:
        """A tensor with its dims in the order of `dims`, those that it lacks with size one."""
        own = self.dims[name]
        order = [own.index(d) for d in dims if d in own]
        text = f"{self.prefix}{name}"
        if order != sorted(order):
            text += f".permute({', '.join(map(str, order))})"
        if len(own) < len(dims) and own:
            text += "[" + ", ".join(":" if d in own else "None" for d in dims) + "]"
        return text

    def store(self, s: Store) -> None:
        if s.tile in self.unknown:
            raise self.none()
        units = tuple(a for e in s.index for a in e.axes)
        shape = []
        for e in s.index:
            n = 1
            for a in e.axes:
                n *= self.size(a)
            shape.append(n)
        full = self.shapes[s.tensor]
        text = f"{self.aligned(s.tile, units)}.reshape({', '.join(map(str, shape))})"
        if tuple(shape) == full:
            self.made.append(f"{s.tensor} = {text}")
            return
        at = next(i for i, (a, b) in enumerate(zip(shape, full, strict=True)) if a != b)
        self.parts.setdefault(s.tensor, []).append((s.index[at].offset, at, text))


def number(value: str) -> float:
    return float(value[1:]) if value.startswith("~") else float(Fraction(value))

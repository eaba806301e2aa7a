"""The kernel graph that a script builds operator by operator, and the function in PyTorch that it stands for.

A kernel can be given as a block graph (`block_builder.py`).

`graph.superoptimize()` and `mirage.superoptimize(graph)` search it; a graph that came out of a search knows its µGraph, its
verdict and its Triton text, and is called with tensors like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mirage.errors import CannotWrite
from mirage.ir.dtypes import TORCH_NAMES
from mirage.ir.json_value import JsonObject
from mirage.ir.program import Attr
from mirage_original.arguments import MOST_ELEMENTS, limits, path_of, shown, whole_numbers
from mirage_original.block_builder import TBGraph, attached
from mirage_original.block_data import Threadblock
from mirage_original.mistakes import Place, caller, mistake
from mirage_original.tensors import DTensor, dtype, float16, inverse, storage_order

if TYPE_CHECKING:
    import torch

    from mirage.mugraph.grammar import MuGraph
    from mirage_original.found_mugraph import FoundMugraph

# operator -> the text of its PyTorch call; {0}, {1}: operands, names: attributes
TEXTS = {
    "matmul": "torch.matmul({0}, {1})",
    "reduction": "torch.sum({0}, {dim}, keepdim=True)",
    "rms_norm": "F.rms_norm({0}, {normalized_shape}, eps=0.0)",
    "exp": "torch.exp({0})",
    "silu": "F.silu({0})",
    "gelu": "F.gelu({0})",
    "relu": "F.relu({0})",
    "clamp": "torch.clamp({0}, {min_val}, {max_val})",
    "sqrt": "torch.sqrt({0})",
    "square": "torch.square({0})",
    "add": "{0} + {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "pow": "torch.pow({0}, {1})",
}
MOST_DIMS = 4
kind_of_element = dtype  # where a parameter has that name


@dataclass(frozen=True)
class GraphNode:
    """An operator with its operands (tensors by place) and attributes; "input" has neither. One that gives several tensors
    ("customized": block, call, output) is a node for each."""

    op: str
    args: tuple[int, ...] = ()
    attrs: tuple[tuple[str, Attr | Threadblock], ...] = ()
    place: Place | None = field(default=None, compare=False)

    def attr(self, name: str) -> Any:
        return dict(self.attrs)[name]


class KNGraph:
    """A kernel graph. Its operators take and give DTensors; GraphMistake says what does not fit."""

    def __init__(self, found: FoundMugraph | None = None) -> None:
        self.nodes: list[GraphNode] = []
        self.tensors: list[DTensor] = []
        self.marked: list[int] = []
        self.layouts: dict[int, tuple[int, ...]] = {}  # of marked outputs: the order of their dims in memory
        self.found = found  # what a search found, for a graph that came out of one
        self._written: FoundMugraph | None = None  # what a graph with block graphs is, made when it is asked for

    # ---- building
    def new_input(self, dims: Sequence[int], strides: Sequence[int] | None = None, dtype: dtype = float16) -> DTensor:
        """A new input. Sizes are positive; `strides` put its dims in memory in any order, without gaps."""
        shape = whole_numbers("dims", dims)
        if not shape or len(shape) > MOST_DIMS or min(shape) < 1 or prod(shape) > MOST_ELEMENTS:
            raise mistake(f"an input's dims are one to {MOST_DIMS} positive numbers, not {shown(shape)}")
        if not isinstance(dtype, kind_of_element):
            raise mistake(
                f"the dtype {shown(dtype)}", next_step="give mirage.float16, mirage.bfloat16 or another of its own"
            )
        order = self._order(shape, strides)
        return self._add(GraphNode("input"), shape, dtype, order)

    def mark_output(self, A: DTensor, strides: Sequence[int] | None = None) -> None:
        """Marks an output. Without any mark the tensors that no operator reads are the outputs. `strides` say how it is to
        lie in memory when the graph is called."""
        self._own(A)
        self.layouts[A.place] = self._order(A.shape, strides)
        self._written = None
        if A.place not in self.marked:
            self.marked.append(A.place)

    def matmul(self, A: DTensor, B: DTensor) -> DTensor:
        """A (..., m, k) by B (..., k, n), batch dims equal."""
        self._own(A, B)
        if A.num_dims != B.num_dims or A.num_dims < 2 or A.shape[:-2] != B.shape[:-2] or A.shape[-1] != B.shape[-2]:
            raise mistake(f"matmul of {A.shape} by {B.shape}")
        return self._op("matmul", (A, B), (*A.shape[:-1], B.shape[-1]))

    def reduction(self, A: DTensor, dim: int) -> DTensor:
        """The sum over a dim, which stays with size 1."""
        d = self._dim(A, dim)
        return self._op("reduction", (A,), tuple(1 if i == d else n for i, n in enumerate(A.shape)), dim=d)

    def rms_norm(self, A: DTensor, normalized_shape: Sequence[int]) -> DTensor:
        """A over the root of its mean square along the trailing dims; no weight, no epsilon."""
        self._own(A)
        trailing = whole_numbers("normalized_shape", normalized_shape)
        if not trailing or A.shape[-len(trailing) :] != trailing:
            raise mistake(f"rms_norm over {trailing} of a tensor of {A.shape}")
        return self._op("rms_norm", (A,), A.shape, normalized_shape=trailing)

    def exp(self, A: DTensor) -> DTensor:
        return self._unary("exp", A)

    def silu(self, A: DTensor) -> DTensor:
        return self._unary("silu", A)

    def gelu(self, A: DTensor) -> DTensor:
        return self._unary("gelu", A)

    def relu(self, A: DTensor) -> DTensor:
        return self._unary("relu", A)

    def sqrt(self, A: DTensor) -> DTensor:
        return self._unary("sqrt", A)

    def square(self, A: DTensor) -> DTensor:
        return self._unary("square", A)

    def clamp(self, A: DTensor, min_val: float, max_val: float) -> DTensor:
        return self._unary("clamp", A, **limits(min_val, max_val))

    def add(self, A: DTensor, B: DTensor) -> DTensor:
        return self._binary("add", A, B)

    def mul(self, A: DTensor, B: DTensor) -> DTensor:
        return self._binary("mul", A, B)

    def div(self, A: DTensor, B: DTensor) -> DTensor:
        return self._binary("div", A, B)

    def pow(self, A: DTensor, B: DTensor) -> DTensor:
        return self._binary("pow", A, B)

    def customized(self, inputs: Sequence[DTensor], bgraph: TBGraph) -> list[DTensor]:
        """A kernel whose blocks do what `bgraph` says; what its outputs write, in their order."""
        if not isinstance(inputs, (list, tuple)):
            raise mistake(f"customized takes a list of tensors, not {shown(inputs)}")
        self._own(*inputs)
        made = attached(inputs, bgraph)
        call, args = len(self.nodes), tuple(t.place for t in bgraph.dtensors)
        return [
            self._add(
                GraphNode("customized", args, (("block", bgraph.data), ("call", call), ("output", i)), caller()),
                shape,
                kind,
            )
            for i, (shape, kind) in enumerate(made)
        ]

    def _unary(self, op: str, A: DTensor, **attrs: Attr) -> DTensor:
        self._own(A)
        return self._op(op, (A,), A.shape, **attrs)

    def _binary(self, op: str, A: DTensor, B: DTensor) -> DTensor:
        self._own(A, B)
        if A.num_dims != B.num_dims or any(a != b and 1 not in (a, b) for a, b in zip(A.shape, B.shape, strict=True)):
            raise mistake(f"{op} of {A.shape} and {B.shape}")
        return self._op(op, (A, B), tuple(max(a, b) for a, b in zip(A.shape, B.shape, strict=True)))

    def _order(self, shape: tuple[int, ...], strides: Sequence[int] | None) -> tuple[int, ...]:
        given = None if strides is None else whole_numbers("strides", strides)
        order = () if given is None else storage_order(shape, given)
        if order is None:
            raise mistake(
                f"strides {given} of a tensor of {shape} leave gaps or overlap",
                next_step="give strides of its dims in some order without gaps, and pass it contiguous in that order",
            )
        return order

    def _dim(self, A: DTensor, dim: int) -> int:
        self._own(A)
        if not isinstance(dim, int) or not -A.num_dims <= dim < A.num_dims:
            raise mistake(f"dim {dim!r} of a tensor of {A.shape}")
        return dim % A.num_dims

    def _own(self, *tensors: DTensor) -> None:
        for t in tensors:
            if not isinstance(t, DTensor):
                raise mistake(
                    f"{shown(t)} is no tensor of a graph", next_step="operators take what new_input and operators give"
                )
            if t.graph is not self:
                raise mistake("a tensor of another graph", next_step="build each graph from its own inputs")

    def _op(self, op: str, args: tuple[DTensor, ...], shape: tuple[int, ...], **attrs: Attr) -> DTensor:
        self._own(*args)
        if len({t.dtype for t in args}) > 1:
            raise mistake(f"{op} of {' and '.join(t.dtype.name for t in args)}")
        node = GraphNode(op, tuple(t.place for t in args), tuple(sorted(attrs.items())), caller())
        return self._add(node, shape, args[0].dtype)

    def _add(self, node: GraphNode, shape: tuple[int, ...], kind: dtype, order: tuple[int, ...] = ()) -> DTensor:
        if self.found is not None:
            raise mistake("a graph that a search found is complete", next_step="build a new one")
        self._written = None
        self.nodes.append(node)
        self.tensors.append(DTensor(self, len(self.nodes) - 1, shape, kind, order))
        return self.tensors[-1]

    # ---- what it stands for
    @property
    def inputs(self) -> list[DTensor]:
        return [t for t, n in zip(self.tensors, self.nodes, strict=True) if n.op == "input"]

    @property
    def outputs(self) -> list[DTensor]:
        """The marked tensors, or those that nothing reads."""
        read = {a for n in self.nodes for a in n.args}
        places = self.marked or [
            i for i, n in enumerate(self.nodes) if i not in read and n.op != "input"
        ]  # fmt: skip
        return [self.tensors[i] for i in places]

    def source(self, name: str = "program", given: str = "") -> str:
        """A module with the function in PyTorch, decorated with its inputs' shapes and `given` (more keywords)."""
        if not self.outputs:
            raise mistake("the graph has no operator", next_step="build what it computes before it is optimized")
        parameters = {t.place: f"x{i}" for i, t in enumerate(self.inputs)}
        names = {p: f"v{x[1:]}" if self.tensors[p].order else x for p, x in parameters.items()}
        lines = [
            f"    {names[p]} = {x}.permute{inverse(self.tensors[p].order)}" for p, x in parameters.items() if names[p] != x
        ]  # fmt: skip
        for i, n in enumerate(self.nodes):
            if n.op == "input":
                continue
            names[i] = f"t{i}"
            if n.op == "customized":
                lines += self._block_lines(i, names) if n.attr("output") == 0 else []
            else:
                lines.append(f"    t{i} = " + TEXTS[n.op].format(*(names[a] for a in n.args), **dict(n.attrs)))
        shapes = ", ".join(f'({t.stored!r}, "{t.dtype.short}")' for t in self.inputs)
        orders = {t.place: self.layouts.get(t.place, ()) for t in self.outputs}
        returned = ", ".join(names[p] + (f".permute{order}" if order else "") for p, order in orders.items())
        return (
            "import torch\nimport torch.nn.functional as F\n\nimport mirage\n\n\n"
            f"@mirage.optimize(inputs=[{shapes}]{given})\ndef {name}({', '.join(parameters.values())}):\n"
            + "\n".join(lines)
            + f"\n    return {returned}\n"
        )

    def _block_lines(self, first: int, names: dict[int, str]) -> list[str]:
        from mirage_original.block_as_torch import lines

        n = self.nodes[first]
        writes = [f"t{first + i}" for i in range(len(n.attr("block").outputs))]
        made = lines(n.attr("block"), [names[a] for a in n.args], writes, f"k{first}_", n.place)
        return [f"    {line}" for line in made]

    def plain(self) -> str:
        """The function in PyTorch alone."""
        text = self.source()
        return "import torch\nimport torch.nn.functional as F\n\n\n" + text[text.index("def program") :]

    def searched_inputs(self) -> list[tuple[tuple[int, ...], str]]:
        """Shape and dtype of each input, as torch names it."""
        return [(t.shape, TORCH_NAMES[t.dtype.short]) for t in self.inputs]

    # ---- optimizing and running
    def superoptimize(self, *lists: object, **parameters: object) -> KNGraph:
        """The best graph found (this one, as written, where nothing better is verified). Parameters as in
        `mirage.superoptimize`, the first ones also by place, as the original's method has them; a list that is left out is free."""
        from mirage_original.superoptimize import DEFAULTS, superoptimize

        names = ("imaps", "omaps", "griddims", "blockdims", "fmaps", "franges", "verbose", "config", "backend")
        if len(lists) > len(names) or set(parameters) & set(names[: len(lists)]):
            raise TypeError("superoptimize() got a parameter twice, or too many by place")
        free: dict[str, object] = dict.fromkeys(DEFAULTS)
        given = free | dict(zip(names, lists, strict=False)) | parameters
        return (superoptimize(self, **given) or [self])[0]

    @staticmethod
    def __mirage_optimize__(graph: KNGraph, **parameters: Any) -> list[KNGraph]:
        """What `mirage.optimize(graph)` means: the original's first demos call its search so."""
        from mirage_original.superoptimize import superoptimize

        return superoptimize(graph, **parameters)

    @property
    def cygraph(self) -> KNGraph:
        """Itself: the original's functions took what it wraps."""
        return self

    def generate_triton_program(self, path: str) -> None:
        """Writes the graph's Triton module. Raises GraphMistake for a graph of plain operators that no search has found."""
        text(path_of(path), self._found().text)

    def to_json(self, path: str) -> None:
        """Writes the graph, as the original does (docs/from-mirage.md); what a search found as this project's µGraph
        (docs/mugraph.md), which carries its program."""
        from mirage_original import json_files

        json_files.write(self, path_of(path))

    def from_json(self, path: str, index: int = 0) -> KNGraph:
        """Becomes the graph of a file, the original's (`index` of its list) or one that `to_json` wrote, and gives itself. What
        the file says is built and, for a found graph, verified again. Raises SavedFileUnreadable, SavedGraphInvalid,
        NotVerified."""
        from mirage_original import json_files

        if not isinstance(index, int):
            raise mistake(f"the graph {shown(index)} of a file", next_step="give its place in the list, from 0")
        other = json_files.read(path_of(path), index)
        self.nodes, self.marked, self.found, self._written = other.nodes, other.marked, other.found, None
        self.tensors, self.layouts = [replace(t, graph=self) for t in other.tensors], other.layouts
        return self

    def visualize(self, path: str) -> None:
        """Draws the µGraph as SVG."""
        from mirage.mugraph.draw import svg

        name = path_of(path)
        text(name if name.endswith(".svg") else f"{name}.svg", svg(self._found().mugraph))

    def check(self) -> MuGraph:
        """The µGraph of a graph with block graphs (docs/mugraph.md). Raises GraphMistake or InvalidMugraph, with the line of
        the script, where it breaks a validity rule."""
        from mirage_original.to_mugraph import mugraph_of

        return mugraph_of(self)

    def verify(self, program: KNGraph | None = None, *, text: bool = False) -> JsonObject:
        """Does this graph compute what `program`, one of plain operators, computes (None: what its own block graphs say)? The
        verdict as data, as of `mirage verify --json`: on the µGraph, and with `text` on the emitted module too, which is
        then also run in floats. Raises SignatureMismatch where they take or give other tensors."""
        from mirage_original.hand_written import written

        if program is not None and not isinstance(program, KNGraph):
            raise mistake(f"verify against {shown(program)}", next_step="give a kernel graph of plain operators")
        return (self._found() if program is None else written(self, program)).verify(text=text)

    def kernels(self) -> FoundMugraph | None:
        """The kernels of a graph that a search found, or that has block graphs; None for one of plain operators."""
        if self.found is not None:
            return self.found
        if self._written is None and any(n.op == "customized" for n in self.nodes):
            from mirage_original.hand_written import written

            self._written = written(self)
        return self._written

    def _found(self) -> FoundMugraph:
        found = self.kernels()
        if found is None:
            raise mistake("this graph was not found by a search", next_step="call superoptimize first")
        return found

    def __call__(
        self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor] | None = None, **_: object
    ) -> list[torch.Tensor]:
        """Runs on tensors of the declared shapes: the kernels on a GPU, PyTorch elsewhere. `outputs` are filled if given;
        what steered the original's compiler is accepted."""
        from mirage_original.found_mugraph import run

        return run(self, inputs, outputs)


def text(path: str, content: str) -> None:
    """Writes a file. Raises CannotWrite."""
    try:
        Path(path).write_text(content, encoding="utf-8")
    except (OSError, ValueError) as e:
        raise CannotWrite(f"{path} cannot be written: {getattr(e, 'strerror', None) or e}", path=path) from None


def new_kernel_graph() -> KNGraph:
    """An empty kernel graph, to build operator by operator."""
    return KNGraph()


new_graph = new_kernel_graph  # its first name

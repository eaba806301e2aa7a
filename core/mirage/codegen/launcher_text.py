"""The launcher part of an emitted module: the tables, `_run`, the guards, and the public function.

A module for several sizes has a row of names for each (`RowNames`), and `_BY_SIZE`, which says what runs for which inputs.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from mirage.codegen.identifiers import Identifiers
from mirage.codegen.kernel_text import KernelText, grid_text
from mirage.codegen.library_text import library_call
from mirage.codegen.line_layout import INDENT
from mirage.codegen.original_function import Original
from mirage.errors import EmissionRefused
from mirage.ir.dtypes import TORCH_NAMES
from mirage.ir.program import Program
from mirage.mugraph.grammar import CustomKernel, DTensor, LibraryKernel, MuGraph, TileDim


@dataclass(frozen=True)
class RowNames:
    """The names that one row of sizes has in its module."""

    expected: str = "_EXPECTED"
    run: str = "_run"
    sizes: str = "SIZES"
    tiles: str = "TILES"

    @staticmethod
    def numbered(n: int) -> RowNames:
        """Those of the n-th row, counted from 1: the first one has the plain names."""
        return RowNames() if n == 1 else RowNames(f"_EXPECTED_{n}", f"_run_{n}", f"SIZES_{n}", f"TILES_{n}")


def torch_dtype(name: str) -> str:
    return f"torch.{TORCH_NAMES[name]}"


def tables(mugraph: MuGraph, kernels: Sequence[KernelText], own: RowNames) -> list[str]:
    """SIZES and TILES: every number that the kernels are launched with."""
    lines = [f"{own.sizes} = {{" + ", ".join(f'"{a}": {n}' for a, n in mugraph.axes) + "}", f"{own.tiles} = {{"]
    for k in kernels:
        for key, row in k.table:
            lines.append(f'{INDENT}"{key}": {{' + ", ".join(f'"{d}": {n}' for d, n in row) + "},")
    return [*lines, "}"] if len(lines) > 2 else [lines[0], f"{own.tiles} = {{}}"]


def run_lines(
    program: Program, mugraph: MuGraph, kernels: dict[str, KernelText], own: RowNames, several: bool
) -> list[str]:
    """`_run`: refuses what its row was not made for, unless its caller asked, allocates, launches every kernel, returns the
    outputs. What follows the first `OWN_LINES` of them names nothing of the row's own: rows may share it."""
    check_tensors(program, mugraph)
    names = Identifiers(
        "sizes", "tiles", ASKED, own.run, "_refuse_others", "TensorDescriptor", *(k.name for k in kernels.values())
    )
    variables = {i.name: names.fresh(i.name) for i in program.inputs}
    used = {i.name for i in mugraph.inputs}
    lines = [
        f"def {own.run}({', '.join([*variables.values(), f'sizes={own.sizes}', f'tiles={own.tiles}', UNASKED])}):",
        f'{INDENT}"""Allocates, launches and returns. Made for {made_for(mugraph, several)}: raises ValueError for all else."""',
        *(f"{INDENT}{line}" for line in refusing(own.run, list(variables.values()))),
    ]
    source = next((variables[i.name] for i in program.inputs if i.name in used), next(iter(variables.values()), ""))
    written = {k.out for k in mugraph.kernels if isinstance(k, LibraryKernel)}
    for t in mugraph.tensors:
        if t.kind != "input":
            variables[t.name] = names.fresh(t.name)
            if t.name not in written:
                device = f", device={source}.device" if source else ""
                lines.append(
                    f"{INDENT}{variables[t.name]} = torch.empty({shape(t)}, dtype={torch_dtype(t.dtype)}{device})"
                )
    for k in mugraph.kernels:
        if isinstance(k, LibraryKernel):
            lines.append(f"{INDENT}{variables[k.out]} = {library_call(k, variables)}")
        else:
            lines += launch(k, kernels[k.name], variables, names, source)
    returned = [variables[t.name] for t in mugraph.outputs]
    comma = "," if program.returns_tuple and len(returned) == 1 else ""
    return [*lines, f"{INDENT}return {', '.join(returned)}{comma}"]


def made_for(mugraph: MuGraph, several: bool) -> str:
    """What a launcher serves, in a few words."""
    sizes = ", ".join(f"{a}={n}" for a, n in mugraph.axes)
    return "rows of _BY_SIZE" if several else sizes if 0 < len(sizes) <= 40 else "SIZES and TILES"


def check_tensors(program: Program, mugraph: MuGraph) -> None:
    """The µGraph must take and give what the program does."""
    types = {i.name: i.type for i in program.inputs}
    for t in mugraph.inputs:
        if t.name not in types:
            raise EmissionRefused(f"the µGraph reads {t.name!r}, which is no input of the program")
        if types[t.name].shape != mugraph.shape(t) or types[t.name].dtype != t.dtype:
            raise EmissionRefused(f"the µGraph's {t.name!r} differs from the program's input in shape or dtype")
    for i in program.inputs:
        if i.type.strides is not None and i.type.strides != contiguous(i.type.shape):
            raise EmissionRefused(f"input {i.name!r} is not contiguous", next_step="pass it contiguous")
    if len(program.outputs) != len(mugraph.outputs):
        raise EmissionRefused("the µGraph has another number of outputs than the program")


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    out: list[int] = []
    step = 1
    for s in reversed(shape):
        out.append(step)
        step *= s
    return tuple(reversed(out))


def shape(tensor: DTensor) -> str:
    """A tensor's shape in terms of `sizes`."""
    parts = []
    for i, axes in enumerate(tensor.dims):
        rigid = tensor.rigid[i] if tensor.rigid else None
        parts.append(str(rigid) if rigid is not None else " * ".join(f'sizes["{a}"]' for a in axes) or "1")
    return "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")"


def launch(
    kernel: CustomKernel, text: KernelText, variables: dict[str, str], names: Identifiers, source: str
) -> list[str]:
    row = f'tiles["{kernel.name}"]'
    lines = []
    arguments = [variables[t] for t in text.tensors]
    for parameter, tensor, dims in text.descriptors:
        arguments.append(names.fresh(parameter))
        lines += descriptor_lines(arguments[-1], variables[tensor], dims, row)
    if text.counters:
        counters = names.fresh("counters")
        groups = grid_text(kernel, "sizes", row, groups=True)
        number = names.fresh("groups")
        lines.append(f"{INDENT}{number} = {groups}")
        lines.append(f"{INDENT}{counters} = _counters({number}, {source}.device)")
        arguments.append(counters)
    grid = names.fresh("grid")
    lines.append(f"{INDENT}{grid} = ({grid_text(kernel, 'sizes', row)},)")
    lines.append(f"{INDENT}{text.name}[{grid}](")
    lines += [f"{INDENT * 2}{a}," for a in arguments]
    lines += [f'{INDENT * 2}{p}=sizes["{a}"],' for p, a in text.sizes]
    lines += [f'{INDENT * 2}{p}=tiles["{k}"]["{d}"],' for p, (k, d) in text.tiles]
    lines += [f"{INDENT * 2}num_warps={kernel.warps},", f"{INDENT * 2}num_stages={kernel.stages},"]
    if kernel.block.cluster > 1:
        lines.append(f"{INDENT * 2}num_ctas={kernel.block.cluster},")
    return [*lines, f"{INDENT})"]


def descriptor_lines(name: str, tensor: str, dims: Sequence[TileDim], row: str) -> list[str]:
    """A tensor's descriptor: its shape and strides over the dims of its tiles, and their shape."""
    extents = [[f'sizes["{a}"]' for a in d.axes] for d in dims]
    strides = [" * ".join(n for e in extents[i + 1 :] for n in e) or "1" for i in range(len(dims))]
    lists = [[" * ".join(e) for e in extents], strides, [f'{row}["{d.name}"]' for d in dims]]
    parts = [tensor, *(f"[{', '.join(x)}]" for x in lists)]
    return [f"{INDENT}{name} = TensorDescriptor(", *(f"{INDENT * 2}{p}," for p in parts), f"{INDENT})"]


COUNTERS = '''
_ZEROED = {}


def _counters(count, device):
    """Counters at zero; the last block of each group sets its own back to zero.

    Launches that may overlap share none: each stream has its own, and so has each call inside a CUDA graph.
    """
    if device.type != "cuda":
        return torch.zeros(count, dtype=torch.int32, device=device)
    count = -(-count // 32) * 32
    capturing = torch.cuda.is_current_stream_capturing()
    key = (device, torch.cuda.current_stream(device).cuda_stream, count)
    if key in _ZEROED and not capturing:
        return _ZEROED[key]
    spare = _ZEROED.pop(device, None)
    if spare is None or len(spare) < count:
        if capturing:  # the graph zeroes them whenever it is replayed
            return torch.zeros(count, dtype=torch.int32, device=device)
        spare = torch.zeros(max(count, 1 << 18), dtype=torch.int32, device=device)
        torch.cuda.current_stream(device).synchronize()  # other streams take from it too
    _ZEROED[device] = spare[count:]
    if not capturing:
        _ZEROED[key] = spare[:count]
    return spare[:count]
'''.strip().split("\n")


OWN_LINES = 4  # of a launcher: its signature, what it says, what it refuses
ASKED = "fits"  # a launcher's parameter: whether `_fits` said yes just before, so that nothing is asked twice
UNASKED = f"*, {ASKED}=False"


def refusing(run: str, tensors: Sequence[str]) -> list[str]:
    """How the launcher `run` begins, not indented."""
    return [f"if not {ASKED}:", f"{INDENT}_refuse_others({', '.join([f'({run}, sizes, tiles)', *tensors])})"]


def refusal_lines(table: bool) -> list[str]:
    """`_refuse_others`, with which a launcher begins that the public function has not called: other sizes leave parts of an
    output unwritten, other tensors are read beyond their end, a kernel cannot read what lies on another device, and what it
    computes has no gradient."""
    other = (
        "_BY_SIZE.get(tuple(given)) != made" if table else "tuple(given) != _EXPECTED or made != (_run, SIZES, TILES)"
    )
    made = "the rows of _BY_SIZE" if table else "{_EXPECTED}, SIZES and TILES"
    return f'''
def _refuse_others(made, *tensors):
    """Raises ValueError unless a launcher, its sizes and tiles, `made`, are those for these tensors."""
    grad = torch.is_grad_enabled()
    device = tensors[0].device
    given = []
    for t in tensors:
        if t.device != device:
            raise ValueError(f"tensors on several devices: {{device}} and {{t.device}}")
        if grad and t.requires_grad:
            raise ValueError("these kernels have no gradient: use torch.no_grad()")
        given.append((t.shape, t.dtype) if t.is_contiguous() else None)
    if tensors[0].is_cuda and device.index != torch.cuda.current_device():
        raise ValueError(f"{{device}} is not the current device: torch.cuda.set_device")
    if {other}:
        raise ValueError(f"these kernels were made for {made} alone, not for {{given}}")
'''.strip().split("\n")


def is_refusal(statement: ast.stmt) -> bool:
    """Is it a launcher's call of `_refuse_others`, with a condition or without?"""
    if isinstance(statement, ast.If) and len(statement.body) == 1 and not statement.orelse:
        return is_refusal(statement.body[0])
    called = statement.value.func if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) else None
    return isinstance(called, ast.Name) and called.id == "_refuse_others"


def expected_lines(program: Program, own: RowNames) -> list[str]:
    """_EXPECTED: shape and dtype of every input."""
    rows = [f"{INDENT}({i.type.shape!r}, {torch_dtype(i.type.dtype)}),  # {i.name}" for i in program.inputs]
    return [f"{own.expected} = (", *rows, ")"]


def guard_lines(kernels: Sequence[KernelText], table: bool) -> list[str]:
    """`_fits`: whether the kernels were made for these tensors; with a `table` of sizes, which row of it was."""
    mode = [f"_COMPILED = isinstance({kernels[0].name}, triton.JITFunction)"] if kernels else []
    said = (
        "What runs for these tensors, its sizes and tiles; None: the original."
        if table
        else "Whether the kernels were made for these tensors; if not, the original runs."
    )
    return fits_lines(mode, place_lines(bool(kernels)), said, table=table, aligned=any(k.descriptors for k in kernels))


def place_lines(kernels: bool) -> list[str]:
    """Of `_fits`: whether the tensors lie where the kernels run; PyTorch's own calls run anywhere."""
    current = "t.is_cuda and device.index == torch.cuda.current_device()"
    if not kernels:
        return [f"{INDENT}here = t.is_cpu or ({current})"]
    return [
        f"{INDENT}if _COMPILED:",
        f"{INDENT * 2}here = {current}",
        f"{INDENT}else:  # in Triton's interpreter",
        f"{INDENT * 2}here = t.is_cpu",
    ]


BEGINS = "t.data_ptr() % 16"  # not 0: a tensor of which there is no descriptor
FORWARD = 'getattr(torch.autograd.forward_ad, "_current_level", -1)'  # at least 0 while tensors carry tangents


def fits_lines(
    mode: Sequence[str], where: Sequence[str], said: str, *, table: bool, aligned: bool = False
) -> list[str]:
    """The guards' text. `mode` stands before it, and `where` sets `here` from the last tensor `t` and its `device`.

    What a kernel would pass over without a word goes to the original: a sign that is still to be applied, a gradient, a tangent,
    the dtypes of autocast; with `aligned`, what no descriptor describes."""
    no = "None" if table else "False"
    return [
        "_PLAIN = (torch.Tensor, torch.nn.Parameter)",
        *mode,
        "",
        "",
        "def _fits(*tensors):",
        f'{INDENT}"""{said}"""',
        f"{INDENT}grad = torch.is_grad_enabled()",
        f'{INDENT}device = getattr(tensors[0], "device", None)',
        f"{INDENT}given = []",
        f"{INDENT}for t in tensors:",
        f"{INDENT * 2}if type(t) not in _PLAIN or t.device != device:",
        f"{INDENT * 3}return {no}",
        f"{INDENT * 2}if not t.is_contiguous() or t.is_neg() or (grad and t.requires_grad):",
        f"{INDENT * 3}return {no}",
        *([f"{INDENT * 2}if {BEGINS}:", f"{INDENT * 3}return {no}"] if aligned else []),
        f"{INDENT * 2}given.append((t.shape, t.dtype))",
        f"{INDENT}if torch.is_autocast_enabled() or {FORWARD} >= 0:",
        f"{INDENT * 2}return {no}",
        *where,
        f"{INDENT}return "
        + ("_BY_SIZE.get(tuple(given)) if here else None" if table else "here and tuple(given) == _EXPECTED"),
    ]


def by_size_lines(rows: Sequence[RowNames]) -> list[str]:
    """The table of sizes: what runs for each row of inputs, with which numbers."""
    lines = []
    for r in rows:  # a name a line: with a function's name in each, one line would be too long
        lines += [f"{INDENT}{r.expected}: (", *(f"{INDENT * 2}{n}," for n in (r.run, r.sizes, r.tiles)), f"{INDENT}),"]
    return ["_BY_SIZE = {  # inputs of other sizes: the original", *lines, "}"]


def public_lines(program: Program, function: str, original: Original, docstring: str | None, table: bool) -> list[str]:
    """The function under its own name and signature."""
    tensors = ", ".join(i.name for i in program.inputs)
    conditions = call_conditions(original)
    lines = public_head(function, original, docstring)
    if table:
        names = Identifiers(*(i.name for i in program.inputs), *(n for n, _ in original.extra))
        made, run, sizes, tiles = (names.fresh(n) for n in ("made", "run", "sizes", "tiles"))
        otherwise = f" if {' and '.join(conditions)} else None" if conditions else ""
        lines += [
            f"{INDENT}{made} = _fits({tensors}){otherwise}",
            f"{INDENT}if {made} is not None:",
            f"{INDENT * 2}{run}, {sizes}, {tiles} = {made}",
            f"{INDENT * 2}return {run}({tensors}, {sizes}, {tiles}, {ASKED}=True)",
        ]
    else:
        lines += [
            f"{INDENT}if {' and '.join([*conditions, f'_fits({tensors})'])}:",
            f"{INDENT * 2}return _run({tensors}, {ASKED}=True)",
        ]
    return [*lines, f"{INDENT}return {original.private}({original.call})"]


def call_conditions(original: Original) -> list[str]:
    """That each parameter that is no tensor has its default."""
    return [f"{n} == {d}" if not is_singleton(d) else f"{n} is {d}" for n, d in original.extra]


def public_head(function: str, original: Original, docstring: str | None) -> list[str]:
    """The public function's signature and docstring."""
    doc = docstring if docstring is not None else original.docstring
    lines = f"def {function}{original.signature}:".split("\n")
    return lines + docstring_lines(doc) if doc else lines


def is_singleton(text: str) -> bool:
    return text in ("None", "True", "False")


def docstring_lines(doc: str) -> list[str]:
    """The docstring's own text; as a plain string literal where triple quotes would change it."""
    if '"""' in doc or "\\" in doc or doc.endswith('"'):
        return [f"{INDENT}{doc!r}"]
    return f'{INDENT}"""{doc}"""'.split("\n")

"""From the text of a slice to a tensor program. This executes the user's function: only a worker may call it.

`make_fx(pre_dispatch=True)` on meta tensors records the PyTorch calls at the level the user wrote them; the operator
table says what each becomes. Nothing is computed: a function that needs a tensor's value is told so.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as dc_replace
from typing import TYPE_CHECKING

from mirage.errors import InPlaceEdit, MirageError, TraceFailed, UnsupportedOperands, UnsupportedOutput
from mirage.ir.dtypes import EIGHT_BIT, FLOATING, TORCH_NAMES
from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.operators.table import OPERATORS
from mirage.program import deferred_compiler, load_function
from mirage.program.assumed import assumptions, deciding
from mirage.program.builder import Builder
from mirage.program.kept_reshapes import lowerable
from mirage.program.lower import Lowered, lower
from mirage.program.overwritten_memory import forget_overwritten, may_share_memory
from mirage.program.questions import Questions
from mirage.program.recorded_program import PartWritten, RecordedCalls, writes
from mirage.program.torch_dtypes import to_torch
from mirage.program.trace_errors import explain

if TYPE_CHECKING:
    import torch

Meaning = tuple[object, ...]
FAR = 256  # a branch on a size is far from the sizes of the annotations


def trace(
    text: str, function: str, inputs: Sequence[TensorSpec], constants: Mapping[str, object] | None = None,
    *, path: str | None = None, lines: Mapping[int, int] | None = None, line_offset: int = 0,
) -> Program:  # fmt: skip
    """The program that `function` computes for inputs of these shapes.

    `constants` gives parameters that are not tensors. A line of the text is `lines[line]`, else line + `line_offset`,
    in the user's file `path`. Raises the errors of the MIR2xx family, with the line.
    """
    place = _Place(path, lines or {}, line_offset)
    tracer = _Tracer(place, text, function, inputs, dict(constants or {}))
    try:
        return _traced(tracer)
    except BaseException as error:
        mended = explain(error)
        if mended is None:
            raise
        raise place.put(mended, error) from error


def trace_generic(
    text: str, function: str, inputs: Sequence[TensorSpec], constants: Mapping[str, object] | None = None,
    *, path: str | None = None, lines: Mapping[int, int] | None = None, line_offset: int = 0,
) -> Program:  # fmt: skip
    """`trace`, and again with each named dim at another size, and with all of these at once: `generic` lists the names
    for which the meaning stays the same term. A name for which it does not is noted: the function is specialised to that
    size. The program is lowered for that: reshapes that have no named axes are calls (`kept_reshapes.py`)."""

    def traced(inputs: Sequence[TensorSpec]) -> tuple[Program, Meaning]:
        program = trace(text, function, inputs, constants, path=path, lines=lines, line_offset=line_offset)
        try:
            program, lowered = lowerable(program)
        except MirageError as error:
            error.path = error.path or path
            raise
        return program, _meaning(lowered)

    first, meaning = traced(inputs)
    generic, notes = [], list(first.notes)
    for name in sorted({n for given in inputs for n in given.names if n and not n.isdigit()}):
        try:
            same = traced([_resized(given, name) for given in inputs])[1] == meaning
        except MirageError as error:
            notes.append(f"specialised to this size of `{name}`: at another size {error.message}")
            continue
        if same:
            generic.append(name)
        else:
            notes.append(f"specialised to this size of `{name}`: at another size the function computes something else")
    for scales in _growths(len(generic)):
        grown = inputs
        for name, scale in zip(generic, scales, strict=True):
            grown = [_resized(given, name, scale) for given in grown]
        try:
            same = traced(grown)[1] == meaning
        except MirageError:
            same = False
        if not same:
            notes.append("specialised to these sizes: at others together the function computes something else")
            generic = []
            break
    return dc_replace(first, generic=tuple(generic), notes=tuple(notes))


def _growths(names: int) -> list[list[int]]:
    """How much the sizes grow when several do: all by different factors, the one half far, the other half far."""
    half = (names + 1) // 2
    far = [[FAR] * half + [1] * (names - half), [1] * half + [FAR] * (names - half)]
    return [[3 + 2 * i for i in range(names)], *far[: min(names, 2)]] if names else []


def _meaning(lowered: Lowered) -> Meaning:
    """The terms, which name sizes and do not state them: equal for two sizes if the function is the same at both."""
    nodes = [n.key for n in lowered.terms.nodes]
    return nodes, lowered.outputs, lowered.tensors, lowered.made, lowered.calls


def _resized(given: TensorSpec, name: str, scale: int = 2) -> TensorSpec:
    if name not in given.names:
        return given
    shape = tuple(scale * n if label == name else n for n, label in zip(given.shape, given.names, strict=True))
    return dc_replace(given, shape=shape)


class _Place:
    """Lines of the text as lines of the user's file."""

    def __init__(self, path: str | None, lines: Mapping[int, int], offset: int) -> None:
        self.path, self._lines, self._offset = path, lines, offset

    def line(self, line: int | None) -> int | None:
        return None if line is None else self._lines.get(line, line + self._offset)

    def put(self, mended: MirageError, error: BaseException) -> MirageError:
        """The error with its path and line; a line that it has already is the user's own."""
        if mended.line is None:
            mended.line = self.line(load_function.line_of(error))
        mended.path = mended.path or self.path
        return mended


class _Tracer:
    def __init__(
        self, place: _Place, text: str, function: str, inputs: Sequence[TensorSpec], constants: dict[str, object]
    ) -> None:
        self.place, self.text, self.function, self.inputs, self.constants = place, text, function, inputs, constants

    def run(self) -> Program:
        """The program, and what it assumes."""
        asked = Questions()
        program = self.under(asked)
        found = deciding(asked, self.under, lambda other: _alike(program, other)) if asked.answers else []
        assumed = assumptions(found, asked, self.place.line)
        notes = (*program.notes, *(a.words for a in assumed if a.kind != "size"))
        return dc_replace(program, assumptions=assumed, notes=notes)

    def under(self, questions: Questions) -> Program:
        """The program that the text gives with these answers."""
        import torch

        inputs, constants = self.inputs, self.constants
        user = load_function.load(self.text, self.function, questions)
        names = [given.name for given in inputs]
        b = self._begun()
        metas = [torch.empty(i.type.shape, dtype=to_torch(i.type.dtype), device="meta") for i in b.inputs]
        returned: list[bool] = []

        def call(*tensors: torch.Tensor) -> list[torch.Tensor]:
            questions.about(tensors, b.inputs)
            value = user(**_arguments(user, dict(zip(names, tensors, strict=True)), constants))
            listed = list(value) if isinstance(value, (tuple, list)) else [value]
            if not listed or not all(isinstance(v, torch.Tensor) for v in listed):
                kinds = ", ".join(type(v).__name__ for v in listed) or "nothing"
                raise UnsupportedOutput(f"`{self.function}` returns {kinds}", line=self.place.line(_first_line(user)))
            returned.append(isinstance(value, (tuple, list)))
            return listed

        module = load_function.record(call, metas, questions)
        try:
            made = self._read(b, module)
        except InPlaceEdit:
            raise
        except (PartWritten, MirageError):
            if not writes(module):
                raise
            b = self._begun()
            made = self._read(b, self._without_writes(call, metas, questions))
        for x in made:
            b.output(x)
        program = b.program(returns_tuple=returned[-1])
        _refuse_eight_bit(program)
        return program

    def _begun(self) -> Builder:
        b = Builder(self.function)
        for given in self.inputs:
            b.input(given.name, given.shape, given.dtype, given.names)
        return b

    def _read(self, b: Builder, module: torch.fx.GraphModule) -> list[int]:
        return RecordedCalls(b, module, self.place.line, _floats(self.inputs)).read()

    def _without_writes(
        self, call: Callable[..., object], metas: Sequence[torch.Tensor], questions: Questions
    ) -> torch.fx.GraphModule:
        try:
            module = load_function.record(call, metas, questions, functional=True)
        except load_function.WrittenInput as written:
            line = self.place.line(written.line)
            raise InPlaceEdit(f"`{self.inputs[written.number].name}` is changed in place", line=line) from None
        if shared := may_share_memory(module):
            raise UnsupportedOperands(
                f"a part of a tensor is changed in place, and what `{shared}` gives may be another's memory",
                next_step="build the new tensor with torch.where or torch.cat",
            )
        forget_overwritten(module)
        return module


def _traced(tracer: _Tracer) -> Program:
    """The program; where the trace fails without PyTorch's compiler, once more with it: some of PyTorch counts on its import. What is
    refused by a rule of ours would be refused again."""
    try:
        return tracer.run()
    except Exception as error:
        if refused_by_rule(error) or not deferred_compiler.run():
            raise
    return tracer.run()


def refused_by_rule(error: BaseException) -> bool:
    """Is it an error with a code, behind which there is no exception but ours?"""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    return isinstance(error, MirageError) and all(type(x).__module__.partition(".")[0] == "mirage" for x in causes)


def _alike(a: Program, b: Program) -> bool:
    """Do two runs of one text compute the same?"""
    if a.key == b.key:
        return True
    types = [[p.type_of(x) for x in p.outputs] for p in (a, b)]
    return a.returns_tuple == b.returns_tuple and types[0] == types[1] and _meaning(lower(a)) == _meaning(lower(b))


def _first_line(user: Callable[..., object]) -> int | None:
    code = getattr(inspect.unwrap(user), "__code__", None)
    return None if code is None else int(code.co_firstlineno)


def _arguments(
    user: Callable[..., object], tensors: Mapping[str, object], constants: Mapping[str, object]
) -> dict[str, object]:
    """What the function is called with; parameters with defaults may be missing."""
    known = inspect.signature(user).parameters
    missing = [
        n for n, p in known.items()
        if p.default is p.empty and n not in tensors and n not in constants
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]  # fmt: skip
    unknown = [n for n in tensors if n not in known]
    if missing or unknown:
        word = f"gives no `{missing[0]}`" if missing else f"gives `{unknown[0]}`, which it does not take"
        raise TraceFailed(f"the description of the inputs {word}", next_step="describe each parameter once")
    return {**{k: v for k, v in constants.items() if k in known}, **tensors}


def _refuse_eight_bit(program: Program) -> None:
    """8-bit floats are stored, moved and cast; PyTorch computes nothing in them. The instructions that round to them saturate:
    what is too large for float8_e5m2 is infinite in PyTorch, and for float8_e4m3fn it is NaN in older ones."""
    for node in program.nodes:
        types = {program.type_of(a).dtype for a in node.args}
        stored = sorted(types.intersection(EIGHT_BIT))
        if stored and node.op != "cast" and not is_call(node.op) and not _moves(node.op, types):
            raise UnsupportedOperands(
                f"`{node.op}` computes in {TORCH_NAMES[stored[0]]}, which PyTorch does not", line=node.line,
                next_step="cast it first, with .to(torch.float16)",
            )  # fmt: skip
        if node.op == "cast" and node.type.dtype in EIGHT_BIT and types != {node.type.dtype}:
            _refuse_overflow(f"rounds to {TORCH_NAMES[node.type.dtype]}", node.type.dtype, node.line)
    for x in program.outputs:
        if program.type_of(x).dtype == "fp8e5m2":
            _refuse_overflow("returns float8_e5m2", "fp8e5m2", None)


def _moves(op: str, types: set[str]) -> bool:
    return OPERATORS[op].family == "shape" and len(types) == 1


def _refuse_overflow(does: str, dtype: str, line: int | None) -> None:
    """Raises where this PyTorch's conversion does not saturate."""
    far = _too_large(dtype)
    if not math.isfinite(far):
        raise UnsupportedOperands(
            f"the function {does}: kernels saturate where this PyTorch gives {far}", line=line,
            next_step="cast to it outside of the function",
        )  # fmt: skip


def _too_large(dtype: str) -> float:
    """What PyTorch makes of a number that is too large for an 8-bit float."""
    import torch

    return float(torch.tensor(1e9).to(to_torch(dtype)).float())


def _floats(inputs: Sequence[TensorSpec]) -> set[str]:
    """The floating dtypes that the inputs have and the function computes in: a cast to one of them is not a precision
    event."""
    known = {given.dtype for given in inputs}
    return {d for d in known if d in FLOATING and d not in EIGHT_BIT}

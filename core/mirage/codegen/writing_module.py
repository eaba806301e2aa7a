"""The last part of a module for a function that writes to its inputs: the kernels compute the new values, and this part writes them.

The module before it is one of the function without writes (`source/functional_text.py`). The part follows word for word from that module
and from its own first line, so that reading it means writing it again.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from dataclasses import dataclass

from mirage.codegen.emit import split_parts
from mirage.codegen.launcher_text import call_conditions, public_head
from mirage.codegen.line_layout import INDENT
from mirage.codegen.original_function import Original, read_original
from mirage.errors import EmissionRefused, ModuleUnreadable
from mirage.ir.writes import Writes
from mirage.source.functional_text import APART, functional_name, wrapper, writing_name

BEGIN, END = "# mirage:begin writes\n", "# mirage:end writes\n"
SAYS = "# writes: "
_APART = f'''
def {APART}(written, *tensors):
    """Whether the tensors of the numbers `written` may be written here, and share no memory with another one."""
    places = [(t.data_ptr(), t.numel() * t.element_size()) for t in tensors]
    for i in written:
        if tensors[i].is_inference() and not torch.is_inference_mode_enabled():
            return False
        first, size = places[i]
        for j, (other, length) in enumerate(places):
            if i != j and first < other + length and other < first + size:
                return False
    return True
'''.strip().split("\n")


@dataclass(frozen=True)
class WritingPart:
    """What such a part says: the function's name, its parameters that are tensors, and what it writes. `text` and `writing`: the function
    as written with its imports, and its name there."""

    function: str
    inputs: tuple[str, ...]
    writes: Writes
    text: str
    writing: str


def with_writes(module: str, function: str, docstring: str | None, inputs: Sequence[str], writes: Writes) -> str:
    """The module of a function without writes, and behind it `function` as a user calls it. Raises EmissionRefused where the module is
    not one of that function."""
    text, original = _read(module, function, inputs)
    tree = ast.parse(text)
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    writing, own = functions.get(writing_name(function)), functions.get(f"_original_{functional_name(function)}")
    if writing is None or own is None:
        raise EmissionRefused(f"the module has no function `{writing_name(function)}`")
    want = wrapper(own.name, writing.name, writing.args, inputs, writes)
    if ast.dump(ast.parse(want).body[0]) != ast.dump(own):
        raise EmissionRefused(f"`{own.name}` is not `{function}` on copies", line=own.lineno)
    names = {n.id for n in ast.walk(ast.parse(module)) if isinstance(n, ast.Name)} | set(inputs) | set(functions)
    if not names.isdisjoint((APART, function)):
        raise EmissionRefused(f"the module names something `{APART}` or `{function}`")
    said = json.dumps({"function": function, "tensors": list(inputs), **writes.to_dict()})
    lines = [
        f"{SAYS}{said}",
        "",
        "",
        *_APART,
        "",
        "",
        *public_head(function, original, docstring),
        *_body(function, original, inputs, writes, table="\n_BY_SIZE = " in module),
    ]
    return f"{module}{BEGIN}" + "\n".join(lines) + f"\n{END}"


def _body(function: str, original: Original, inputs: Sequence[str], writes: Writes, *, table: bool) -> list[str]:
    made = "new"
    while made in {*inputs, *(n for n, _ in original.extra)}:
        made += "_"
    tensors = ", ".join(inputs)
    numbers = ", ".join(map(str, writes.inputs)) + ("," if len(writes.inputs) == 1 else "")
    fits = f"_fits({tensors})" + (" is not None" if table else "")
    own = [n for n, i in enumerate(writes.returned) if i is None]
    given = [f"{made}[{own.index(n)}]" if i is None else inputs[i] for n, i in enumerate(writes.returned)]
    if writes.form == "tuple":
        given = [f"({', '.join(given)}{',' if len(given) == 1 else ''})"]
    conditions = [*call_conditions(original), fits, f"{APART}(({numbers}), {tensors})"]
    copies = [f"{inputs[i]}.copy_({made}[{len(own) + k}])" for k, i in enumerate(writes.inputs)]
    return [
        f"{INDENT}if {' and '.join(conditions)}:",
        f"{INDENT * 2}{made} = {functional_name(function)}({original.call})",
        *(f"{INDENT * 2}{c}" for c in copies),
        f"{INDENT * 2}return{' ' if given else ''}{''.join(given)}",
        f"{INDENT}return {writing_name(function)}({original.call})",
    ]


def taken_apart(text: str) -> tuple[str, WritingPart | None]:
    """The module without such a part, and what the part says; (the text, None) where there is none. Raises ModuleUnreadable where the part
    is not word for word what `with_writes` makes of the rest."""
    module, mark, rest = text.partition(BEGIN)
    if not mark:
        return text, None
    try:
        first = rest.partition("\n")[0]
        if not first.startswith(SAYS):
            raise ValueError("its first line says nothing")
        said = json.loads(first.removeprefix(SAYS))
        function, inputs, writes = str(said["function"]), tuple(map(str, said["tensors"])), Writes.from_dict(said)
        part = ast.parse(rest)
        public = next(n for n in part.body if isinstance(n, ast.FunctionDef) and n.name == function)
        again = with_writes(module, function, ast.get_docstring(public, clean=False), inputs, writes)
        own = _read(module, function, inputs)[0]
    except (
        SyntaxError,
        ValueError,
        KeyError,
        TypeError,
        LookupError,
        RecursionError,
        StopIteration,
        EmissionRefused,
    ) as e:
        raise ModuleUnreadable(f"the part of the module that writes to inputs cannot be read ({e})") from None
    if again != text:
        raise ModuleUnreadable("the part of the module that writes to inputs is not as it is emitted")
    return module, WritingPart(function, inputs, writes, own, writing_name(function))


def _read(module: str, function: str, inputs: Sequence[str]) -> tuple[str, Original]:
    """The user's part of a module with its imports, and the function without writes in it."""
    parts = split_parts(module)
    imports = "\n".join(x for x in parts.get("imports", "").splitlines() if "triton" not in x)
    text = f"{imports}\n\n\n{parts.get('original', '')}\n"
    return text, read_original(text, f"_original_{functional_name(function)}", tuple(inputs))

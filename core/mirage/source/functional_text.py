"""A function that writes to its inputs, as one that does not: it works on copies, and returns what they hold at the end.

The text of the slice stays, with the function under another name, and behind it stands the function without writes, whose whole text
follows from the parameters and the `Writes`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from mirage.errors import InPlaceEdit
from mirage.ir.writes import Writes
from mirage.source.slice import Slice

APART = "_apart"  # what the module binds that writes the results to the inputs


def writing_name(function: str) -> str:
    """The name of the function as written, beside the one without writes."""
    return f"_writing_{function}"


def functional_name(function: str) -> str:
    """The name of the function without writes."""
    return f"{function}_functional"


def functional(part: Slice, inputs: Sequence[str], writes: Writes) -> Slice:
    """The slice of the function without writes, whose tensors are the parameters `inputs`: it returns the tensors of the function's own
    among what that returns, and then the written inputs' last values. Raises InPlaceEdit where a name is taken."""
    function, tree = part.function, ast.parse(part.text)
    node = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function)
    bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | set(part.names) | set(inputs)
    for name in (writing_name(function), functional_name(function), APART):
        if name in bound:
            raise InPlaceEdit(f"`{function}` writes to its inputs, and the file names something `{name}`")
    if any(isinstance(n, ast.Name) and n.id == function for n in ast.walk(tree)):
        raise InPlaceEdit(f"`{function}` writes to its inputs and names itself")
    lines = part.text.split("\n")
    at = node.lineno - 1
    lines[at] = lines[at].replace(f"def {function}", f"def {writing_name(function)}", 1)
    wrapped = wrapper(functional_name(function), writing_name(function), node.args, inputs, writes)
    text = "\n".join(lines).rstrip("\n") + f"\n\n\n{wrapped}\n"
    names = tuple(writing_name(n) if n == function else n for n in part.names)
    return replace(part, text=text, function=functional_name(function), names=(*names, functional_name(function)))


def wrapper(name: str, writing: str, args: ast.arguments, inputs: Sequence[str], writes: Writes) -> str:
    """The function `name` without writes, of the function `writing` that has these parameters."""
    written = [inputs[i] for i in writes.inputs]
    plain = [a.arg for a in (*args.posonlyargs, *args.args)]
    call = ", ".join([*plain, *(f"{a.arg}={a.arg}" for a in args.kwonlyargs)])
    made = "made"
    while made in {*plain, *(a.arg for a in args.kwonlyargs)}:
        made += "_"
    own = [made if writes.form == "one" else f"{made}[{n}]" for n, i in enumerate(writes.returned) if i is None]
    given = [*own, *written]
    lines = [
        f"def {name}({ast.unparse(args)}):",
        *(f"    {w} = {w}.clone()" for w in written),
        f"    {f'{made} = ' if own else ''}{writing}({call})",
        f"    return ({', '.join(given)}{',' if len(given) == 1 else ''})",
    ]
    return "\n".join(lines)

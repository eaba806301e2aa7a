"""A function that has no meaning in the operator table, as one operator: PyTorch's compiler may still be the best for it.

Nothing is known of the operator but what it takes and gives, so that no kernel is searched. It must be a function of its tensors:
recording it shows whether it draws random numbers or changes an input.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mirage.errors import InPlaceEdit, UnknownOperator
from mirage.ir.program import Operation, Program
from mirage.ir.tensor_spec import TensorSpec, TensorType
from mirage.program import load_function
from mirage.program.questions import Questions
from mirage.program.recorded_calls import TAGS
from mirage.program.torch_dtypes import from_torch, to_torch

if TYPE_CHECKING:
    import torch

OPERATOR = "function"
RANDOM = "nondeterministic_seeded"


def whole_function(
    text: str, function: str, inputs: Sequence[TensorSpec], constants: Mapping[str, object] | None = None
) -> Program:
    """The program of one operator, named after the text. Raises UnknownOperator where the function draws random numbers,
    InPlaceEdit where it changes an input, and whatever it raises itself. Executes the user's function: only a worker may call it."""
    import torch

    user = load_function.load(text, function, Questions())
    metas = [torch.empty(i.type.shape, dtype=to_torch(i.type.dtype), device="meta") for i in inputs]
    given = [i.name for i in inputs]

    def call(*tensors: torch.Tensor) -> list[torch.Tensor]:
        value = user(**(constants or {}), **dict(zip(given, tensors, strict=True)))
        return list(value) if isinstance(value, (tuple, list)) else [value]

    module = load_function.record(call, metas, Questions())
    returned: list[TensorType] = []
    for node in module.graph.nodes:
        _check(node)
        if node.op == "output":
            returned = [TensorType(tuple(x.meta["val"].shape), from_torch(x.meta["val"].dtype)) for x in node.args[0]]
    digest = hashlib.sha256(f"{function}\n{text}".encode()).hexdigest()
    places = tuple(range(len(inputs)))
    nodes = tuple(Operation(OPERATOR, places, (("result", i), ("text", digest)), t) for i, t in enumerate(returned))
    return Program(function, tuple(inputs), nodes, tuple(range(len(inputs), len(inputs) + len(nodes))))


def _check(node: torch.fx.Node) -> None:
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return
    line = node.meta.get("mirage_line")
    if RANDOM in {t.name for t in node.target.tags}:
        raise UnknownOperator(f"`{node.target}` {TAGS[RANDOM][0]}", line=line, next_step=TAGS[RANDOM][1])
    written = {a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write}
    positions = [a.name for a in schema.arguments]
    given = dict(zip(positions, node.args, strict=False)) | dict(node.kwargs)
    for name in written:
        if any(root.op == "placeholder" for root in _roots(given[name])):
            raise InPlaceEdit(f"`{node.target}` changes an input in place", line=line)


def _roots(node: torch.fx.Node) -> Iterator[torch.fx.Node]:
    """What may share memory with a recorded tensor: what it is a view of, through all its operands."""
    yield node
    schema = getattr(node.target, "_schema", None)
    if schema is None or any(a.alias_info is not None for a in schema.arguments) or _may_alias(node):
        for source in node.all_input_nodes:
            yield from _roots(source)


def _may_alias(node: torch.fx.Node) -> bool:
    return "maybe_aliasing_or_mutating" in {t.name for t in getattr(node.target, "tags", ())}

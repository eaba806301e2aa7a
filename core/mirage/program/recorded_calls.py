"""PyTorch calls outside the operator table: the test whether one may stay a call, its attributes, and its dims of equal size.

A call is kept if it is a function: no random numbers, nothing changed in place, a tensor of its own as the result, shapes
that PyTorch's meta tensors tell. Which dims go together is tried: the call is asked, on meta tensors, at other sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mirage.errors import UnknownOperator
from mirage.ir.opaque_calls import DTYPES, NUMBERS, RESULT_TENSOR, SIZES, TENSOR, Places, is_call
from mirage.ir.program import Attr
from mirage.ir.tensor_spec import TensorType
from mirage.program.torch_dtypes import to_torch

if TYPE_CHECKING:
    import torch

# A tag of PyTorch's operators, what it means for the user, and what to do.
TAGS = {
    "nondeterministic_seeded": ("draws random numbers", "draw them outside and pass them in"),
    "maybe_aliasing_or_mutating": ("may change a tensor or return one of its arguments", "write what it computes"),
    "data_dependent_output": ("gives what the values of a tensor decide", "move it out of the function"),
    "inplace_view": ("changes a tensor in place", "build the new tensor instead"),
}
BY_STRIDES = ("as_strided",)  # views whose elements follow from where a tensor lies
OTHER_SIZES: tuple[Callable[[int], int], ...] = (lambda n: 2 * n, lambda n: n + 1, lambda n: 2, lambda n: 5)


def overload(name: str) -> torch._ops.OpOverload:
    """The ATen overload of a name."""
    import torch

    _, packet, which = name.split(".")
    return getattr(getattr(torch.ops.aten, packet), which)


def functional(name: str) -> str:
    """PyTorch's own form of a view that gives a tensor of its own, where the elements do not depend on strides."""
    import torch

    _, packet, which = name.split(".") if name.count(".") == 2 else ("", "", "")
    copied = getattr(torch.ops.aten, f"{packet}_copy", None) if packet and packet not in BY_STRIDES else None
    return f"aten.{packet}_copy.{which}" if copied is not None and which in copied.overloads() else name


def refusal(name: str, line: int | None) -> UnknownOperator | None:
    """Why an operator cannot be kept; None if it can."""

    def refused(why: str, instead: str) -> UnknownOperator:
        return UnknownOperator(f"`{name}` is not in the operator table, and {why}", line=line, next_step=instead)

    if not is_call(name) or name.count(".") != 2:
        return refused("it is none of PyTorch's own", "write it with PyTorch's operators")
    op = overload(name)
    tags = {t.name for t in op.tags}
    found = next((words for tag, words in TAGS.items() if tag in tags), None)
    if found is not None:
        return refused(f"it {found[0]}", found[1])
    schema = op._schema
    if any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments):
        return refused("it writes into one of its arguments", "use the form that returns a new tensor")
    if any(a.alias_info is not None for a in schema.arguments):
        return refused("its result shares memory with its argument", "use an operator that gives a tensor of its own")
    if not schema.returns or any(str(r.type) != "Tensor" for r in schema.returns):
        return refused("it gives something else than tensors", "move it out of the function")
    return None


def plain(name: str, value: object, tensor: Callable[[object], str | None], line: int | None) -> Attr:
    """An argument as plain data; `tensor` gives the place of a tensor, None for what is none."""
    import torch

    place = tensor(value)
    if place is not None:
        return place
    if isinstance(value, (list, tuple)):
        return tuple(plain(name, v, tensor, line) for v in value)
    if isinstance(value, torch.dtype) and str(value) in DTYPES:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = isinstance(value, str) and not TENSOR.match(value) and value not in DTYPES and value not in NUMBERS
    if value is None or (isinstance(value, str) and text):
        return value
    if isinstance(value, (int, float)) and type(value) in (bool, int, float):
        return value
    raise UnknownOperator(
        f"`{name}` is not in the operator table, and it is given {value!r}", line=line,
        next_step="leave devices, layouts and generators to PyTorch",
    )  # fmt: skip


def attributes(name: str, given: Mapping[str, Attr]) -> dict[str, Attr]:
    """The arguments that are not what the schema has by default."""
    schema = overload(name)._schema
    default = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    return {k: v for k, v in given.items() if k not in default or repr(v) != repr(frozen(default[k]))}


def frozen(value: object) -> object:
    return tuple(frozen(v) for v in value) if isinstance(value, (list, tuple)) else value


def results(
    name: str, attrs: Mapping[str, Attr], types: Sequence[TensorType], shapes: Sequence[tuple[int, ...]]
) -> list[torch.Tensor] | None:
    """What the call gives on meta tensors of these shapes; None where it raises."""
    import torch

    tensors = [torch.empty(s, dtype=to_torch(t.dtype), device="meta") for s, t in zip(shapes, types, strict=True)]

    def value(v: Attr) -> object:
        if isinstance(v, tuple):
            return [value(x) for x in v]
        if isinstance(v, str) and (found := TENSOR.match(v)):
            return tensors[int(found[1])]
        if isinstance(v, str) and v in NUMBERS:
            return NUMBERS[v]
        return getattr(torch, v.removeprefix("torch.")) if isinstance(v, str) and v in DTYPES else v

    try:
        with torch.no_grad():
            made = overload(name)(**{k: value(v) for k, v in attrs.items()})
    except Exception:  # whatever PyTorch raises for shapes that do not fit, they do not fit
        return None
    return list(made) if isinstance(made, (tuple, list)) else [made]


def with_sizes(
    name: str, attrs: Mapping[str, Attr], types: Sequence[TensorType], result: int | None
) -> dict[str, Attr]:
    """The attributes of one of the call's results, with the dims that may change their sizes together."""
    own: list[Places] = []
    shapes = [t.shape for t in types]
    taken: set[tuple[int, int]] = set()

    def moves(places: Sequence[tuple[int, int]], n: int) -> Places | None:
        """The dims of the result that follow those of the arguments; None where the call does not allow it."""
        found: set[Places] = set()
        for other in {f(n) for f in OTHER_SIZES} - {n}:
            changed = [tuple(other if (i, d) in places else m for d, m in enumerate(s)) for i, s in enumerate(shapes)]
            before, after = (shape_of(results(name, attrs, types, s), result) for s in (shapes, changed))
            if before is None or after is None or len(before) != len(after):
                return None
            if any(a != b and (b, a) != (n, other) for a, b in zip(after, before, strict=True)):
                return None
            found.add(tuple((RESULT_TENSOR, d) for d, (a, b) in enumerate(zip(after, before, strict=True)) if a != b))
        return found.pop() if len(found) == 1 else None

    for places in alone_then_together(shapes, taken):
        n = shapes[places[0][0]][places[0][1]]
        follow = None if taken & set(places) else moves(places, n)
        if follow is not None and not taken & set(follow):
            taken |= {*places, *follow}
            own.append((*places, *follow))
    return {**attrs, SIZES: tuple(own)}


def shape_of(made: list[torch.Tensor] | None, result: int | None) -> tuple[int, ...] | None:
    return None if made is None else tuple(made[result or 0].shape)


def alone_then_together(shapes: Sequence[tuple[int, ...]], taken: set[tuple[int, int]]) -> Iterator[Places]:
    """Each dim by itself; then of those that did not move alone the ones of one size, as far from the end as each other, and
    all of that size."""
    every = [(i, d) for i, s in enumerate(shapes) for d, n in enumerate(s) if n > 1]
    for place in every:
        yield (place,)
    for n in dict.fromkeys(shapes[i][d] for i, d in every):
        left = [(i, d) for i, d in every if shapes[i][d] == n and (i, d) not in taken]
        ends = [len(shapes[i]) - d for i, d in left]
        aligned = [[p for p, e in zip(left, ends, strict=True) if e == end] for end in dict.fromkeys(ends)]
        for chosen in (*aligned, left):
            places = tuple(p for p in chosen if p not in taken)
            if len(places) > 1:
                yield places

"""Which inputs a function writes to, and what it returns of them: found by running it on meta tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from mirage.errors import InPlaceEdit
from mirage.ir.tensor_spec import TensorSpec
from mirage.ir.writes import Form, Writes
from mirage.program import load_function
from mirage.program.meta_kernels import kernels_by_schema
from mirage.program.questions import Questions
from mirage.program.torch_dtypes import to_torch

if TYPE_CHECKING:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode


def written_inputs(
    text: str, function: str, inputs: Sequence[TensorSpec], constants: Mapping[str, object] | None = None
) -> Writes:
    """What the function of a text writes to. Executes it: only a worker may call this.

    Raises InPlaceEdit where it writes to none, where it returns a view of one, changes the shape of one, or where two ways of looking do
    not find the same inputs: the tensors' own count of writes, and the memory that operators write to."""
    import torch

    names = [i.name for i in inputs]

    def call(*tensors: torch.Tensor) -> object:
        user = load_function.load(text, function, Questions())
        return user(**(constants or {}), **dict(zip(names, tensors, strict=True)))

    metas = [torch.empty(i.type.shape, dtype=to_torch(i.type.dtype), device="meta") for i in inputs]
    layouts, counts = [_layout(x) for x in metas], [x._version for x in metas]
    seen: set[int] = set()
    modes = (load_function.on_meta(Questions()), kernels_by_schema(), torch.no_grad(), _looking_at(metas, seen))
    with ExitStack() as entered, warnings.catch_warnings():
        for mode in modes:
            entered.enter_context(mode)
        warnings.simplefilter("ignore")
        value = call(*metas)
    for name, x, layout in zip(names, metas, layouts, strict=True):
        if _layout(x) != layout:
            raise InPlaceEdit(f"`{name}` gets another shape or other memory in place")
    counted = {n for n, (x, before) in enumerate(zip(metas, counts, strict=True)) if x._version != before}
    if counted != seen or not counted:
        doubtful = ", ".join(f"`{names[n]}`" for n in sorted(counted ^ seen)) or "an input"
        raise InPlaceEdit(f"{doubtful} is changed in place in a way that is not followed")
    form, listed = _listed(value)
    written = tuple(sorted(counted))
    return Writes(written, tuple(_returned(v, metas, names, written) for v in listed), form)


def _layout(x: torch.Tensor) -> tuple[object, ...]:
    return (*x.shape, *x.stride(), x.storage_offset(), x.dtype, x.untyped_storage()._cdata)


def _listed(value: object) -> tuple[Form, Sequence[object]]:
    if value is None:
        return "nothing", ()
    if type(value) is tuple:
        return "tuple", value
    return "one", (value,)


def _returned(value: object, metas: Sequence[torch.Tensor], names: Sequence[str], written: Sequence[int]) -> int | None:
    """The input that a returned value is. Raises InPlaceEdit for what is no tensor, and for a view of a written input."""
    import torch

    if not isinstance(value, torch.Tensor):
        raise InPlaceEdit(f"an input is changed in place, and the function returns {type(value).__name__}")
    for n, x in enumerate(metas):
        if value is x:
            return n
        if n in written and value.untyped_storage()._cdata == x.untyped_storage()._cdata:
            raise InPlaceEdit(
                f"`{names[n]}` is changed in place, and a view of it is returned",
                next_step="return the input itself, or a new tensor",
            )
    return None


def _looking_at(metas: Sequence[torch.Tensor], seen: set[int]) -> TorchDispatchMode:
    """A mode in which `seen` gets the inputs whose memory an operator writes to, by whatever tensor that shows it."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    places = {x.untyped_storage()._cdata: n for n, x in enumerate(metas)}

    class Looking(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self,
            function: torch._ops.OpOverload,
            types: object,
            args: tuple[object, ...] = (),
            kwargs: dict[str, object] | None = None,
        ) -> object:
            given = dict(zip((a.name for a in function._schema.arguments), args, strict=False)) | (kwargs or {})
            for a in function._schema.arguments:
                if a.alias_info is not None and a.alias_info.is_write and a.name in given:
                    value = given[a.name]
                    for x in value if isinstance(value, (list, tuple)) else [value]:
                        place = places.get(x.untyped_storage()._cdata) if isinstance(x, torch.Tensor) else None
                        seen.update(() if place is None else (place,))
            call: Callable[..., object] = function
            return call(*args, **(kwargs or {}))

    return Looking()

"""The reference results of the user's function, computed in a worker: eager in its own dtypes, or in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from mirage.program import load_function

if TYPE_CHECKING:
    import torch


def reference(
    text: str, function: str, constants: Mapping[str, object] | None = None, *, exact: bool = False
) -> Callable[[Sequence[torch.Tensor]], tuple[torch.Tensor, ...]]:
    """`run(tensors)`: the outputs of the slice's function, its inputs in order, without gradients.

    With `exact` floating inputs are computed with in float64, and casts that the function itself writes stay.
    Executes the user's text; only a worker may call it.
    """
    import torch

    user = load_function.load(text, function)

    def run(tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        given = [x.double() if exact and x.is_floating_point() else x for x in tensors]
        with torch.no_grad():
            value = user(*given, **dict(constants or {}))
        return tuple(value) if isinstance(value, (tuple, list)) else (value,)

    return run

"""A copy from places that it is written to: PyTorch says of none what it gives, and gives something else than a copy of what was there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mirage.errors import UnsupportedOperands

if TYPE_CHECKING:
    import numpy as np
    import torch

LARGEST = 1 << 23  # elements that are looked at one by one; of more the runs of memory are


def refuse_overlap(function: Callable[..., object], args: Sequence[object]) -> None:
    """UnsupportedOperands for a call that copies a tensor over a part of itself, before it is made."""
    import torch

    if function not in (torch.Tensor.copy_, torch.Tensor.__setitem__) or not isinstance(args[-1], torch.Tensor):
        return
    written, read = args[0], args[-1]
    if not isinstance(written, torch.Tensor) or not _one_memory(written, read):
        return
    if function is torch.Tensor.__setitem__:
        written = written[args[1]]
    if isinstance(written, torch.Tensor) and _one_memory(written, read) and overlap(written, read):
        raise UnsupportedOperands(
            "a tensor is copied to places that it is read from", next_step="copy it first, with `.clone()`"
        )


def _one_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(a.untyped_storage()._cdata == b.untyped_storage()._cdata)


def overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two views of one memory have an element in common, unless each is at its own place in both."""
    import numpy as np

    if not (a.numel() and b.numel()) or (_layout(a) == _layout(b)):
        return False
    (first, last), (start, end) = _run(a), _run(b)
    if last < start or end < first or max(a.numel(), b.numel()) > LARGEST:
        return last >= start and end >= first
    low = min(first, start)
    taken = np.zeros(max(last, end) - low + 1, dtype=bool)
    taken[_places(a) - low] = True
    return bool(taken[_places(b) - low].any())


def _layout(x: torch.Tensor) -> tuple[object, ...]:
    return tuple(x.shape), x.stride(), x.storage_offset()


def _run(x: torch.Tensor) -> tuple[int, int]:
    """The first and the last place."""
    first = x.storage_offset()
    return first, first + sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True))


def _places(x: torch.Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    import numpy as np

    found = np.full((1,), x.storage_offset(), dtype=np.int64)
    for n, s in zip(x.shape, x.stride(), strict=True):
        found = (found[:, None] + s * np.arange(n)).reshape(-1)
    return found

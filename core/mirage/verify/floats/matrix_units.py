"""How far off a product may be on a GPU's matrix units, whose accumulators cut off instead of rounding.

Such a unit adds CHUNK products at once to a float32 accumulator and cuts off what does not fit (toward zero; Fasi, Higham,
Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ CS 2021). The errors of a sum of k products so add
up to about k / CHUNK halves of a unit of the partial sums, whatever the library: `benchmarks/matrix_units.py` measures it, for
PyTorch's own products too. Where a product nearly cancels, that is far more than the rounding of its result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch.overrides import TorchFunctionMode

CHUNK = 16  # products that are added at once (16-bit operands)
CUT = 2.0**-24  # of the accumulator, what one addition cuts off on average
Product = Callable[..., "torch.Tensor"]


@lru_cache(maxsize=1)
def products() -> frozenset[Product]:
    """PyTorch's functions of two tensors whose result sums products over the last dimension of the first one."""
    import torch
    from torch.nn import functional

    of = torch.Tensor
    return frozenset({
        torch.matmul, of.matmul, of.__matmul__, of.__rmatmul__, torch.mm, of.mm, torch.bmm, of.bmm, functional.linear
    })  # fmt: skip


def accumulated(product: Product, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """How far off each element may be: for so many additions, a unit of a partial sum as large as the root of the sum of the squared
    products."""
    additions = -(-a.shape[-1] // CHUNK)
    return product(a * a, b * b).clamp_min(0).sqrt() * (additions * CUT)


def cut_off(seed: int) -> TorchFunctionMode:
    """A mode in which every product of floating-point tensors is off by as much as a matrix unit may make it, at random."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self,
            func: Product,
            types: object,
            args: tuple[torch.Tensor, ...] = (),
            kwargs: dict[str, object] | None = None,
        ) -> object:
            result = func(*args, **(kwargs or {}))
            if func not in products() or not all(x.is_floating_point() for x in args[:2]):
                return result
            chance = torch.Generator(result.device).manual_seed(seed)
            noise = torch.rand(result.shape, generator=chance, dtype=result.dtype, device=result.device)
            return result + (2 * noise - 1) * accumulated(func, args[0], args[1])

    return Mode()

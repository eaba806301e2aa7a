"""Tensor descriptors of the host in Triton's interpreter, for launches of any size.

What a device asks of a descriptor's base and strides holds at a kernel's own sizes: the µGraph's rule and the module's guard see to
that. Small launches have sizes that no device would take, and read and write the same places by the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import triton.language as tl
    from triton.runtime.interpreter import InterpreterBuilder, TensorDescHandle, TensorHandle
    from triton.tools.tensor_descriptor import TensorDescriptor

    from mirage.codegen.interpreter import Patches

MOST_DIMS = 5


def check_described(shape: Sequence[int], strides: Sequence[int], block: Sequence[int]) -> None:
    """Raises ValueError for what is a descriptor at no size."""
    if not 0 < len(shape) == len(strides) == len(block) <= MOST_DIMS:
        raise ValueError("a descriptor's shape, strides and block have unlike lengths")
    if strides[-1] != 1 or min(shape) < 1 or min(block) < 1:
        raise ValueError("a descriptor's last dim has gaps, or one of its dims nothing")


def patch_descriptors(patches: Patches) -> None:
    """Host descriptors without a device's alignment, until the patches are restored."""
    import triton.language as tl
    import triton.runtime.interpreter as interpreter
    from triton.tools.tensor_descriptor import TensorDescriptor

    handle, kept, convert = interpreter.TensorHandle, interpreter.TensorDescHandle, interpreter._implicit_cvt

    def made(self: TensorDescriptor) -> None:
        check_described(self.shape, self.strides, self.block_shape)
        if self.padding != "zero":
            raise ValueError(f"a descriptor that reads {self.padding} beyond its tensor")

    def given(argument: object) -> object:
        if not isinstance(argument, TensorDescriptor):
            return convert(argument)
        base = convert(argument.base)
        shape = [convert(int(n)) for n in argument.shape]
        strides = [tl.tensor(handle(np.array([n], np.int64), tl.int64), tl.int64) for n in argument.strides]
        block = tl.block_type(base.type.element_ty, list(argument.block_shape))
        parts = [[x.handle for x in xs] for xs in (shape, strides)]
        found = kept(base.handle, parts[0], parts[1], list(argument.block_shape), "zero")
        return tl.tensor_descriptor(found, shape, strides, block)

    patches.set(TensorDescriptor, "__post_init__", made)
    patches.set(interpreter, "_implicit_cvt", given)
    _patch_accesses(patches, interpreter.InterpreterBuilder, handle)


def _patch_accesses(
    patches: Patches, builder: type[InterpreterBuilder], handle: Callable[[NDArray[np.generic], tl.dtype], TensorHandle]
) -> None:
    """Loads and stores of blocks, as masked ones of their elements."""
    import triton.language as tl

    def places(desc: TensorDescHandle, offsets: Sequence[TensorHandle]) -> tuple[TensorHandle, TensorHandle]:
        if len(offsets) != len(desc.block_shape):
            raise ValueError(f"a block of {len(desc.block_shape)} dims at {len(offsets)} offsets")
        kind = desc.base.dtype
        size = kind.element_ty.primitive_bitwidth // 8
        at = np.zeros(desc.block_shape, np.int64)
        inside = np.ones(desc.block_shape, bool)
        for axis, n in enumerate(desc.block_shape):
            along = [n if i == axis else 1 for i in range(len(desc.block_shape))]
            index = (np.int64(offsets[axis].data.item()) + np.arange(n)).reshape(along)
            at = at + index * np.int64(desc.strides[axis].data.item())
            inside = inside & (index >= 0) & (index < desc.shape[axis].data.item())
        pointers = desc.base.data.astype(np.uint64).reshape([1] * at.ndim) + (at * size).astype(np.uint64)
        return handle(pointers, kind), handle(inside, tl.int1)

    def load(
        self: InterpreterBuilder, desc: TensorDescHandle, offsets: Sequence[TensorHandle], *more: object
    ) -> object:
        pointers, inside = places(desc, offsets)
        element = pointers.get_element_ty()
        block = tl.block_type(element, list(desc.block_shape))
        zeros = self.create_splat(block, self.get_null_value(element))
        return self.create_masked_load(pointers, inside, zeros, None, None, False)

    def store(
        self: InterpreterBuilder, desc: TensorDescHandle, value: TensorHandle, offsets: Sequence[TensorHandle]
    ) -> object:
        pointers, inside = places(desc, offsets)
        return self.create_masked_store(pointers, value, inside, None, None)

    patches.set(builder, "create_descriptor_load", load)
    patches.set(builder, "create_descriptor_store", store)

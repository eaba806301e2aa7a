"""Operands of the interpreter's binary operators: none is converted that has its type and shape already, and numbers become blocks once.

A third of the interpreter's time went into finding, for each operator again, that two float32 blocks of one shape need nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import triton.language.core as core
    import triton.language.semantic as semantic

    from mirage.codegen.interpreter import Patches

    Shape = tuple[int, ...]

PLAIN = {"int32", "int64", "fp32", "fp64"}  # types of which two operands stay as they are
SHORT = {"fp16", "bf16"}  # of which only quotients become float32
OFFSETS = {"int32", "int64"}
MOST_NUMBERS = 512  # that are kept as blocks


def share_operands(patches: Patches) -> None:
    """Replaces what makes two operands alike, until the patches are restored. Equal shapes of tensors must be the same object."""
    _numbers(patches)
    _shapes(patches)


def _numbers(patches: Patches) -> None:
    import triton.language.core as core
    import triton.language.semantic as semantic

    semantics, tensor = semantic.TritonSemantic, core.tensor
    inner = semantics.binary_op_type_checking_impl
    blocks: dict[tuple[object, ...], core.tensor] = {}

    def unchanged(a: core.tensor, b: core.tensor, pointers: bool, quotient: bool) -> bool:
        left, right = a.dtype, b.dtype
        if left.is_ptr():
            return pointers and right.name in OFFSETS
        name = left.name
        return name == right.name and (name in PLAIN or (name in SHORT and not quotient))

    def operands(
        self: semantic.TritonSemantic[core.tensor], lhs: core.tensor, rhs: core.tensor | float,
        allow_lhs_ptr: bool = False, allow_rhs_ptr: bool = False, arithmetic_check: bool = True, div_or_mod: bool = False,
    ) -> tuple[core.tensor, core.tensor]:  # fmt: skip
        kind = type(rhs)
        if type(lhs) is tensor:
            if kind is tensor:
                if unchanged(lhs, rhs, allow_lhs_ptr, div_or_mod):
                    return self.broadcast_impl_value(lhs, rhs)  # type: ignore[no-any-return]
            elif (kind is int or kind is float) and lhs.dtype.name in PLAIN:
                key = (lhs.dtype.name, id(lhs.shape), kind, rhs, arithmetic_check, div_or_mod)
                known = blocks.get(key)
                if known is not None:
                    return lhs, known
                made = inner(self, lhs, rhs, allow_lhs_ptr, allow_rhs_ptr, arithmetic_check, div_or_mod)
                if made[0] is lhs and len(blocks) < MOST_NUMBERS:
                    made[1].handle.data.flags.writeable = False
                    blocks[key] = made[1]
                return made  # type: ignore[no-any-return]
        return inner(self, lhs, rhs, allow_lhs_ptr, allow_rhs_ptr, arithmetic_check, div_or_mod)  # type: ignore[no-any-return]

    patches.set(semantics, "binary_op_type_checking_impl", operands)


def _shapes(patches: Patches) -> None:
    import triton.language.core as core
    import triton.language.semantic as semantic

    semantics, block_type = semantic.TritonSemantic, core.block_type
    inner = semantics.broadcast_impl_value
    together: dict[tuple[int, int], Shape | None] = {}  # by the identities of two shapes

    def common(left: core.tensor, right: core.tensor) -> Shape | None:
        """The shape of both side by side; None where Triton itself has to find it, or to refuse them."""
        a, b = tuple(left.type.shape.values), tuple(right.type.shape.values)
        if len(a) != len(b) or any(m != n and 1 not in (m, n) for m, n in zip(a, b, strict=True)):
            return None
        return tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))

    def widened(self: semantic.TritonSemantic[core.tensor], x: core.tensor, shape: Shape) -> core.tensor:
        if tuple(x.type.shape.values) == shape:
            return x
        kind = block_type(x.dtype, list(shape))
        return self.tensor(self.builder.create_broadcast(x.handle, list(shape)), kind)

    def broadcast(
        self: semantic.TritonSemantic[core.tensor], lhs: core.tensor, rhs: core.tensor
    ) -> tuple[core.tensor, core.tensor]:
        if lhs.shape is rhs.shape:
            return lhs, rhs
        if lhs.type.is_block() and rhs.type.is_block():
            key = id(lhs.shape), id(rhs.shape)
            if key not in together:
                together[key] = common(lhs, rhs)
            shape = together[key]
            if shape is not None:
                return widened(self, lhs, shape), widened(self, rhs, shape)
        return inner(self, lhs, rhs)  # type: ignore[no-any-return]

    patches.set(semantics, "broadcast_impl_value", broadcast)

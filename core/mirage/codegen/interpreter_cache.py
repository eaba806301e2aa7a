"""A faster Triton interpreter: shapes and patched language functions are made once, not at each operator.

Half of the interpreter's time goes into wrapping each result's shape in Triton's own tuples, which depend on the shape
alone and are never changed, and into replacing the language's functions again at each call of a device function
(`tl.sum` is one), where once a launch is enough.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from mirage.codegen.interpreter_operands import share_operands

if TYPE_CHECKING:
    import triton.language.core as core
    from triton.runtime.interpreter import GridExecutor, InterpretedFunction, TensorHandle, _LangPatchScope

    from mirage.codegen.interpreter import Patches

KNOWN = "3.6."  # the versions whose constructors these are


def lighten(patches: Patches) -> None:
    """Replaces the constructors of block types and tensors, and calls of device functions, until the patches are restored."""
    import triton
    import triton.language.core as core
    import triton.runtime.interpreter as interpreter

    if not triton.__version__.startswith(KNOWN):
        return
    blocks: dict[tuple[int, ...], tuple[core.tuple, int, str]] = {}
    shapes: dict[tuple[int, ...], tuple[core.tuple, core.constexpr]] = {}
    inner_block = core.block_type.__init__
    constexpr = core.constexpr

    def block(
        self: core.block_type, element_ty: core.dtype, shape: core.constexpr | tuple[core.constexpr, ...]
    ) -> None:
        key = tuple([s.value if type(s) is constexpr else s for s in shape]) if type(shape) is not constexpr else ()
        found = blocks.get(key)
        if found is None:
            inner_block(self, element_ty, shape)
            if key:
                blocks[key] = (self.shape, self.numel, str(self.shape))
            return
        self.element_ty = element_ty
        self.shape, self.numel, text = found
        self.name = f"<{text}, {element_ty}>"

    def tensor(self: core.tensor, handle: TensorHandle, kind: core.dtype) -> None:
        self.handle = handle
        key = tuple(kind.shape.values) if kind.is_block() else ()
        found = shapes.get(key)
        if found is None:
            found = shapes[key] = (core.tuple([constexpr(s) for s in key]), constexpr(math.prod(key)))
        self.shape, self.numel = found
        self.type = kind
        self.dtype = kind.scalar

    patches.set(core.block_type, "__init__", block)
    patches.set(core.tensor, "__init__", tensor)

    _spare(patches)

    seen: set[object] = set()
    launch = interpreter.GridExecutor.__call__

    def launched(self: GridExecutor, *args: object, **kwargs: object) -> object:
        seen.clear()
        return launch(self, *args, **kwargs)

    def called(self: InterpretedFunction, *args: object, **kwargs: object) -> object:
        if self.fn not in seen:
            interpreter._patch_lang(self.fn)
            seen.add(self.fn)
        try:
            return self.rewrite()(*args, **kwargs)
        except Exception as e:
            raise interpreter.InterpreterError(repr(e)) from e

    patches.set(interpreter.GridExecutor, "__call__", launched)
    patches.set(interpreter.InterpretedFunction, "__call__", called)


def _spare(patches: Patches) -> None:
    """Leaves out what changes nothing: looking for tuples in numbers, calls that only pass on, and findings that are dropped."""
    import triton.language.core as core
    import triton.language.semantic as semantic
    import triton.runtime.interpreter as interpreter

    constexpr, plain = core.constexpr, {core.tensor, int, float, bool, str, type(None)}
    inner_unwrap = core._unwrap_if_constexpr

    def unwrap(o: object) -> object:
        """As it is, but for what most calls are about without a look at the kinds of tuples."""
        kind = type(o)
        if kind is constexpr:
            return o.value  # type: ignore[attr-defined]
        return o if kind in plain else inner_unwrap(o)

    patches.set(core, "_unwrap_if_constexpr", unwrap)

    guard = core.builtin(unwrap).__code__  # of what asks whether it was given `_semantic`

    def member(owner: object, name: str, inner: Callable[..., object], builder: object, scope: _LangPatchScope) -> None:
        """A function of the language that is given `_semantic`, without being asked whether it is."""
        named = semantic.TritonSemantic(builder)
        call = inner.__wrapped__ if getattr(inner, "__code__", None) is guard else inner  # type: ignore[attr-defined]

        def new(*args: object, **kwargs: object) -> object:
            kwargs["_semantic"] = named
            return call(*args, **kwargs)

        scope.set_attr(owner, name, new)

    def builtins(owner: object, builder: object, scope: _LangPatchScope) -> None:
        for name, inner in _builtins_of(owner):
            if getattr(owner, name) is inner:
                member(owner, name, inner, builder, scope)

    patches.set(interpreter, "_patch_attr", member)
    patches.set(interpreter, "_patch_builtin", builtins)

    # An integer's overflow is looked for at each operator, and what is found is dropped unless `debug` is set
    builder = interpreter.interpreter_builder
    if not builder.options.debug:
        patches.set(builder, "options", replace(builder.options, sanitize_overflow=False))

    share_operands(patches)
    _numpy_types(patches)


@cache
def _builtins_of(owner: object) -> tuple[tuple[str, Callable[..., object]], ...]:
    """The functions of a module or class of the language that the interpreter replaces: they are the same at each launch."""
    import triton.language.core as core

    return tuple((name, member) for name, member in inspect.getmembers(owner) if core.is_builtin(member))


def _numpy_types(patches: Patches) -> None:
    """The numpy type of an element is looked up, where the interpreter makes its table of all of them anew at each operator."""
    import triton.language.core as core
    import triton.runtime.interpreter as interpreter

    inner, block = interpreter._get_np_dtype, core.block_type
    known: dict[str, object] = {}

    def numpy_type(kind: core.dtype) -> object:
        element = kind.element_ty if isinstance(kind, block) else kind
        found = known.get(element.name)
        if found is None:
            found = known[element.name] = inner(element)
        return found

    patches.set(interpreter, "_get_np_dtype", numpy_type)

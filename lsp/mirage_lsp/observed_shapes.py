"""Observed shapes of a function, as annotations, decorator arguments and hints."""

from __future__ import annotations

from mirage.ir.dtypes import DTYPES, dtype_of

# (parameter, shape, dtype) of the tensors of one call, in the order of the parameters
Seen = tuple[tuple[str, tuple[int, ...], str], ...]


def read(inputs: object) -> Seen:
    """One call's inputs from plain data; () for what is not such a list."""
    found = []
    for one in inputs if isinstance(inputs, (list, tuple)) else ():
        if not isinstance(one, (list, tuple)) or len(one) != 3:
            return ()
        name, shape, dtype = one
        sizes = isinstance(shape, (list, tuple)) and all(type(size) is int and size > 0 for size in shape)
        known = dtype_of(dtype) if isinstance(dtype, str) else None
        if not isinstance(name, str) or not name.isidentifier() or not sizes or known is None:
            return ()
        found.append((name, tuple(shape), known))
    return tuple(found)


def shown(seen: Seen) -> str:
    """`x 16×4096 fp16, w 4096 fp16`"""
    return ", ".join(f"{name} {'×'.join(map(str, shape)) or 'scalar'} {dtype}" for name, shape, dtype in seen)


def kind(dtype: str) -> str:
    """The name in jaxtyping: `Float16`."""
    return DTYPES[dtype].jaxtyping


def option(seen: Seen) -> str:
    """`inputs=[((16, 4096), "fp16")]`"""
    entries = [
        f'(({", ".join(map(str, shape))}{"," if len(shape) == 1 else ""}), "{dtype}")' for _, shape, dtype in seen
    ]
    return f"inputs=[{', '.join(entries)}]"

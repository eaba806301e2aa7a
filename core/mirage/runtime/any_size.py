"""`mirage.any`: a named dimension that may have every size of a range."""

from __future__ import annotations


def any(least: int, most: int) -> range:
    """Every size from `least` to `most`, both included, as in `dims={"b": mirage.any(1, 64)}`.

    One module then serves all of them. Kernels are searched for the powers of two, and for `most`; each serves the sizes down to the next
    one, masked, and is verified at every one of them. Raises ValueError where there is no such range."""
    if not 1 <= least <= most:
        raise ValueError(f"no sizes from {least} to {most}: give mirage.any(LEAST, MOST) with 1 <= LEAST <= MOST")
    return range(least, most + 1)

"""The name of an accumulator's value as it was when an iteration of its loop began: `NAME@old`, beside `NAME`, its running value."""

from __future__ import annotations

OLD = "@old"


def old(name: str) -> str:
    """The value before this iteration of the accumulator `name`."""
    return name + OLD


def bare(name: str) -> str:
    """The statement that a name refers to, whichever of its values is meant."""
    return name.removesuffix(OLD)


def is_old(name: str) -> bool:
    return name.endswith(OLD)

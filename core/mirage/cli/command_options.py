"""Options of click commands: as one dataclass in place of a parameter for each, and the target by any of its names."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

from mirage.devices.table import target_named

P = ParamSpec("P")
Options = TypeVar("Options")


def taking(options: Callable[P, Options]) -> Callable[[Callable[[Options], None]], Callable[P, None]]:
    """Decorates a function of such a dataclass as click calls it, by its fields' names."""

    def decorate(command: Callable[[Options], None]) -> Callable[P, None]:
        def called(*args: P.args, **kwargs: P.kwargs) -> None:
            command(options(*args, **kwargs))

        called.__name__, called.__doc__ = command.__name__, command.__doc__  # click shows both
        return called

    return decorate


def target_of(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The callback of an option for a GPU: its architecture or what people call it gives the architecture; what is neither is
    refused where it is used, with the list."""
    return target_named(value)

"""The options of a click command as one dataclass, in place of a parameter for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

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

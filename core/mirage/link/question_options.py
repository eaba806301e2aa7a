"""What goes along with a question: the search's bounds as they were asked for, and the messages about projects."""

from __future__ import annotations

from typing import Any

import attrs

# (parameter, shape, dtype) of the tensors of one call, in the order of the parameters
Inputs = list[tuple[str, list[int], str]]


@attrs.frozen
class Options:
    """Bounds on the search, as `mirage optimize` takes them (0: the search's own). `rules` is the text of a file of the
    user's rules, `given` the parameters that narrow the search (mirage/narrow.py), which go before those that the decorator
    gives."""

    kernels: int = 0
    loops: int = 0
    seconds: float = 0.0
    anyway: bool = False
    rules: str = ""
    given: dict[str, list[Any]] = attrs.field(factory=dict)


@attrs.frozen
class Watch:
    """Watch a trusted project: a save that changes a decorated function submits it. `root` is the full path of a folder.
    Replies with the project's row of `status`."""

    root: str
    trusted: bool = False
    interpreter: str = ""
    target: str = "sm_90"


@attrs.frozen
class Unwatch:
    """Watch it no longer. Replies {"watched": bool}: whether it was."""

    root: str


@attrs.frozen
class Abandon:
    """As Cancel, by the user's own hand: what saves in watched projects asked for is taken back too, and a save of the same
    text does not ask again. Replies {"cancelled": bool}."""

    job: str


@attrs.frozen
class Seen:
    """A decorated function was called with these inputs. Replies {"new": bool}."""

    path: str
    function: str
    inputs: Inputs


@attrs.frozen
class Shapes:
    """What decorated functions of a file were called with: {"shapes": {function: [inputs, ...]}}, the latest last."""

    path: str


MESSAGES = (Watch, Unwatch, Abandon, Seen, Shapes)

"""The nasty modules, by name."""

from __future__ import annotations

import inspect
from types import ModuleType

from torch import nn

from strangers.modules import nasty_flow, nasty_state, nasty_views


def of_file(file: ModuleType) -> dict[str, type[nn.Module]]:
    """The classes of a file that have a scenario."""
    found = [x for x in vars(file).values() if inspect.isclass(x) and hasattr(x, "steps")]
    return {f"{file.__name__.rpartition('.')[2]}/{x.__name__}": x for x in found if issubclass(x, nn.Module)}


NASTY = {n: x for file in (nasty_views, nasty_state, nasty_flow) for n, x in of_file(file).items()}

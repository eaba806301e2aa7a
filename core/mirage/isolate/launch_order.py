"""What the launcher is told to start, and how it is confined: one frozen record, as JSON in the launcher's argument.

Imports the standard library alone: the launcher runs without any package.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

# the walls that there are; a test of what happens without one leaves it out
NAMESPACES, LANDLOCK, SECCOMP = "namespaces", "landlock", "seccomp"
WALLS = (NAMESPACES, LANDLOCK, SECCOMP)
# what has to hold before foreign code is started, unless the user said otherwise
REQUIRED = ("filesystem", "calls")
TOKEN = "MIRAGE_WORKER"  # the environment's name for: this is a worker
IN_VIEW, IN_NO_VIEW = "in a private view", "in no private view"  # what it says
REFUSED = 97  # exit status of a launcher that started nothing


@dataclass(frozen=True)
class Visible:
    """What a confined process sees of the machine's files: `read` are real paths, `links` (where, what it says) lead there,
    `locks` may also be written, `devices` are nodes below /dev, `hidden` are never shown."""

    read: tuple[str, ...]
    links: tuple[tuple[str, str], ...] = ()
    devices: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProcessLimits:
    """`memory` bytes of one process, `total` of all together, `disk` of the private folders, `cpu` seconds or 0, `tasks` at once."""

    memory: int
    total: int
    disk: int
    tasks: int
    cpu: int = 0


@dataclass(frozen=True)
class LaunchOrder:
    """`parent` is who waits for it, `folder` its private one, `keep` the descriptors that it inherits, `report` the one on
    which the launcher says what holds. `unix` leaves what a GPU's worker needs, `unix_below` what
    the workers need that this one starts, if they are a GPU's. `required` names what has to hold. `within`: whoever
    asks is in a private view itself."""

    command: tuple[str, ...]
    parent: int
    folder: str
    keep: tuple[int, ...]
    report: int
    visible: Visible
    bounds: ProcessLimits
    unix: bool = False
    unix_below: bool = False
    walls: tuple[str, ...] = WALLS
    required: tuple[str, ...] = REQUIRED
    within: bool = False

    def written(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def read(text: str) -> LaunchOrder:
        fields: dict[str, Any] = json.loads(text)
        visible, bounds = fields.pop("visible"), ProcessLimits(**fields.pop("bounds"))
        links = tuple((str(where), str(what)) for where, what in visible.pop("links"))
        seen = Visible(links=links, **{name: tuple(paths) for name, paths in visible.items()})
        rest: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in fields.items()}
        return LaunchOrder(visible=seen, bounds=bounds, **rest)

"""The exception of a broken rule, and the limits that the capacity rule takes."""

from __future__ import annotations

from dataclasses import dataclass

from mirage.devices.table import Device
from mirage.mugraph.text import statement_text
from mirage.mugraph.walk import Site

REGISTERS_PER_THREAD = 255
THREADS_PER_WARP = 32


@dataclass(frozen=True)
class Limits:
    """What a block may use: `shared` bytes of shared memory, elements of one tile."""

    shared: int
    tile_elements: int = 1 << 20

    @staticmethod
    def of(device: Device) -> Limits:
        """What a block may use on a device."""
        return Limits(device.shared_per_block)

    def registers(self, warps: int) -> int:
        """Bytes of registers of a block."""
        return REGISTERS_PER_THREAD * THREADS_PER_WARP * warps * 4


class Breach(Exception):
    """A rule found the µGraph invalid. `where` names the kernel, `statement` quotes the statement if there is one."""

    def __init__(self, where: str, message: str, statement: str = "") -> None:
        super().__init__(message)
        self.where, self.message, self.statement = where, message, statement


def breach(site: Site, message: str) -> Breach:
    """A breach at a statement."""
    return Breach(site.part.where, message, statement_text(site.statement).split("\n")[0])

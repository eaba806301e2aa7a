"""The report of a broken validity rule, with the place in the µGraph."""

from __future__ import annotations

from mirage.mugraph.capacity import Limits
from mirage.mugraph.text import statement_text
from mirage.mugraph.walk import Site

__all__ = ["Breach", "Limits", "breach"]


class Breach(Exception):
    """A rule found the µGraph invalid. `where` names the kernel, `statement` quotes the statement if there is one."""

    def __init__(self, where: str, message: str, statement: str = "") -> None:
        super().__init__(message)
        self.where, self.message, self.statement = where, message, statement


def breach(site: Site, message: str) -> Breach:
    """A breach at a statement."""
    return Breach(site.part.where, message, statement_text(site.statement).split("\n")[0])

"""Everything that executes user or generated code runs through here, in a process that is limited and ends."""

from mirage.isolate.runner import Worker, run

__all__ = ["Worker", "run"]

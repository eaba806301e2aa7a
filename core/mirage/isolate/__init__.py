"""Sandboxed worker processes: everything that executes user or generated code does so in one of them."""

from mirage.isolate.runner import Worker

__all__ = ["Worker"]

"""The µGraph optimizer: thread fusion, operator order, memory. `plan(mugraph)` applies the table of passes."""

from mirage.plan.memory import Buffer, MemoryPlan, memory
from mirage.plan.table import PASSES, plan

__all__ = ["PASSES", "Buffer", "MemoryPlan", "memory", "plan"]

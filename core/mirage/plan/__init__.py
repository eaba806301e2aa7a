"""The µGraph optimizer: thread fusion, operator order, memory. `plan(mugraph)` applies the table of passes."""

from mirage.plan.memory_plan import Buffer, MemoryPlan, memory
from mirage.plan.passes import PASSES, plan

__all__ = ["PASSES", "Buffer", "MemoryPlan", "memory", "plan"]

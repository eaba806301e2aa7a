"""How much work a proof may take, counted and never timed: the same question has the same answer on a machine that is slow or loaded."""

from __future__ import annotations

from dataclasses import dataclass

# In z3's units of work (`rlimit`), of which it does 50,000 to 1,000,000 a second; no proof of the tests takes 10,000.
WORK = 400_000
STEP = 40  # the laws tried at one term, in the same units


@dataclass
class WorkBudget:
    """What is left of the work that one proof may take; whoever works takes from it."""

    left: int = WORK

    def take(self, units: int) -> None:
        self.left = max(0, self.left - units)

    @property
    def spent(self) -> bool:
        return self.left <= 0

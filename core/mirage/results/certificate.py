"""What a verdict says of its certificate: where it is, what it shows, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CertificateState:
    """`path` of the file, "" where none was written, for the reason `why`. `equations`, `steps` and `conditions`: how many it
    holds, all replayed by the checker. `lean`: the file of the Lean text, "" if none was asked for, and what Lean said of it."""

    path: str = ""
    why: str = ""
    equations: int = 0
    steps: int = 0
    conditions: int = 0
    lean: str = ""
    lean_checked: str = ""

    @property
    def lines(self) -> list[str]:
        """For a terminal."""
        if not self.path:
            return [f"  certificate  none: {self.why}"]
        found = (
            f"  certificate  {self.path}: {self.equations} equations, {self.steps} steps, {self.conditions} side conditions, "
            "replayed"
        )
        return [found, *([f"  lean         {self.lean or 'none'}: {self.lean_checked}"] if self.lean_checked else [])]

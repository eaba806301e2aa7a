"""The daemon's door under a million random and mutated frames: no crash, no hang, nothing left behind.

    python benchmarks/fuzz.py [--json] [--frames 1000000]

All frames go through the server's own code in memory, a fiftieth of them again over the socket to a daemon process.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT), str(ROOT / "benchmarks")]

from daemonbench import fuzz, printing  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(printing.main("fuzz", __doc__, "frames", fuzz.FRAMES, fuzz.rows))

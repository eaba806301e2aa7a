"""What a hostile hand tries, again and again: code in every text of µGraphs, cache and kernel files. None of it runs.

python benchmarks/trust.py [--json] [--rounds 100000]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from daemonbench import forged, printing  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(printing.main("trust", __doc__, "rounds", forged.ROUNDS, forged.rows))

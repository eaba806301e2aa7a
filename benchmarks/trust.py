"""What a hostile hand tries: code in every text of µGraphs, cache and kernel files, of which none runs; and what gets out of a worker.

python benchmarks/trust.py [--json] [--only texts,escapes,walls] [--rounds 100000]

`--rounds` says how many texts are mutated, and how many attempts to escape are made at most in each kind of worker.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from daemonbench import escaping, forged, printing  # noqa: E402

if __name__ == "__main__":
    parts = {"texts": forged.rows, "escapes": escaping.rows, "walls": escaping.walls}
    raise SystemExit(printing.main("trust", __doc__, "rounds", forged.ROUNDS, parts))

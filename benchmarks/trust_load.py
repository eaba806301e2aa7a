"""What one client feels of others that ask for very much, or hold very much: queued jobs, idle clients, a full cache.

python benchmarks/trust_load.py [--json] [--only jobs,idle,cache] [--percent 100]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from daemonbench import load, printing  # noqa: E402

if __name__ == "__main__":
    parts = {"jobs": load.jobs, "idle": load.idle, "cache": load.cache}
    raise SystemExit(printing.main("trust_load", __doc__, "percent", 100, parts))

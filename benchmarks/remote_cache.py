"""The shared cache: hits, a thousand at once, servers that break or lie, and what two daemons make of it.

python benchmarks/remote_cache.py [--json] [--only hits,burst,broken,debris,verified,s3,redis] [--rounds 300]

`--rounds` says how many hits are timed and how many changed entries are tried. `verified` runs the search and the verifier.
`s3` and `redis` start real servers and run only where `--only` names them: pip install -e '.[remote-servers]', and
redis-server on the path.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from daemonbench import printing, sharedcache, sharedplaces  # noqa: E402

ROUNDS = 300

if __name__ == "__main__":
    logging.disable(logging.WARNING)  # each attack is one
    parts = {name: getattr(sharedcache, name) for name in ("hits", "burst", "broken", "debris", "verified")}
    on_demand = {"s3": sharedplaces.s3, "redis": sharedplaces.redis}
    raise SystemExit(printing.main("remote_cache", __doc__, "rounds", ROUNDS, parts, on_demand))

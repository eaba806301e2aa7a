"""The environment of a worker: built from nothing, so that no variable of a client or a workspace reaches it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

# taken over from this process's environment; none of them names code to load
KEPT = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
CORE = Path(__file__).resolve().parents[2]  # the folder on the path that holds these packages
# every cache that torch and triton would write goes to the private folder: what a worker compiles, it compiled itself
_PRIVATE = ("TMPDIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME", "CUDA_CACHE_PATH")
_PATH = ("/usr/local/cuda/bin", "/usr/local/bin", "/usr/bin", "/bin")


def build(interpreter: str, folder: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The worker's whole environment. `extra` is set last, by our own callers only."""
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    environment.update({name: str(folder) for name in _PRIVATE})
    environment["PATH"] = os.pathsep.join((str(Path(interpreter).parent), *_PATH))
    environment["PYTHONHASHSEED"] = "0"  # the same search twice gives the same answer
    environment["PYTHONUTF8"] = "1"
    environment["PYTHONSAFEPATH"] = "1"
    if same_interpreter(interpreter):
        environment["PYTHONPATH"] = str(CORE)
    environment.update(extra or {})
    return environment


def same_interpreter(interpreter: str) -> bool:
    """Whether a worker of `interpreter` has this process's packages. Any other one must have mirage installed itself:
    our folder on its path would bring our torch with it."""
    return os.path.abspath(interpreter) == os.path.abspath(sys.executable)

"""`mirage doctor`: what this machine has, what is missing, and what to do about it."""

from __future__ import annotations

import glob
import json
import platform
import shutil
import sys
from importlib import metadata

import click

from mirage.isolate import Worker, confinement, gpu_trial
from mirage.isolate.launch_order import REQUIRED, WALLS
from mirage.isolate.system import OperatingSystem
from mirage.link import user_settings

_DRIVER_S = 90.0

PACKAGES = {
    # package: (needed for, how to get it)
    "torch": ("tracing and running functions", "pip install torch"),
    "triton": ("emitting and running kernels", "pip install 'triton>=3.6,<3.10'"),
    "numpy": ("verification", "pip install numpy"),
    "z3-solver": ("proofs", "pip install z3-solver"),
    "pygls": ("the language server", "pip install 'pygls>=2,<3'"),
    "msgpack": ("the daemon", "pip install msgpack"),
    "watchdog": ("the daemon", "pip install watchdog"),
}
OPTIONAL = {"jaxtyping": "pip install jaxtyping, for shapes in annotations; `inputs=` does without"}


def check() -> list[dict[str, str | bool]]:
    """One row a fact: name, value, ok, and the next step where it is not."""
    rows: list[dict[str, str | bool]] = [
        {
            "name": "python",
            "value": platform.python_version(),
            "ok": sys.version_info >= (3, 10),
            "next": "use 3.10 or newer",
        }
    ]
    versions = {}
    for package, (use, how) in PACKAGES.items():
        try:
            versions[package] = metadata.version(package)
            rows.append({"name": package, "value": versions[package], "ok": True, "next": ""})
        except metadata.PackageNotFoundError:
            rows.append({"name": package, "value": "missing", "ok": False, "next": f"{how} ({use})"})
    for package, how in OPTIONAL.items():
        try:
            value = metadata.version(package)
        except metadata.PackageNotFoundError:
            value = f"missing: {how}"
        rows.append({"name": package, "value": value, "ok": True, "next": ""})
    numpy, triton = versions.get("numpy", "0").split("."), versions.get("triton", "9").split(".")
    if tuple(map(int, numpy[:2])) >= (2, 4) and tuple(map(int, triton[:2])) < (3, 7):
        rows.append({"name": "numpy with triton", "value": "loops fail in the CPU interpreter", "ok": False,
                     "next": "pip install 'numpy<2.4', or a newer triton"})  # fmt: skip
    gpu = shutil.which("nvidia-smi") is not None
    rows.append(
        {"name": "gpu", "value": "nvidia-smi found" if gpu else "none: times are estimates", "ok": True, "next": ""}
    )
    return rows + _sandbox()


def _sandbox() -> list[dict[str, str | bool]]:
    """What a worker could not do here, tried; without walls around files and calls none starts."""
    found = confinement.tried()
    missing = [name.replace("_", " ") for name, held in found.holds.items() if not held]
    needed = all(found.holds[name] for name in REQUIRED)
    value = (
        "all of it holds" if not missing else "without " + ", ".join(missing) + (f" ({found.why})" if found.why else "")
    )
    rows: list[dict[str, str | bool]] = [
        {
            "name": "sandbox",
            "value": value,
            "ok": needed,
            "next": "no code runs here; docs/security.md says what has to hold",
        }
    ]
    if glob.glob(gpu_trial.NODES):
        rows.append({"name": "sandbox with a gpu", **_with_gpu()})
    if user_settings.allows(user_settings.UNCONFINED):
        rows.append(
            {"name": "unconfined code", "value": "runs where it cannot be confined", "ok": False,
             "next": f"remove {user_settings.UNCONFINED} from {user_settings.settings_path()}"}
        )  # fmt: skip
    return rows


def _with_gpu() -> dict[str, str | bool]:
    """Whether the driver starts in a worker and in a worker's worker, as a daemon has it, and what that worker is without."""
    walls = gpu_trial.walls(WALLS)
    if not gpu_trial.starts(walls, gpu_trial.DRIVER):
        return {"value": "the driver does not start in a worker", "ok": False,
                "next": "nothing can be measured here; see that `nvidia-smi` works as this user"}  # fmt: skip
    with Worker(unix=True, unix_below=True, system=OperatingSystem(walls=walls)) as worker:
        asked = {"action": "driver", "walls": list(walls), "driver": gpu_trial.DRIVER, "program": gpu_trial.PROGRAM}
        starts = bool(worker.call("selftest", asked, timeout_s=_DRIVER_S)["starts"])
    value = "all of it holds" if walls == WALLS else "without namespaces: the driver does not start in them"
    return {"value": value if starts else "the driver does not start in a worker of the daemon's", "ok": starts,
            "next": "the daemon cannot measure here; `mirage optimize --no-daemon` can"}  # fmt: skip


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def doctor(as_json: bool) -> None:
    """Check this machine and say what is missing."""
    rows = check()
    if as_json:
        click.echo(json.dumps(rows, indent=1))
    else:
        for r in rows:
            click.echo(
                f"{'ok ' if r['ok'] else 'NO '} {r['name']:18} {r['value']}{'  -> ' + str(r['next']) if r['next'] and not r['ok'] else ''}"
            )
    if not all(r["ok"] for r in rows):
        raise SystemExit(1)

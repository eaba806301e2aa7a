"""Whether a GPU's driver starts behind the walls of a worker: tried, since drivers differ in what they ask of a machine."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from mirage.isolate import confinement, visible_files, worker_environment
from mirage.isolate.launch_order import NAMESPACES, LaunchOrder

_TRIAL_S = 60.0  # a driver that nobody used since the machine started takes seconds
NODES = "/dev/nvidia[0-9]*"
DRIVER = "libcuda.so.1"
# what PyTorch does first: the driver, a device, memory of its own
PROGRAM = """
import ctypes, sys
driver = ctypes.CDLL(sys.argv[1])
device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
for call, arguments in (
    ("cuInit", (0,)),
    ("cuDeviceGet", (ctypes.byref(device), 0)),
    ("cuDevicePrimaryCtxRetain", (ctypes.byref(context), device)),
    ("cuCtxSetCurrent", (context,)),
    ("cuMemAlloc_v2", (ctypes.byref(memory), ctypes.c_size_t(1 << 20))),
):
    if getattr(driver, call)(*arguments):
        sys.exit(call)
"""


@cache
def walls(wanted: tuple[str, ...], driver: str = DRIVER) -> tuple[str, ...]:
    """The walls of a worker that may use the GPUs: all that are wanted, but for the private view where the driver does not start in
    one and does without it. A machine without NVIDIA's nodes is not tried. Once in this process, for about a second."""
    if NAMESPACES not in wanted or not glob.glob(NODES) or starts(wanted, driver):
        return wanted
    without = tuple(wall for wall in wanted if wall != NAMESPACES)
    return without if starts(without, driver) else wanted


def starts(behind: tuple[str, ...], driver: str, program: str = "") -> bool:
    """Whether the driver starts behind these walls, and in a worker behind the worker's own too. `program` asks for another thing."""
    with tempfile.TemporaryDirectory(prefix="mirage-trial-") as outside:
        folder = Path(outside, "private")
        folder.mkdir()
        read, write = os.pipe()
        try:
            order = LaunchOrder(
                (sys.executable, "-I", "-S", "-c", program or PROGRAM, driver), os.getpid(), str(folder), (), write,
                visible_files.visible(sys.executable, gpu=True),
                confinement.limits_of(confinement.DEFAULT_MEMORY, confinement.DEFAULT_MEMORY, 0),
                unix=True, walls=behind, required=(), within=confinement.in_view(),
            )  # fmt: skip
            done = subprocess.run(
                confinement.launch(order),
                pass_fds=(write,),
                cwd=folder,
                env=worker_environment.build(sys.executable, folder),
                timeout=_TRIAL_S,
                stdin=subprocess.DEVNULL,
                capture_output=True,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        finally:
            os.close(read)
            os.close(write)
    return done.returncode == 0

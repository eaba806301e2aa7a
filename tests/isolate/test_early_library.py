"""PyTorch's library is loaded beside other imports, and a start waits for nothing that it does not use. Each in a process of its own."""

from __future__ import annotations

import inspect
import subprocess
import sys

from mirage.isolate.early_library import modules_by_name


def said(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LOADED = """
import sys
from mirage.isolate.early_library import LIBRARY, loading
with loading():
    pass
print(LIBRARY in open("/proc/self/maps").read(), "torch" in sys.modules)
"""


def test_the_library_is_there_before_pytorch_is_imported() -> None:
    assert said(LOADED) == "True False"
    assert said(LOADED + "import torch; print(torch.ones(2).sum().item())").endswith("2.0")


def test_without_pytorch_nothing_is_loaded_and_nothing_fails() -> None:
    hidden = "import importlib.util, mirage.isolate.early_library as e\ne.find_spec = lambda name: None\n"
    assert said(hidden + LOADED) == "False False"


def test_a_library_that_does_not_load_is_left_to_the_import() -> None:
    other = "import mirage.isolate.early_library as e\ne.LIBRARY = 'no_such_library.so'\n"
    assert said(other + LOADED) == "False False"


def test_a_frame_s_module_is_the_one_that_inspect_finds_by_its_file() -> None:
    by_file, frame, place = inspect.getmodule, inspect.currentframe(), {"__name__": __name__}
    exec("import sys\nframe = sys._getframe()", place)  # of no module, though it has the name of one
    with modules_by_name():
        assert inspect.getmodule is not by_file
        assert inspect.getmodule(frame) is sys.modules[__name__] is by_file(frame)
        assert inspect.getmodule(place["frame"]) is by_file(place["frame"]) is not sys.modules[__name__]
        assert inspect.getmodule(subprocess.run) is subprocess
    assert inspect.getmodule is by_file


def test_a_worker_s_start_loads_no_codec_and_no_client() -> None:
    heavy = ("cattrs", "attrs", "mirage.results.codec", "mirage.link.client", "asyncio", "numpy", "torch")
    left = f"import sys, mirage.isolate.worker\nprint([m for m in {heavy!r} if m in sys.modules])"
    assert said(left) == "[]"
    assert said("import mirage.link.client\n" + left) != "[]", "the check would see them"

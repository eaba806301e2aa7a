"""Run by a test in a process of its own, in Triton's interpreter: `sized.py FILE FUNCTION ROWS...` calls the function of a file
on inputs with that many rows, and prints for each what ran, and how far it is from the function in float64, as JSON.

What runs is counted in every table of sizes that an imported module has.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import Any


def counted(module: Any, ran: list[str]) -> None:
    """Every launcher says first with which row of the table it runs."""
    for name in [n for n in vars(module) if n.startswith("_BY_SIZE")]:
        table = getattr(module, name)
        for key, (run, *tables) in table.items():

            def count(*given: Any, row: str = "x".join(map(str, key[0][0])), run: Any = run, **named: Any) -> Any:
                ran.append(row)
                return run(*given, **named)

            table[key] = (count, *tables)


def main(path: str, function: str, *rows: str) -> None:
    import torch

    spec = importlib.util.spec_from_file_location("sized_user", path)
    assert spec is not None and spec.loader is not None
    user = importlib.util.module_from_spec(spec)
    sys.modules["sized_user"] = user
    spec.loader.exec_module(user)
    torch.manual_seed(0)
    call = getattr(user, function)
    weight = torch.randn(40, 96).half()
    with torch.no_grad():
        call(torch.randn(1, 96).half(), weight)  # the decorator looks for its kernel
        ran: list[str] = []
        for name, module in list(sys.modules.items()):
            if name == "sized_user" or name.startswith("_mirage_kernel_"):
                counted(module, ran)
        found = []
        for n in map(int, rows):
            x = torch.randn(n, 96).half()
            ran.clear()
            got, want = call(x, weight), user.wanted(x.double(), weight.double())
            found.append({"rows": n, "ran": list(ran), "error": float((got.double() - want).norm() / want.norm())})
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])

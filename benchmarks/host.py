"""Host time of a call beside the launch itself: an emitted module's guard and table of sizes, and the decorator's own check.

    python benchmarks/host.py [--json]

With a launcher that launches nothing and begins as every launcher does, on the GPU where there is one: on the CPU it is the same
code, less asking for the current device. The shapes are those of grouped attention with a mask: five tensors. Each figure is the least of
many short runs, in µs a call, less that of calling the launcher when nothing is left to ask.

Rows: one/ (a module of one size) and several/ (a table of sixteen), of each guard/, fits/ (the decorator's own check), decorated/
(both), launcher/ (what a launcher asks that is called itself: a public call does not) and miss/ (a size that is not in the
table, until the function as written is called). The bound, 10 µs, is that of the whole call outside a CUDA graph.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import platform
import sys
import timeit
from pathlib import Path
from types import FunctionType
from typing import Any, cast

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core")]

from mirage.codegen.emit import assemble, imports, spaced  # noqa: E402
from mirage.codegen.launcher_text import (  # noqa: E402
    UNASKED,
    RowNames,
    by_size_lines,
    expected_lines,
    guard_lines,
    public_lines,
    refusal_lines,
    refusing,
)
from mirage.codegen.original_function import read_original  # noqa: E402
from mirage.ir.program import Program  # noqa: E402
from mirage.ir.tensor_spec import TensorSpec, TensorType  # noqa: E402
from mirage.profile.candidate_choice import gpu_here  # noqa: E402

DEVICE = "cuda" if gpu_here() else "cpu"
MOST = 10.0
ROWS = 16
CALLS, TIMES = 200, 300
SOURCE = "import torch\n\n\ndef grouped(q, k, v, mask, scale, causal=False):\n    return q\n"


def program(batch: int) -> Program:
    heads = TensorType((batch, 8, 16, 128), "fp16")
    cache = TensorType((batch, 2, 8192, 128), "fp16")
    types = {
        "q": heads,
        "k": cache,
        "v": cache,
        "mask": TensorType((16, 8192), "bool"),
        "scale": TensorType((1,), "fp32"),
    }
    return Program("grouped", tuple(TensorSpec.of(n, t) for n, t in types.items()), (), (0,))


def module(rows: int) -> dict[str, Any]:
    """An emitted module's launcher part for so many sizes, with nothing to launch; it takes tensors of the CPU."""
    own = [RowNames.numbered(i + 1) for i in range(rows)]
    programs = [program(i + 1) for i in range(rows)]
    kept = read_original(SOURCE, "grouped", tuple(i.name for i in programs[0].inputs))
    names = [i.name for i in programs[0].inputs]
    empty = []
    for o in own:
        empty += [f"{o.sizes} = {{}}", f"{o.tiles} = {{}}"]
        empty += [f"def {o.run}({', '.join(names)}, sizes={o.sizes}, tiles={o.tiles}, {UNASKED}):"]
        empty += [*(f"    {line}" for line in refusing(o.run, names)), "    return q"]
    expected = [line for p, o in zip(programs, own, strict=True) for line in expected_lines(p, o)]
    table = rows > 1
    launcher = spaced(
        [
            empty,
            [*expected, *(by_size_lines(own) if table else []), *guard_lines([], table)],
            refusal_lines(table),
            public_lines(programs[0], "grouped", kept, None, table),
        ]
    )
    parts = {"header": [], "imports": imports(kept, False, False), "kernels": [], "launcher": launcher}
    text = assemble({**parts, "original": kept.text.split("\n")})
    space: dict[str, Any] = {"__name__": f"host_{rows}"}
    exec(compile(text, f"<{rows} sizes>", "exec"), space)
    space["_COMPILED"] = DEVICE == "cuda"  # else as in Triton's interpreter: tensors of the CPU fit
    return space


def least(function: Any, *args: Any) -> float:
    return min(timeit.repeat(lambda: function(*args), number=CALLS, repeat=TIMES)) / CALLS * 1e6


def tensors(batch: int) -> list[Any]:
    import torch

    from mirage.ir.dtypes import TORCH_NAMES

    given = program(batch).inputs
    return [torch.zeros(i.type.shape, dtype=getattr(torch, TORCH_NAMES[i.type.dtype]), device=DEVICE) for i in given]


def row(name: str, value: float) -> dict[str, Any]:
    return {"name": name, "value": round(value, 3), "unit": "us", "bound": f"<= {MOST}", "ok": value <= MOST}


def rows() -> list[dict[str, Any]]:
    from mirage.runtime.call_guards import make_fits
    from mirage.runtime.decorator import with_kernel

    function = cast(FunctionType, read)
    fits = make_fits(function)
    given, other = tensors(2), tensors(2)
    other[0] = other[0].new_zeros((2, 8, 17, 128))
    found = []
    for name, count, batch in (("one", 1, 1), ("several", ROWS, 2)):
        space = module(count)
        inputs = given if batch == 2 else tensors(batch)
        public = space["grouped"]
        run, *tables = space["_fits"](*inputs) if count > 1 else (space["_run"],)
        for key in [k for k in space if k.startswith("_original_")]:
            space[key] = lambda *args: None  # so that a miss shows
        if public(*inputs) is not inputs[0]:
            raise SystemExit(f"host: the module of {count} sizes does not take what it was made for")
        bare = least(functools.partial(run, fits=True), *inputs)
        found.append(row(f"{name}/guard", least(public, *inputs) - bare))
        found.append(row(f"{name}/launcher", least(run, *inputs, *tables) - bare))
        found.append(row(f"{name}/fits", least(fits, tuple(inputs), {})))
        decorated = with_kernel(function, public)
        if decorated(*inputs) is not inputs[0]:
            raise SystemExit("host: the decorator does not take what the module was made for")
        found.append(row(f"{name}/decorated", least(decorated, *inputs) - bare))
        if public(*other) is not None:
            raise SystemExit("host: a size that is not in the table does not run as written")
        found.append(row(f"{name}/miss", least(public, *other) - bare))
    return found


def read(q: Any, k: Any, v: Any, mask: Any, scale: Any, causal: bool = False) -> Any:
    """The function as written; only its parameters are looked at."""
    return q


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    import torch

    found = rows()
    if args.json:
        report = {
            "bench": "host",
            "date": datetime.date.today().isoformat(),
            "device": f"{DEVICE} beside {platform.processor()}",
        }
        print(json.dumps({**report, "versions": {"torch": torch.__version__}, "rows": found}))
    else:
        for r in found:
            print(f"{r['name']:20} {r['value']:8.2f} {r['unit']}  {r['bound']}  {'ok' if r['ok'] else 'MISSED'}")
    return 0 if all(r["ok"] for r in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())

"""Runs handwritten modules in Triton's interpreter beside their functions: right ones agree, and each fault shows.

python -m handwritten.certify [NAME...]     a line for each module, in the folder tests/; all without a name
python -m handwritten.certify --write DIR   writes DIR/NAME/{function,module,wrong_FAULT}.py, which other tools take
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"
os.environ.setdefault("MIRAGE_RUNTIME", "off")

import torch
from triton.runtime.errors import InterpreterError

from handwritten.case import Case, Fault, case, names
from handwritten.tuned import tuned
from mirage.codegen.interpreter import OutOfBounds, float_interpreter, load_module
from mirage.ir.dtypes import DTYPES

# What right modules may differ by: a part of each value and of the mean size of all.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 5e-3, torch.bfloat16: 4e-2}
SHOWN = 2.0  # a fault differs by at least so many tolerances
Tensors = list[torch.Tensor]


def random_tensor(shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Normal floats, or integers from -5 to 5."""
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(-5, 6, shape, generator=generator).to(dtype)


def draw(row: Case, witness: str, seed: int) -> Tensors:
    """Random inputs after the case's and the witness's code."""
    generator = torch.Generator().manual_seed(seed)
    found: dict[str, Any] = {"torch": torch}
    for name, (shape, dtype) in zip(row.arguments, row.at, strict=True):
        found[name] = random_tensor(shape, getattr(torch, DTYPES[dtype].torch), generator)
    torch.manual_seed(seed)
    exec(row.draw + "\n" + witness, found)
    return [found[name].contiguous() for name in row.arguments]


def outputs(result: Any) -> Tensors:
    """The result's tensors."""
    return list(result) if isinstance(result, tuple | list) else [result]


def distance(expected: torch.Tensor, found: torch.Tensor) -> float:
    """The largest difference in tolerances; infinite where shapes, dtypes, infinities or NaN differ."""
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return float("inf")
    if not expected.dtype.is_floating_point:
        return 0.0 if torch.equal(expected, found) else float("inf")
    a, b = expected.double(), found.double()
    finite = a.isfinite()
    if not torch.equal(a[~finite].nan_to_num(), b[~finite].nan_to_num()) or not torch.equal(a.isnan(), b.isnan()):
        return float("inf")
    if not torch.equal(finite, b.isfinite()):
        return float("inf")
    a, b = a[finite], b[finite]
    scale = a.abs() + a.abs().mean()
    off = torch.where(a == b, 0.0, (a - b).abs() / (scale * TOLERANCE[expected.dtype]))
    return float(off.max()) if off.numel() else 0.0


def farthest(expected: Tensors, found: Tensors) -> float:
    """The largest distance of an output."""
    if len(expected) != len(found):
        return float("inf")
    return max(distance(a, b) for a, b in zip(expected, found))


@contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """These variables for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


@contextmanager
def fresh_memory_is_nan() -> Iterator[None]:
    """What torch.empty gives is full of NaN, so that what nothing stored is seen."""
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def compare(row: Case, text: str, draws: list[Tensors], variables: dict[str, str]) -> float:
    """The largest distance of the module's results from the function's, over all draws: results are compared after the last
    call, so that a later call may not change them, and inputs must stay as they were."""
    space: dict[str, Any] = {}
    exec(compile(row.function, f"{row.name}/function.py", "exec"), space)
    function = space[row.definition.name]
    expected = [outputs(function(*[x.clone() for x in tensors])) for tensors in draws]
    worst = 0.0
    with environment(variables), float_interpreter(), fresh_memory_is_nan():
        module = load_module(text)
        for _ in tuned(module):
            given = [[x.clone() for x in tensors] for tensors in draws]
            try:
                found = [outputs(getattr(module, row.definition.name)(*tensors)) for tensors in given]
            except InterpreterError as e:
                if isinstance(e.__cause__, OutOfBounds):
                    return float("inf")
                raise
            same = all(torch.equal(x.nan_to_num(), y.nan_to_num()) for a, b in zip(draws, given) for x, y in zip(a, b))
            worst = max([worst if same else float("inf"), *(farthest(a, b) for a, b in zip(expected, found))])
    return worst


def right(row: Case) -> float:
    """How far the module is from its function, on random inputs and on every witness; it agrees up to 1."""
    witnesses = dict.fromkeys(["", *(x.witness for x in row.faults if not x.unseen)])
    draws = [draw(row, witness, seed) for seed, witness in enumerate(witnesses)]
    variables = {name: value for x in row.faults for name, value in x.environment.items()}
    return max(
        compare(row, row.module, draws, {}), compare(row, row.module, draws[:1], variables) if variables else 0.0
    )


def wrong(row: Case, fault: Fault) -> float:
    """How far the module with the fault is from the function on the fault's witness, over two calls."""
    draws = [draw(row, fault.witness, seed) for seed in (7, 8)]
    return compare(row, row.wrong(fault), draws, dict(fault.environment))


def uncertified(row: Case) -> list[str]:
    """Certifies a case and prints what was seen; names what did not come out as its row says."""
    found = []
    began = time.process_time()
    off = right(row)
    print(f"{row.name}: {off:.3g} tolerances, {time.process_time() - began:.1f} s")
    if not off <= 1.0:
        found.append(row.name)
    for fault in row.faults:
        if fault.unseen:
            row.wrong(fault)
            print(f"  {fault.name}: not seen here: {fault.unseen}")
            continue
        began = time.process_time()
        off = wrong(row, fault)
        print(f"  {fault.name}: {off:.3g} tolerances, {time.process_time() - began:.1f} s")
        if not off >= SHOWN:
            found.append(f"{row.name}/{fault.name}")
    return found


def write(folder: Path, chosen: list[str]) -> None:
    """Writes each case's function, module and wrong modules."""
    for name in chosen:
        row = case(name)
        texts = {"function": row.function, "module": row.module}
        texts |= {f"wrong_{x.name}": row.wrong(x) for x in row.faults}
        (folder / name).mkdir(parents=True, exist_ok=True)
        for stem, text in texts.items():
            (folder / name / f"{stem}.py").write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="handwritten.certify")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", type=Path, metavar="DIR")
    given = parser.parse_args(arguments)
    chosen = given.names or names()
    if given.write:
        write(given.write, chosen)
        return 0
    torch.set_num_threads(1)
    bad = [x for name in chosen for x in uncertified(case(name))]
    print(f"{len(chosen)} cases, not certified: {', '.join(bad) or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

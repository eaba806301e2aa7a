"""The zoo: PyTorch functions as people write them, one a file in FAMILY/NAME.py, and the loader that lists them and draws their inputs.

A file holds one decorated function whose `inputs=` is a literal, and may say three things more:
`FEW_ROWS = True` where the first row of inputs is that of decoding or of another call with few rows of activations;
`FIXED = (4096,)` for sizes that its text takes for granted, which the check may not shrink; and `INPUTS`, which gives for a
parameter the values that it needs, `{"labels": ("int", 0, 32000)}`. A kind of values is an entry of `values.KINDS`;
a floating parameter that `INPUTS` does not name is drawn from the standard normal distribution.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from .values import DTYPES, Kind, check_kind, draw

FOLDER = Path(__file__).resolve().parent


class ZooError(ValueError):
    """A file of the zoo that does not keep the rules of the zoo; the message says which file and what."""


@dataclass(frozen=True)
class Input:
    """One input: its shape (elements along each dimension) and its dtype, a key of `values.DTYPES`."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def bytes(self) -> int:
        return torch.Size(self.shape).numel() * DTYPES[self.dtype].itemsize


@dataclass(frozen=True)
class ZooFunction:
    """A function of the zoo as its file says it. `rows` holds one tuple of inputs, in the order of `parameters`, for each
    row of `inputs=`; `generators` gives the kind of values of each parameter that does not take the usual ones."""

    name: str
    family: str
    path: Path
    function_name: str
    title: str
    parameters: tuple[str, ...]
    rows: tuple[tuple[Input, ...], ...]
    few_rows: bool = False
    generators: Mapping[str, Kind] = field(default_factory=dict)

    def load(self) -> Callable[..., Any]:
        """The plain function, without the decorator: runs the file as a module of its own."""
        spec = importlib.util.spec_from_file_location(f"zoo_{self.family}_{self.name}", self.path)
        if spec is None or spec.loader is None:
            raise ZooError(f"{self.path}: cannot be imported")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        decorated = getattr(module, self.function_name)
        plain: Callable[..., Any] = getattr(decorated, "__wrapped__", decorated)
        return plain


def every_function(folder: Path = FOLDER) -> Iterator[ZooFunction]:
    """The functions of the zoo by family and name. ZooError where a file does not keep the rules."""
    for path in sorted(folder.glob("*/*.py")):
        yield read(path)


def read(path: Path) -> ZooFunction:
    """What a file says of its function, without running it. ZooError where it does not keep the rules."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    title = (ast.get_docstring(tree) or "").split("\n")[0]
    found = [(f, call) for f in tree.body if isinstance(f, ast.FunctionDef) for call in _inputs_of(f)]
    if len(found) != 1 or not title:
        raise ZooError(
            f"{path}: needs a docstring and one function with @mirage.optimize(inputs=...); has {len(found)}"
        )
    function, given = found[0]
    parameters = tuple(a.arg for a in function.args.args)
    rows = _rows(path, given, len(parameters))
    generators = constant(tree, "INPUTS", {})
    for name, kind in generators.items():
        if name not in parameters:
            raise ZooError(f"{path}: INPUTS names {name}, which is no parameter")
        check_kind(kind, f"{path}: {name}")
    return ZooFunction(
        path.stem, path.parent.name, path, function.name, title, parameters, rows,
        bool(constant(tree, "FEW_ROWS", False)), generators,
    )  # fmt: skip


def inputs(fn: ZooFunction, row: int, device: str | torch.device = "cpu", seed: int = 0) -> tuple[torch.Tensor, ...]:
    """Tensors for a row of `fn`, made on `device`; the same for the same seed, row and kind of device."""
    generator = torch.Generator(device).manual_seed(seed)
    made = zip(fn.parameters, fn.rows[row], strict=True)
    return tuple(draw(fn.generators.get(name), one.shape, one.dtype, generator) for name, one in made)


def _inputs_of(function: ast.FunctionDef) -> list[ast.expr]:
    """The values of `inputs=` among the decorators `@mirage.optimize(...)`."""
    calls = [d for d in function.decorator_list if isinstance(d, ast.Call) and ast.unparse(d.func) == "mirage.optimize"]
    return [k.value for c in calls for k in c.keywords if k.arg == "inputs"]


def _rows(path: Path, given: ast.expr, parameters: int) -> tuple[tuple[Input, ...], ...]:
    """The rows of a literal `inputs=`: a list of inputs, or a list of such lists."""
    try:
        value = ast.literal_eval(given)
    except ValueError as error:
        raise ZooError(f"{path}: inputs= is no literal") from error
    lists = value if value and isinstance(value[0], list) else [value]
    for row in lists:
        if len(row) != parameters:
            raise ZooError(f"{path}: {len(row)} inputs for {parameters} parameters")
        for shape, dtype in row:
            if dtype not in DTYPES or not all(isinstance(n, int) and n > 0 for n in shape):
                raise ZooError(f"{path}: {shape} {dtype} is no input")
    return tuple(tuple(Input(shape, dtype) for shape, dtype in row) for row in lists)


def constant(tree: ast.Module, name: str, default: Any) -> Any:
    """The literal that the module assigns to `name`, or `default`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return ast.literal_eval(node.value)
    return default

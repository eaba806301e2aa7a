"""The table of dtypes: the size of each, its floating-point format, and its names in PyTorch, Triton, jaxtyping and numpy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Dtype:
    """An element type. `significand` are its bits with the leading one (0 of a type that is not floating), `largest` its
    largest finite number, `smallest` its smallest normal one. `numpy` is the shortest type of numpy with all its values."""

    bytes: int
    floating: bool
    torch: str
    triton: str
    jaxtyping: str
    numpy: str
    aliases: tuple[str, ...] = ()  # of PyTorch's name
    significand: int = 0
    largest: float = 0.0
    smallest: float = 0.0

    @property
    def roundoff(self) -> float:
        """The largest relative error of a rounding to nearest: half a unit in the last place."""
        return 2.0**-self.significand

    @property
    def epsilon(self) -> float:
        """The distance from one to the next number."""
        return 2 * self.roundoff

    @property
    def subnormal(self) -> float:
        """The smallest number above zero; zero of a type that is not floating."""
        return self.smallest * 2.0 ** (1 - self.significand)


# In the order of PyTorch's promotion: of two dtypes the later one holds both, but for float16 with bfloat16.
DTYPES = {
    "bool": Dtype(1, False, "bool", "i1", "Bool", "bool"),
    "int8": Dtype(1, False, "int8", "i8", "Int8", "int8"),
    "int32": Dtype(4, False, "int32", "i32", "Int32", "int32", ("int",)),
    "int64": Dtype(8, False, "int64", "i64", "Int64", "int64", ("long",)),
    "fp8e5m2": Dtype(1, True, "float8_e5m2", "fp8e5", "Float8e5m2", "float16", (), 3, 57344.0, 2.0**-14),
    "fp8e4m3": Dtype(1, True, "float8_e4m3fn", "fp8e4nv", "Float8e4m3fn", "float16", (), 4, 448.0, 2.0**-6),
    "fp16": Dtype(2, True, "float16", "fp16", "Float16", "float16", ("half",), 11, 65504.0, 2.0**-14),
    "bf16": Dtype(2, True, "bfloat16", "bf16", "BFloat16", "float32", (), 8, (2 - 2.0**-7) * 2.0**127, 2.0**-126),
    "fp32": Dtype(
        4, True, "float32", "fp32", "Float32", "float32", ("float",), 24, (2 - 2.0**-23) * 2.0**127, 2.0**-126
    ),
    "fp64": Dtype(
        8, True, "float64", "fp64", "Float64", "float64", ("double",), 53, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022
    ),
}
FLOATING = {name: d for name, d in DTYPES.items() if d.floating}
EIGHT_BIT = tuple(name for name, d in FLOATING.items() if d.bytes == 1)
TORCH_NAMES = {name: d.torch for name, d in DTYPES.items()}
BY_TORCH_NAME = {d.torch: name for name, d in DTYPES.items()}

_BY_NAME = {word: name for name, d in DTYPES.items() for word in (name, d.torch, *d.aliases)}


def dtype_of(word: str) -> str | None:
    """The short name of a dtype written as `fp16`, `float16`, `half` or `torch.float16`; None for anything else."""
    return _BY_NAME.get(word.removeprefix("torch."))


def computing_dtypes(inputs: Iterable[str], outputs: Iterable[str]) -> list[str]:
    """The floating dtypes in which a program may compute: its inputs'; where these are 8-bit floats alone, which are only
    stored, its outputs'; else float32."""
    known = [d for d in inputs if d in FLOATING]
    found = [d for d in known if d not in EIGHT_BIT]
    if known and not found:
        found = [d for d in outputs if d in FLOATING and d not in EIGHT_BIT]
    return found or ["fp32"]

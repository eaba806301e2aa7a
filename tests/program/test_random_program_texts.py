"""What the generators of random programs promise: the number of operators, shapes that fit, finite results."""

from __future__ import annotations

import pytest
import torch
from program.random_programs import RandomProgram, long_program, operators, random_program

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}


def result(program: RandomProgram) -> torch.Tensor:
    space: dict[str, object] = {}
    exec(program.text, space)
    torch.manual_seed(program.seed)
    function = space[program.function]
    assert callable(function)
    got = function(*[torch.randn(shape).to(DTYPES[dtype]) for _, shape, dtype in program.inputs])
    assert isinstance(got, torch.Tensor)
    return got


@pytest.mark.parametrize("seed", range(60))
def test_a_long_program_has_8_to_20_operators_and_is_finite(seed: int) -> None:
    program = long_program(seed)
    lines = [line.strip() for line in program.text.splitlines() if " = " in line]
    assert 8 <= operators(lines) <= 20
    assert result(program).isfinite().all()


def test_long_programs_reshape_and_reduce() -> None:
    texts = [long_program(seed).text for seed in range(60)]
    assert sum(".reshape(" in text for text in texts) > 15
    reductions = ("softmax", "norm", ".mean(", ".sum(", ".amax(")
    assert sum(sum(text.count(word) for word in reductions) >= 2 for text in texts) > 30


@pytest.mark.parametrize(
    ("line", "count"), [("x = y + 1", 1), ("x = F.relu(-y)", 2), ("x = y.sum(dim=-1)", 1), ("x = -1", 0)]
)
def test_operators_are_counted_without_signs_of_numbers(line: str, count: int) -> None:
    assert operators([line]) == count


def test_a_seed_is_a_program() -> None:
    assert long_program(5) == long_program(5) != long_program(6)
    assert random_program(5) == random_program(5) != random_program(6)

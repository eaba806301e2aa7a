"""The table of dtypes against numpy's and PyTorch's own facts, and the one reader that must not take another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from mirage.ir.dtypes import DTYPES, FLOATING, Dtype, dtype_of
from mirage.ir.fp8_formats import FORMATS


def differences(d: Dtype) -> list[str]:
    """The facts of a floating dtype that PyTorch states otherwise."""
    facts = torch.finfo(getattr(torch, d.torch))
    pairs = {
        "bytes": (d.bytes * 8, facts.bits), "largest": (d.largest, facts.max), "smallest": (d.smallest, facts.tiny),
        "epsilon": (d.epsilon, facts.eps),
    }  # fmt: skip
    return [name for name, (ours, theirs) in pairs.items() if ours != theirs]


@pytest.mark.parametrize("name", FLOATING)
def test_a_floating_format_is_pytorchs(name: str) -> None:
    assert differences(DTYPES[name]) == []


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"significand": 12}, "epsilon"), ({"largest": 65472.0}, "largest"), ({"smallest": 2.0**-15}, "smallest"),
     ({"bytes": 4}, "bytes")],
)  # fmt: skip
def test_the_comparison_sees_a_wrong_fact(wrong: dict[str, float], named: str) -> None:
    assert named in differences(replace(DTYPES["fp16"], **wrong))


@pytest.mark.parametrize("name", DTYPES)
def test_sizes_names_and_the_carrier(name: str) -> None:
    d = DTYPES[name]
    values = torch.tensor([d.largest, d.smallest, d.subnormal, 1.0], dtype=torch.float64)
    assert torch.empty((), dtype=getattr(torch, d.torch)).element_size() == d.bytes
    assert [dtype_of(word) for word in (name, d.torch, f"torch.{d.torch}", *d.aliases)] == [name] * (3 + len(d.aliases))
    assert all(getattr(torch, alias) is getattr(torch, d.torch) for alias in d.aliases)
    if d.floating:
        own = values.to(getattr(torch, d.torch)).double()
        assert torch.equal(own, values) and own[2] > 0
        assert np.array_equal(values.numpy().astype(d.numpy).astype(np.float64), values.numpy())


def test_no_other_word_is_a_dtype() -> None:
    assert [dtype_of(word) for word in ("uint8", "torch.complex64", "float8", "np.float32", "")] == [None] * 5


def test_the_codes_of_eight_bit_floats_end_where_the_table_says() -> None:
    assert {name: kind.largest for name, kind in FORMATS.items()} == {n: DTYPES[n].largest for n in FORMATS}
    assert {n for n in FLOATING if DTYPES[n].bytes == 1} == set(FORMATS)


def test_the_order_is_that_of_promotion() -> None:
    names = [n for n in DTYPES if not n.startswith("fp8")]  # which PyTorch promotes to nothing
    for i, low in enumerate(names):
        for high in names[i + 1 :]:
            a, b = (getattr(torch, DTYPES[n].torch) for n in (low, high))
            both = torch.float32 if {low, high} == {"fp16", "bf16"} else b
            assert torch.promote_types(a, b) == both, (low, high)

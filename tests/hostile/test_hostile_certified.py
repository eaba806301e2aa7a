"""PyTorch itself confirms each hostile pair: a witness shows every difference, and general inputs every equality."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch

from hostile.certify import certified
from hostile.every_pair import GROUPS, PAIRS, of_group
from hostile.pair import Pair

CLASSES = ("threshold", "position", "trace", "cast", "definedness", "finiteness", "precision", "several outputs")
LEAST = dict.fromkeys(CLASSES, 200)
LEAST_EQUAL = 500


@pytest.mark.parametrize("group", GROUPS)
def test_pytorch_confirms_each_pair(group: str) -> None:
    assert [pair.name for pair in of_group(group) if not certified(pair)] == []


@pytest.mark.parametrize("group", GROUPS)
def test_no_pair_is_confirmed_under_the_other_label(group: str) -> None:
    """A difference needs two functions, and an equality is none: the checks are not satisfied by whatever runs."""
    assert [pair.name for pair in of_group(group) if certified(mislabelled(pair))] == []


def mislabelled(pair: Pair) -> Pair:
    """An equal pair said to differ; a differing one whose second function is the first."""
    return replace(pair, expected="differ") if pair.expected == "equal" else replace(pair, b=pair.a)


def test_differing_functions_are_not_confirmed_as_equal() -> None:
    seen = [pair for pair in PAIRS if pair.expected == "differ" and not pair.witness and pair.under == "nullcontext()"]
    assert len(seen) > 100
    assert [pair.name for pair in seen if certified(replace(pair, expected="equal"))] == []


def test_there_are_enough_pairs_and_each_has_a_name_of_its_own() -> None:
    counts = Counter(pair.group for pair in PAIRS if pair.expected == "differ")
    assert all(counts[group] >= least for group, least in LEAST.items()), counts
    assert sum(pair.expected == "equal" for pair in PAIRS) >= LEAST_EQUAL
    assert len({(pair.group, pair.name) for pair in PAIRS}) == len(PAIRS)
    assert len({(pair.inputs, pair.a, pair.b) for pair in PAIRS}) == len(PAIRS)


def test_settings_of_pytorch_are_as_before() -> None:
    def state() -> tuple[object, ...]:
        flags = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.enabled, torch.is_grad_enabled()
        return (
            *flags,
            torch.get_default_dtype(),
            torch.get_num_threads(),
            torch.get_float32_matmul_precision(),
            torch.initial_seed(),
        )

    before = state()
    assert all(certified(pair) for pair in of_group("trace"))
    assert state() == before

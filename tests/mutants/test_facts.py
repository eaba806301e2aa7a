"""Attention with large scores and the two forms of the variance, as the float opinion judges their kernels."""

from __future__ import annotations

import pytest
from mutants.certify import RunTask
from mutants.facts import large_scores, variance_passes


@pytest.mark.parametrize("shifted", [True, False])
def test_scores_of_60000_need_the_shift(run: RunTask, shifted: bool) -> None:
    assert large_scores(run, shifted) == shifted


@pytest.mark.parametrize("powers", [True, False])
def test_a_large_mean_needs_the_centred_variance(run: RunTask, powers: bool) -> None:
    assert variance_passes(run, powers) != powers

"""Hypotheses about samples are given the past, as rules use them at random points."""

from __future__ import annotations

import pytest

from dfltheory.proofs import hypotheses as h


@pytest.mark.parametrize("hypothesis", [h.UNBIASED, h.VARIANCE, h.INDEPENDENT])
def test_hypotheses_about_samples_are_given_the_past(hypothesis):
    """Without it they do not hold at a point that depends on the sample.

    Let a sample be one of 1..10, and the noise at the point y be 9 if the sample is y,
    else -1. At every y its mean is 0 and its variance 9, but at y = sample it is 9.
    """
    assert "given the past" in hypothesis.says or "| past]" in hypothesis.says

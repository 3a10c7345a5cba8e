"""Hypotheses about samples hold at random points only if the samples are fresh."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dfltheory.proofs import hypotheses as h


def test_variance_at_every_point_does_not_bound_it_at_the_point_of_a_reused_sample():
    """The noise at the point y is 9 if the sample is y, else -1, for ten samples."""
    samples = range(10)

    def noise(y: int, sample: int) -> Fraction:
        return Fraction(9 if sample == y else -1)

    for y in samples:
        assert sum(noise(y, sample) for sample in samples) == 0
        assert sum(noise(y, sample) ** 2 for sample in samples) / 10 == 9
    assert sum(noise(sample, sample) ** 2 for sample in samples) / 10 == 81


@pytest.mark.parametrize("hypothesis", [h.UNBIASED, h.VARIANCE, h.INDEPENDENT])
def test_hypotheses_about_samples_are_given_the_past(hypothesis):
    assert "past" in hypothesis.says

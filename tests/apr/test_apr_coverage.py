"""Nominal 95% intervals hold the population's rho in 93 to 97% of samples."""

import numpy as np
import pytest

from anynet_study.apr.bootstrap import pairwise, resample_correlations

SAMPLES = 1000


@pytest.mark.parametrize("n", [16, 40])
def test_intervals_of_a_correlation_cover(n: int) -> None:
    generator = np.random.default_rng(n)
    covariance = [[1, 0.7], [0.7, 1]]
    rho = 6 / np.pi * np.arcsin(0.7 / 2)  # Spearman's rho of a bivariate normal
    held = 0
    for sample in range(SAMPLES):
        values = generator.multivariate_normal([0, 0], covariance, n)
        resampled = resample_correlations(
            values, pairwise(values, [(0, 1)]), "spearman", 400, seed=sample
        )
        low, high = resampled.interval(0.95)
        held += low[0] <= rho <= high[0]
    assert 0.93 <= held / SAMPLES <= 0.97


def test_intervals_of_a_difference_cover() -> None:
    generator = np.random.default_rng(0)
    covariance = [[1, 0.2, -0.4], [0.2, 1, 0.3], [-0.4, 0.3, 1]]
    difference = 6 / np.pi * (np.arcsin(0.3 / 2) - np.arcsin(-0.4 / 2))
    held = 0
    for sample in range(SAMPLES):
        values = generator.multivariate_normal([0, 0, 0], covariance, 40)
        resampled = resample_correlations(
            values, pairwise(values, [(0, 2), (1, 2)]), "spearman", 400, seed=sample
        )
        low, high = (resampled[1:] - resampled[:1]).interval(0.95)
        held += low[0] <= difference <= high[0]
    assert 0.93 <= held / SAMPLES <= 0.97

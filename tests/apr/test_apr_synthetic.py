"""A synthetic study: its correlations, proxies, drivers and noise are recovered."""

import numpy as np
import pandas as pd
import pytest
from synthetic_study import NOISE, ROLES, noisy, population, true_correlation, true_errors

from anynet_study import apr

COUNT = 500


@pytest.fixture(scope="module")
def architectures() -> pd.DataFrame:
    return population(COUNT)


@pytest.fixture(scope="module")
def errors(architectures: pd.DataFrame) -> pd.DataFrame:
    return noisy(true_errors(architectures), seed=1)


def test_correlations_are_recovered(errors: pd.DataFrame) -> None:
    table = apr.correlations(errors, resamples=1000)
    for row in table.itertuples():
        # Spearman's rho of two (here: all but) normal variables that correlate by r.
        rho = 6 / np.pi * np.arcsin(true_correlation(row.source, row.target) / 2)
        margin = (row.high - row.low) / 4  # six pairs: one may lie just outside
        assert row.low - margin < rho < row.high + margin


def test_proxies_are_recovered(errors: pd.DataFrame) -> None:
    best = apr.best_proxies(errors, ROLES, resamples=1000).groupby("target").first()
    assert best["proxy"].to_dict() == {"pets": "big", "lines": "big-2"}
    assert (best["probability_best"] == 1).all()
    matched = apr.match_family(errors, ROLES, resamples=1000).set_index("target")
    assert matched.loc["lines", "difference_low"] > 0.5
    # `pets` has 9 classes, so that its closest member is the wrong one: a loss, and seen as one.
    assert matched.loc["pets", "difference_high"] < -0.5


def test_drivers_are_recovered(errors: pd.DataFrame, architectures: pd.DataFrame) -> None:
    table = apr.drivers(errors, architectures, resamples=1000)
    found = table.set_index(["dataset", "parameter"])
    for dataset in ("big", "pets"):
        assert found.loc[(dataset, "cumulative width"), "high"] < -0.6
        assert abs(found.loc[(dataset, "cumulative depth"), "estimate"]) < 0.15
    for dataset in ("big-2", "lines"):
        assert found.loc[(dataset, "cumulative depth"), "low"] > 0.4
        assert abs(found.loc[(dataset, "cumulative width"), "estimate"]) < 0.15


def test_the_best_configurations_are_wide_or_shallow(
    errors: pd.DataFrame, architectures: pd.DataFrame
) -> None:
    table = apr.configurations(errors, architectures)
    mean = table.groupby(["dataset", "parameter"])["mean"].sum()
    assert mean[("big", "width")] > architectures[["w1", "w2", "w3", "w4"]].mean().sum() * 1.1
    assert mean[("lines", "depth")] < architectures[["d1", "d2", "d3", "d4"]].mean().sum() * 0.95


def test_noise_is_recovered(architectures: pd.DataFrame) -> None:
    truth = true_errors(architectures)
    runs = [
        noisy(truth, seed).reset_index().melt("architecture", None, "dataset", "error")
        for seed in (1, 2)
    ]
    long = pd.concat([run.assign(replicate=i) for i, run in enumerate(runs)])
    table = apr.noise_ceiling(long)
    assert list(table["dataset"]) == list(truth.columns)
    np.testing.assert_allclose(table["within_std"], 5 * NOISE, rtol=0.1)
    icc = truth.var() / (truth.var() + (5 * NOISE) ** 2)
    assert ((table["icc_low"] < icc.to_numpy()) & (icc.to_numpy() < table["icc_high"])).all()
    noisy_pairs = apr.correlations(noisy(truth, 1), method="pearson", resamples=40)
    corrected = apr.disattenuate(noisy_pairs, dict(zip(table.dataset, table.icc, strict=True)))
    np.testing.assert_allclose(corrected["corrected"], true_pearson(truth), atol=0.03)


def true_pearson(truth: pd.DataFrame) -> np.ndarray:
    return truth.corr().to_numpy()[np.triu_indices(len(truth.columns), 1)]

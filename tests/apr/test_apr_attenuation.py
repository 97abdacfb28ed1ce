"""Corrected correlations: the ICC of `noise_ceiling`, and the truth without noise recovered."""

import numpy as np
import pandas as pd
import pytest
from synthetic_study import noisy, population, true_errors

from anynet_study.apr import corrected_correlations, correlations, noise_ceiling
from anynet_study.errors import UserError


def runs(truth: pd.DataFrame, sizes: list[int]) -> pd.DataFrame:
    """Replicates of the first so many architectures each, as a long table."""
    parts = [
        noisy(truth, seed)
        .iloc[:size]
        .reset_index()
        .melt("architecture", None, "dataset", "error")
        .assign(replicate=seed)
        for seed, size in enumerate(sizes)
    ]
    return pd.concat(parts, ignore_index=True)


def test_the_parts_are_those_of_the_other_functions() -> None:
    truth = true_errors(population(60))[["big", "pets", "lines"]]
    long = runs(truth, [60, 20, 7])
    long.loc[::17, "error"] = np.nan
    table = corrected_correlations(long.sample(frac=1, random_state=0), resamples=200)
    noise = noise_ceiling(long).set_index("dataset")["icc"]
    first = long.dropna().sort_values("replicate").groupby(["architecture", "dataset"])["error"]
    single = correlations(first.first().unstack(), resamples=200)
    single = single.set_index(["source", "target"])
    assert len(table) == 3
    for row in table.itertuples():
        assert row.icc_source == pytest.approx(noise[row.source])
        assert row.icc_target == pytest.approx(noise[row.target])
        ours = single["estimate"].get((row.source, row.target))
        ours = single.loc[(row.target, row.source), "estimate"] if ours is None else ours
        assert row.estimate == pytest.approx(ours)
        assert row.corrected == pytest.approx(ours / np.sqrt(row.icc_source * row.icc_target))
        assert row.corrected_low < row.corrected < row.corrected_high


def test_intervals_hold_the_correlation_without_noise() -> None:
    held = []
    for sample in range(25):
        generator = np.random.default_rng(sample)
        pair = generator.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 80)
        truth = pd.DataFrame(5 * pair, columns=["x", "y"]).rename_axis("architecture")
        long = pd.concat(
            [
                (truth.iloc[:size] + 2 * generator.normal(size=(size, 2)))
                .reset_index()
                .melt("architecture", None, "dataset", "error")
                .assign(replicate=replicate)
                for replicate, size in enumerate((80, 20))
            ]
        )
        row = corrected_correlations(long, "pearson", resamples=200).iloc[0]
        held.append(row["corrected_low"] <= 0.8 <= row["corrected_high"])
    assert sum(held) >= 21  # 24 of 25 are expected


def test_what_cannot_be_corrected_is_left_out_or_nan() -> None:
    truth = true_errors(population(12))[["big", "pets"]]
    assert corrected_correlations(runs(truth, [12])).empty
    once = runs(truth, [12, 1])  # one architecture twice: without it there is no noise to be seen
    table = corrected_correlations(once, resamples=100)
    assert table["replicated"].tolist() == [1]
    assert table[["corrected_low", "corrected_high"]].isna().all(axis=None)
    assert table[["estimate", "low", "high"]].notna().all(axis=None)
    with pytest.raises(UserError, match="no column error"):
        corrected_correlations(once.drop(columns="error"))

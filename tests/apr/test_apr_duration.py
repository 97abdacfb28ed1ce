"""How soon the ranking of the end is there, against scipy and on curves that are known."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from anynet_study.apr import cheapest_budget, duration
from anynet_study.errors import UserError


def curves(noise: list[float], count: int = 60, dataset: str = "pets") -> pd.DataFrame:
    """Errors of `count` architectures whose ranking is hidden by less noise epoch by epoch."""
    generator = np.random.default_rng(0)
    final = generator.normal(30, 5, count)
    parts = [
        pd.DataFrame(
            {
                "dataset": dataset,
                "architecture": [f"net-{i}" for i in range(count)],
                "epoch": epoch,
                "error": np.round(final + spread * generator.normal(size=count), 1),
            }
        )
        for epoch, spread in enumerate(noise, 1)
    ]
    return pd.concat(parts, ignore_index=True)


def test_duration_is_scipys_correlation_with_the_last_epoch() -> None:
    long = curves([20.0, 5.0, 0.0])
    long.loc[3:8, "error"] = np.nan  # the first epoch of six architectures
    shuffled = pd.concat([long, curves([1.0, 0.0], dataset="lines")]).sample(frac=1, random_state=0)
    table = duration(shuffled, resamples=200).set_index(["dataset", "epoch"]).sort_index()
    wide = long.pivot(index="architecture", columns="epoch", values="error")
    for epoch in (1, 2, 3):
        row, both = table.loc[("pets", epoch)], wide[[epoch, 3]].dropna(axis=0)
        truth = stats.spearmanr(wide[epoch], wide[3], nan_policy="omit").statistic
        assert row["estimate"] == pytest.approx(truth)
        assert row["low"] <= row["estimate"] <= row["high"]
        assert (row["n"], row["epochs"], row["share"]) == (len(both), 3, epoch / 3)
    assert table.loc[("lines", 2), "estimate"] == 1


def test_the_cheapest_budget_keeps_the_ranking_from_there_on() -> None:
    # The ranking is there after epoch 2, lost in epoch 3, and there for good from epoch 4 on.
    table = duration(curves([20.0, 0.5, 20.0, 1.5, 0.5, 0.0]), resamples=500)
    budget = cheapest_budget(table, keep=0.9).iloc[0]
    assert (budget["epoch"], budget["epochs"], budget["share"]) == (4, 6, 4 / 6)
    assert budget["estimate"] >= 0.9
    assert budget["epoch_sure"] >= budget["epoch"]
    assert cheapest_budget(table, keep=1).loc[0, "epoch"] == 6


def test_too_few_or_equal_errors_are_nan_and_no_curves_no_rows() -> None:
    three = duration(curves([1.0, 0.0], count=3), resamples=40)
    assert three["estimate"].isna().all()
    assert set(three["n"]) == {3}
    constant = duration(curves([1.0, 0.0]).assign(error=9.0), resamples=40)
    assert constant["estimate"].isna().all()
    assert cheapest_budget(constant).loc[0, "epoch"] == 2
    empty = duration(curves([1.0]).iloc[:0])
    assert list(empty.columns) == list(three.columns)
    assert empty.empty


def test_bad_curves_are_refused() -> None:
    long = curves([1.0, 0.0])
    with pytest.raises(UserError, match="curves: no column epoch"):
        duration(long.drop(columns="epoch"))
    with pytest.raises(UserError, match="curves: epoch pets, net-0, 1 is there more than once"):
        duration(pd.concat([long, long]))
    with pytest.raises(UserError, match="a row without"):
        duration(long.assign(epoch=np.nan))
    with pytest.raises(UserError, match="keep: 0 is not"):
        cheapest_budget(duration(long, resamples=40), keep=0)

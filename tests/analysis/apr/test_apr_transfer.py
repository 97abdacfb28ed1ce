"""Transfer from a source to targets: fits and improvement."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from anynet_study import apr

FEW = 300


def scores(n: int = 30, seed: int = 0) -> pd.DataFrame:
    """A source, three targets that share a skill it does not have, and an F1 score from 0 to 1."""
    generator = np.random.default_rng(seed)
    source, shared = generator.normal(size=(2, n))
    table = {"source": 70 + 5 * source}
    for number in range(3):
        noise = generator.normal(0, 0.3, n)
        table[f"target-{number}"] = 80 + 2 * (0.3 * source + shared + noise)
    table["f1"] = 0.5 + 0.05 * source
    return pd.DataFrame(table, index=[f"m{i}" for i in range(n)])


def test_slopes_of_different_metrics_can_be_compared() -> None:
    table = apr.transfer_fits(scores(), "source", ranges={"f1": (0, 1)}, resamples=FEW)
    rows = table.set_index("target")
    # From 0.05 a standard deviation of the source to 5 points of 100: the slope is that of both.
    assert rows.loc["f1", "slope"] == pytest.approx(1.0)
    assert rows.loc["f1", "correlation"] == pytest.approx(1.0)
    known = scores()
    expected = stats.linregress(known["source"], known["target-1"])
    row = rows.loc["target-1"]
    assert (row["slope"], row["correlation"]) == pytest.approx((expected.slope, expected.rvalue))
    assert (rows["models"] == "all").all()
    falling = apr.transfer_fits(scores(), "source", ["f1"], ranges={"f1": (1, 0)}, resamples=FEW)
    assert falling["slope"][0] == pytest.approx(-1.0)
    assert falling["correlation"][0] == pytest.approx(-1.0)


def test_fits_above_a_threshold_say_why_there_is_none() -> None:
    known = scores()
    table = apr.transfer_fits(known, "source", ["target-0"], above=70, resamples=FEW)
    better = known[known["source"] > 70]
    assert table["models"].tolist() == ["all", "above 70"]
    assert table["n"].tolist() == [30, len(better)]
    expected = stats.linregress(better["source"], better["target-0"])
    assert table["slope"][1] == pytest.approx(expected.slope)
    few = apr.transfer_fits(known, "source", ["target-0"], above=known["source"].nlargest(4).min())
    assert few["note"].tolist() == ["", "3 architectures with both values; at least 4 are needed"]
    assert few["slope"].isna().tolist() == [False, True]
    known["target-0"] = 50.0
    assert "constant" in apr.transfer_fits(known, "source", ["target-0"], resamples=FEW)["note"][0]


def test_improvement_over_a_baseline() -> None:
    accuracies = pd.DataFrame({"x": [50, 75, 60], "y": [20, 30, np.nan]}, index=["old", "new", "b"])
    table = apr.relative_improvement(accuracies, "old", {"x": 1000, "y": 500})
    rows = table.set_index(["dataset", "architecture"])["relative"]
    assert rows.to_dict() == {
        ("x", "old"): 1, ("x", "new"): 1.5, ("x", "b"): 1.2, ("y", "old"): 1, ("y", "new"): 1.5,
    }  # fmt: skip
    exact = stats.contingency.relative_risk(150, 500, 100, 500).confidence_interval(0.95)
    assert table.iloc[-1][["relative_low", "relative_high"]].tolist() == pytest.approx([*exact])
    assert (table["relative_low"] <= table["relative"]).all()
    without = apr.relative_improvement(accuracies, "old")
    assert without.columns.tolist() == ["dataset", "architecture", "accuracy", "relative"]


def test_improvements_are_fitted() -> None:
    names = [f"m{i}" for i in range(7)]
    x = pd.Series([40, 45, 52, 60, 66, 70, 75.0], index=names)
    table = pd.DataFrame({"x": x, "y": x / 2 + np.tile([0.2, -0.1], 4)[:7], "z": np.nan})
    table.loc["m0", "z"] = 10
    fits = apr.transfer_fits(table, "x", baseline="m0").set_index("target")
    expected = stats.linregress(x / 40, table["y"] / table["y"].iloc[0])
    assert fits.loc["y", "relative_slope"] == pytest.approx(expected.slope)
    relative = apr.transfer_fits(100 * table / table.iloc[0] / 2, "x").set_index("target")
    ends = fits.loc["y", ["relative_slope_low", "relative_slope_high"]]
    assert ends.tolist() == pytest.approx(relative.loc["y", ["slope_low", "slope_high"]].tolist())
    table.loc["m0", "y"] = 0
    assert np.isnan(apr.transfer_fits(table, "x", baseline="m0")["relative_slope"][0])
    assert fits.loc["y", "adjusted_r2"] == pytest.approx(1 - (1 - expected.rvalue**2) * 6 / 5)
    assert fits.loc["z", "note"] == "1 architecture with both values; at least 4 are needed"


def test_slopes_are_freed_of_the_noise_of_the_source() -> None:
    """Of 60 simulated studies, intervals of most hold the slope of 2 that noise halves."""
    held, pulled = 0, 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        true = draw.normal(50, 3, 60)
        runs = true[:, None] + draw.normal(0, 3, (60, 2))
        table = pd.DataFrame({"s": runs[:, 0], "t": 2 * true - 50 + draw.normal(0, 1, 60)})
        long = pd.DataFrame(runs).rename_axis("architecture").reset_index()
        long = long.melt("architecture", None, "replicate", "score").assign(dataset="s")
        row = apr.transfer_fits(table, "s", resamples=FEW, seed=seed, replicates=long).iloc[0]
        held += row["freed_slope_low"] <= 2 <= row["freed_slope_high"]
        pulled += row["slope_high"] < 2
    assert held >= 51  # of 60 at 95%, fewer are held once in a thousand
    assert pulled >= 55


def test_the_freed_slope_by_hand_and_where_there_is_none() -> None:
    draw = np.random.default_rng(0)
    runs = draw.normal(50, 3, 12)[:, None] + draw.normal(0, 1, (12, 2))
    table = pd.DataFrame({"s": runs[:, 0], "t": runs[:, 0] + draw.normal(0, 1, 12)})
    long = pd.DataFrame(runs).rename_axis("architecture").reset_index()
    long = long.melt("architecture", None, "replicate", "score").assign(dataset="s")
    row = apr.transfer_fits(table, "s", resamples=FEW, replicates=long).iloc[0]
    within = (np.diff(runs) ** 2 / 2).mean()
    expected = np.cov(table.T)[0, 1] / (table["s"].var() - within)
    assert row["freed_slope"] == pytest.approx(expected)
    once = long[long["replicate"] == 0]
    for known in (None, once):
        row = apr.transfer_fits(table, "s", resamples=FEW, replicates=known).iloc[0]
        assert np.isnan(row["freed_slope"])
        assert np.isfinite(row["slope"])
        assert row["note"] == ""
    noisy = long.assign(score=50 + draw.normal(0, 1, 24))
    row = apr.transfer_fits(table, "s", resamples=FEW, replicates=noisy).iloc[0]
    assert np.isnan(row["freed_slope_low"])
    assert "noise may be all there is on the source" in row["note"]

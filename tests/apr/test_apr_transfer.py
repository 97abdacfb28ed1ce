"""Transfer from a source to targets: fits, improvement, nested F-tests and paired correlations."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from anynet_study import apr
from anynet_study.errors import UserError

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
    assert few["note"].tolist() == ["", "3 architectures have both values; at least 4 are needed"]
    assert few["slope"].isna().tolist() == [False, True]
    known["target-0"] = 50.0
    assert "constant" in apr.transfer_fits(known, "source", ["target-0"], resamples=FEW)["note"][0]


@pytest.mark.parametrize("average", ["logits", "scores", "ranks"])
def test_correlations_with_the_source_and_with_the_others(average: str) -> None:
    known = scores()
    known.iloc[3, 2] = np.nan
    table = apr.other_targets(
        known,
        "source",
        ranges={"f1": (0, 1)},
        average=average,
        resamples=FEW,  # type: ignore[arg-type]
    ).set_index("target")
    assert (table["n"] == 29).all()
    complete = known.dropna()
    expected = stats.spearmanr(complete["source"], complete["target-0"]).statistic
    assert table.loc["target-0", "rho_source"] == pytest.approx(expected)
    if average == "ranks":
        others = complete[["target-1", "target-2", "f1"]].rank().mean(axis=1)
        expected = stats.spearmanr(others, complete["target-0"]).statistic
        assert table.loc["target-0", "rho_average"] == pytest.approx(expected)
    row = table.loc["target-0"]
    assert row["difference"] == pytest.approx(row["rho_average"] - row["rho_source"])
    assert 0 < row["difference_low"] < row["difference"] < row["difference_high"]


def test_columns_that_say_nothing_keep_their_row() -> None:
    known = scores().drop(columns="f1").assign(empty=np.nan, flat=50.0)
    for table in (
        apr.explained_beyond(known, "source"),
        apr.other_targets(known, "source", resamples=FEW),
    ):
        rows = table.set_index("target")
        assert rows.loc["empty", "note"] == "no value at all"
        assert rows.loc["flat", "note"] == "one value only"
        assert (rows["n"] == 30).all()
        assert rows.iloc[:3, 1].notna().all()
    exact = apr.explained_beyond(known.assign(twin=known["target-0"]), "source", average="scores")
    assert (exact["note"] != "").sum() == 2  # of the empty and the flat
    known["sum"] = known["source"] + 0.0
    notes = apr.explained_beyond(known, "source", average="scores").set_index("target")["note"]
    assert notes["sum"] == "explained exactly: no F-test"
    alone = apr.other_targets(known, "source", ["target-0"], resamples=FEW)
    assert alone["note"].tolist() == ["there is no other target"]
    assert "other target" in apr.explained_beyond(known, "source", ["target-0"])["note"][0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.assign(f1=t["f1"]), "f1 exceeds 1.*ranges"),
        (lambda t: t.drop(columns="source"), "no column source"),
        (lambda t: t.assign(f1=150.0), "f1 has values outside 0 to 100"),
        (lambda t: t.assign(f1=100.0 + 0 * t["f1"]).assign(source=50.0), "source has one value"),
        (lambda t: t[["source"]], "at least one"),
        (lambda t: t.drop(columns="f1").head(3), "3 architectures"),
        (lambda t: t.assign(f1=np.r_[100.0, t["source"][1:]]), "has no logit"),
        (lambda t: pd.concat([t, t]), "more than once"),
    ],
)
def test_what_is_refused(change: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        apr.explained_beyond(change(scores()), "source")  # type: ignore[operator]


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
    fits = apr.improvement_fits(table, "x", "m0").set_index("dataset")
    expected = stats.linregress(x / 40, table["y"] / table["y"].iloc[0])
    assert fits.loc["y", "slope"] == pytest.approx(expected.slope)
    assert fits.loc["y", "adjusted_r2"] == pytest.approx(1 - (1 - expected.rvalue**2) * 6 / 5)
    assert fits.loc["z", "note"] == "1 architectures have both values; at least 4 are needed"

"""Rankings up to ties, improvement over a baseline, and families of test-time transforms."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from anynet_study import apr
from anynet_study.errors import UserError


def replicates(sd: float = 0.3, runs: int = 3, seed: int = 0) -> pd.DataFrame:
    """Six architectures a point apart on "a" and "b"; on "c" the last is the best."""
    generator = np.random.default_rng(seed)
    rows = [
        (f"m{i}", dataset, run, (30.0 + i if dataset != "c" or i < 5 else 25.0))
        for dataset in "abc"
        for i in range(6)
        for run in range(runs)
    ]
    table = pd.DataFrame(rows, columns=["architecture", "dataset", "replicate", "error"])
    return table.assign(error=table["error"] + generator.normal(0, sd, len(table)))


@pytest.mark.parametrize("noise", ["pooled", "own"])
def test_intervals_over_replicates(noise: str) -> None:
    known = replicates()
    known = known.drop(index=known[(known.architecture == "m1") & (known.replicate > 0)].index)
    table = apr.replicate_intervals(known, noise=noise)  # type: ignore[arg-type]
    rows = table[table["dataset"] == "a"].set_index("architecture")
    runs = known[known["dataset"] == "a"].groupby("architecture")["error"]
    for name, errors in runs:
        if noise == "own" and name == "m1":
            assert rows.loc[name, "note"] == "no replicates: no interval"
            assert rows.loc[name, "low"] == rows.loc[name, "high"] == errors.iloc[0]
            continue
        scale, freedom = stats.sem(errors) if len(errors) > 1 else 0, len(errors) - 1
        if noise == "pooled":
            residuals = np.concatenate([each - each.mean() for _, each in runs])
            freedom = len(residuals) - 6
            scale = np.sqrt((residuals**2).sum() / freedom / len(errors))
        expected = stats.t.interval(0.95, freedom, errors.mean(), scale)
        assert rows.loc[name, ["low", "high"]].tolist() == pytest.approx([*expected])
    assert set(rows["replicates"]) == {1, 3}


def test_pooled_intervals_cover() -> None:
    held = 0
    for seed in range(40):
        table = apr.replicate_intervals(replicates(1.0, seed=seed))
        truth = table["architecture"].str[1:].astype(int) + 30.0
        truth[(table["dataset"] == "c") & (table["architecture"] == "m5")] = 25.0
        held += ((table["low"] <= truth) & (truth <= table["high"])).sum()
    assert 0.93 <= held / 720 <= 0.97


def test_ranks_are_tied_where_intervals_overlap() -> None:
    bounds = {"m0": (10, 9, 11), "m1": (10.5, 10, 12), "m2": (13, 12.5, 13.5), "m3": (13, 11.5, 14)}
    rows = [("d", name, *values) for name, values in bounds.items()]
    table = pd.DataFrame(rows, columns=["dataset", "architecture", "error", "low", "high"])
    ranks = apr.tied_ranks(table).set_index("architecture")
    assert ranks["rank"].to_dict() == {"m0": 1, "m1": 2, "m2": 3, "m3": 3}
    assert ranks["rank_best"].to_dict() == {"m0": 1, "m1": 1, "m2": 3, "m3": 2}
    assert ranks["rank_worst"].to_dict() == {"m0": 2, "m1": 3, "m2": 4, "m3": 4}


def test_a_ranking_is_preserved_up_to_ties() -> None:
    table = apr.rank_preservation(apr.replicate_intervals(replicates()), "a").set_index("dataset")
    assert table.loc["b", ["pairs", "same", "tied", "swapped"]].tolist()[0::3] == [15, 0]
    assert table.loc["b", "preserved"]
    assert not table.loc["c", "preserved"]
    assert table.loc["c", "swapped"] == 5
    assert (table[["same", "tied", "swapped"]].sum(axis=1) == 15).all()
    noisy = apr.rank_preservation(apr.replicate_intervals(replicates(4.0)), "a")
    assert noisy["preserved"].all()
    assert not noisy["identical"].all()
    exact = apr.replicate_intervals(replicates(0.0, runs=1))
    clear = apr.rank_preservation(exact, "a").set_index("dataset")
    assert clear.loc["b", ["same", "tau"]].tolist() == pytest.approx([15, 1.0])


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


def transformed() -> pd.DataFrame:
    """Errors of eight models under five transforms that leave the order, and one that turns it."""
    base = np.arange(20, 36, 2.0)
    columns = {"test": base, **{f"blur-{i}": base + 3 * i for i in range(1, 5)}}
    return pd.DataFrame({**columns, "invert": 90 - base}, index=[f"m{i}" for i in range(8)])


def test_mean_and_rank_over_transforms() -> None:
    table = apr.shift_ranks(transformed(), resamples=500)
    assert table["architecture"].tolist() == [f"m{i}" for i in range(8)]
    assert table["rank"].tolist() == list(range(1, 9))
    first = table.iloc[0]
    assert first[["rank_best", "rank_worst"]].tolist() == [1, 8]
    assert first["rank_mean"] == pytest.approx((5 * 1 + 8) / 6)
    assert first["mean"] == pytest.approx(transformed().iloc[0].mean())
    assert first["std"] == pytest.approx(transformed().iloc[0].std())
    assert ((table["rank_low"] <= table["rank"]) & (table["rank"] <= table["rank_high"])).all()


def test_long_and_wide_tables_are_one() -> None:
    wide = transformed()
    long = wide.melt(ignore_index=False, var_name="evaluation", value_name="error")
    long = long.rename_axis(index="architecture").reset_index()
    pd.testing.assert_frame_equal(
        apr.shift_ranks(wide, resamples=200), apr.shift_ranks(long, resamples=200)
    )
    gappy = apr.shift_ranks(long.iloc[1:], resamples=200)
    assert (len(gappy), gappy.attrs["left_out"]) == (7, 1)
    with pytest.raises(UserError, match="more than once"):
        apr.shift_ranks(pd.concat([long, long.head(1)]))


def test_agreement_with_the_images_as_they_are() -> None:
    table = apr.shift_agreement(transformed(), resamples=200).set_index("evaluation")
    assert table["estimate"].tolist() == pytest.approx([1, 1, 1, 1, -1, 1])
    assert table.index[-1] == "average"
    flat = apr.shift_agreement(transformed().assign(invert=5.0), resamples=200)
    assert flat["note"].tolist() == ["", "", "", "", "all errors are equal", ""]
    assert table.loc["invert", "error"] == pytest.approx((90 - transformed()["test"]).mean())


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: apr.replicate_intervals(replicates().drop(columns="error")), "no column error"),
        (lambda: apr.replicate_intervals(pd.concat([replicates()] * 2)), "more than once"),
        (lambda: apr.replicate_intervals(replicates().assign(error=np.nan)), "no error"),
        (lambda: apr.replicate_intervals(replicates(), level=95), "level"),
        (lambda: apr.replicate_intervals(replicates(), noise="no"), "noise"),
        (lambda: apr.rank_preservation(apr.replicate_intervals(replicates()), "z"), "no dataset z"),
        (lambda: apr.relative_improvement(transformed(), "m9"), "no architecture m9"),
        (lambda: apr.relative_improvement(transformed() * 0, "m0"), "fractions"),
        (lambda: apr.shift_ranks(transformed()[["test"]]), "1 evaluations"),
        (lambda: apr.shift_ranks(transformed().head(1)), "1 architectures"),
        (lambda: apr.shift_agreement(transformed(), "no"), "no column no"),
    ],
)
def test_what_is_refused(call: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        call()  # type: ignore[operator]

"""Two trainings of the same architectures, and how soon the ranking of the end is there."""

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from synthetic_study import noisy, population, true_errors

from anynet_study.analysis.apr import agreement, cheapest_budget, duration
from anynet_study.analysis.apr.rank_preservation import ordered_pairs
from anynet_study.core.errors import UserError

columns = hnp.arrays(
    np.float64, st.tuples(st.integers(4, 20), st.just(2)), elements=st.integers(0, 9).map(float)
)


@pytest.fixture(scope="module")
def truth() -> pd.DataFrame:
    return true_errors(population(300))


@given(values=columns)
@settings(deadline=None, max_examples=40)
def test_swapped_pairs_are_those_of_the_definition(values: np.ndarray) -> None:
    x, y = values.T
    signs = [np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]) for i in range(len(x)) for j in range(i)]
    assert ordered_pairs((x, x), (y, y)) == (signs.count(1), signs.count(-1))


def test_agreement_of_two_trainings(truth: pd.DataFrame) -> None:
    before, after = noisy(truth, 1), noisy(truth, 2) - 3
    after = after.iloc[::-1]  # order must not matter
    before.loc[before.index[:5], "pets"] = np.nan
    table = agreement(before, after, resamples=500).set_index("dataset")
    assert list(table.index) == list(truth.columns)
    for dataset, row in table.iterrows():
        both = pd.concat([before[dataset], after[dataset]], axis=1, keys=["b", "a"]).dropna()
        rho = stats.spearmanr(both["b"], both["a"])
        np.testing.assert_allclose(row[["estimate", "p"]].astype(float), rho, atol=1e-12)
        assert row["low"] < row["estimate"] < row["high"]
        assert row["change"] == pytest.approx((both["a"] - both["b"]).mean())
        assert row["change_low"] < -3 < row["change_high"]
        assert row["improved"] == (both["a"] < both["b"]).mean() > 0.7
        assert row["n"] == len(both) == 300 - 5 * (dataset == "pets")
    # Without ties Kendall's tau is 1 - 2 * the share of swapped pairs.
    tau = stats.kendalltau(before["big"], after["big"].reindex(before.index)).statistic
    assert table.loc["big", "swapped"] == pytest.approx((1 - tau) / 2)


def test_agreement_with_a_source_before_and_after(truth: pd.DataFrame) -> None:
    before = noisy(truth, 1)
    # What was made independent of the source comes to follow it, as under pretraining (A6).
    after = pd.DataFrame({"lines": before["pets"] - 5, "pets": before["pets"]})
    table = agreement(before, after, source="big", resamples=500).set_index("dataset")
    lines = table.loc["lines"]
    assert lines["source_before_low"] < 0 < lines["source_before_high"]
    assert lines["source_after"] == pytest.approx(before["big"].corr(before["pets"], "spearman"))
    assert lines["source_difference"] == lines["source_after"] - lines["source_before"]
    assert lines["source_difference_low"] > 0.6
    assert table.loc["pets", ["source_difference_low", "source_difference_high"]].tolist() == [0, 0]
    # What is compared with the source has its error, too; the change does not need it.
    fewer = before.copy()
    fewer.loc[fewer.index[:7], "big"] = np.nan
    with_source = agreement(fewer, after.join(fewer[["big"]]), "big", resamples=200)
    row = with_source.set_index("dataset").loc["lines"]
    assert (row["n"], row["source_n"]) == (300, 293)
    known = fewer.dropna()
    assert row["source_after"] == pytest.approx(known["big"].corr(known["pets"], "spearman"))
    own = with_source.set_index("dataset").loc["big"]
    assert own.filter(like="source").isna().all()
    alone = agreement(fewer, after, resamples=200).set_index("dataset")
    together = ["improved_low", "improved_high", "alike_low", "alike_high", "most_err_less"]
    for name in alone.drop(columns=together):  # their family has a dataset less
        assert row[name] == alone.loc["lines", name]


def test_thousands_of_architectures_are_matched_in_no_time() -> None:
    errors = pd.DataFrame({"big": np.arange(4_000) % 97}, [f"{i:016x}" for i in range(4_000)])
    began = time.process_time()
    assert agreement(errors, errors.iloc[::-1], resamples=40)["n"].item() == 4_000
    assert time.process_time() - began < 4  # 20 s when each looked through all others


def test_constant_and_few_errors_are_nan(truth: pd.DataFrame) -> None:
    before = noisy(truth, 1)[["pets", "lines"]].iloc[:9]
    after = before.assign(pets=5.0)
    after.iloc[3:, 1] = np.nan
    table = agreement(before, after, resamples=40).set_index("dataset")
    assert table.loc["pets", ["estimate", "p", "swapped"]].isna().all()
    assert table.loc["pets", "mean_after"] == 5
    assert table.loc["lines", "n"] == 3
    assert table.loc["lines"].drop(["n", "most_err_less"]).isna().all()
    with pytest.raises(UserError, match="share 0 datasets and 9 architectures"):
        agreement(before, after.add_suffix("-balanced"))
    with pytest.raises(UserError, match="the table before: no column cats"):
        agreement(before, after, source="cats")


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
    assert (table.loc[("lines", 2), ["estimate", "low", "high"]] == 1).all()


def test_the_cheapest_budget_keeps_the_ranking_from_there_on() -> None:
    # The ranking is there after epoch 2, lost in epoch 3, and there for good from epoch 4 on.
    table = duration(curves([20.0, 0.5, 20.0, 1.5, 0.5, 0.0]), resamples=500)
    budget = cheapest_budget(table, keep=0.9).iloc[0]
    assert (budget["epoch"], budget["epochs"], budget["share"]) == (4, 6, 4 / 6)
    assert budget["estimate"] >= 0.9
    assert budget["epoch_sure"] >= budget["epoch"]
    assert cheapest_budget(table, keep=1).loc[0, "epoch"] == 6


def runs(spread: list[float], count: int = 400) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Curves of the first of two runs, and both runs' last errors.

    Each run has its own noise in all of its epochs, by standard deviations of 3 against the 5 of
    what is true of the architecture; an epoch hides both behind further noise of a `spread`.
    """
    draw = np.random.default_rng(3)
    names = [f"net-{i}" for i in range(count)]
    true = draw.normal(30, 5, count)
    first, second = true + 3 * draw.normal(size=(2, count))
    frames = [
        pd.DataFrame(
            {
                "dataset": "pets",
                "architecture": names,
                "epoch": epoch,
                "error": first + wide * draw.normal(size=count),
            }
        )
        for epoch, wide in enumerate(spread, 1)
    ]
    both = {"architecture": names * 2, "dataset": "pets", "replicate": [0] * count + [1] * count}
    return pd.concat(frames), pd.DataFrame(both | {"error": [*first, *second]})


def test_what_is_kept_of_another_run_is_free_of_the_noise_that_epochs_share() -> None:
    """Against scipy, and against the correlations of normal errors."""
    long, replicates = runs([6.0, 2.0, 0.0])
    # Replicates in any order, other datasets, and runs without an error change nothing.
    failed = replicates.iloc[:200].assign(replicate=2, error=np.nan)
    mixed = pd.concat([failed, replicates, replicates.assign(dataset="cats")])
    table = duration(long, mixed.sample(frac=1, random_state=0), resamples=300)
    wide = long.pivot(index="architecture", columns="epoch", values="error")
    last = replicates[replicates["replicate"] == 1].set_index("architecture")["error"]
    whole = stats.spearmanr(wide[3], last.reindex(wide.index)).statistic
    for epoch, spread in ((1, 6.0), (2, 2.0), (3, 0.0)):
        row = table.iloc[epoch - 1]
        found = stats.spearmanr(wide[epoch], last.reindex(wide.index)).statistic
        assert row["kept"] == pytest.approx(found / whole)
        # Pearson: 25 / sqrt((34 + s²) 34) over 25 / 34
        assert row["kept"] == pytest.approx(np.sqrt(34 / (34 + spread**2)), abs=0.06)
        assert row["kept_low"] <= row["kept"] <= row["kept_high"]
        assert row["kept_n"] == 400
    assert table["kept_low"].iloc[-1] == table["kept_high"].iloc[-1] == 1
    alone = duration(long, resamples=300)
    assert alone[["kept", "kept_low", "kept_high"]].isna().all(axis=None)
    pd.testing.assert_frame_equal(alone.iloc[:, :8], table.iloc[:, :8])


def test_the_budget_is_that_of_another_run_where_there_is_one() -> None:
    """An epoch whose errors have the noise of the run, and not the architecture's own part."""
    long, replicates = runs([0.0, 0.0])
    names = long["architecture"].iloc[:400]
    noise = replicates["error"].iloc[:400].to_numpy() - replicates["error"].iloc[400:].to_numpy()
    # After the first epoch only the order of the run's own luck is there.
    early = pd.DataFrame(
        {"dataset": "pets", "architecture": names, "epoch": 1, "error": 50 + noise}
    )
    long = pd.concat([early, long[long["epoch"] == 2]])
    budgets = {
        against: cheapest_budget(duration(long, known, resamples=200), keep=0.3).iloc[0]
        for against, known in (("the same run", None), ("another run", replicates))
    }
    assert {name: row["epoch"] for name, row in budgets.items()} == {
        "the same run": 1,
        "another run": 2,
    }
    assert all(name == row["against"] for name, row in budgets.items())
    # Below 10 architectures nothing is known of it, below 30 too little to choose by.
    for twice, against in ((9, "the same run"), (29, "the same run"), (30, "another run")):
        few = replicates[(replicates["replicate"] == 0) | (replicates.index % 400 < twice)]
        table = duration(long, few, resamples=200)
        assert table["kept"].isna().all() == (twice < 10)
        assert set(table["kept_n"]) == {twice}
        assert cheapest_budget(table, keep=0.3).loc[0, "against"] == against


def test_too_few_or_equal_errors_are_nan_and_no_curves_no_rows() -> None:
    tested = curves([20.0, 0.5, 20.0, 1.5, 0.5, 0.0])
    table, untested = duration(tested, resamples=500), tested.copy()
    untested.loc[untested["epoch"].isin([2, 4]), "error"] = np.nan
    seldom = duration(untested, resamples=500)
    assert list(seldom["epoch"]) == [1, 3, 5, 6]
    kept = table[table["epoch"].isin(seldom["epoch"])].reset_index(drop=True)
    pd.testing.assert_series_equal(seldom["estimate"], kept["estimate"])
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

"""Two trainings of the same architectures, and class count against size, on known changes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from synthetic_study import noisy, population, true_correlation, true_errors

from anynet_study.apr import agreement, class_or_size
from anynet_study.apr.agreement import swapped_share
from anynet_study.errors import UserError

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
    untied = [sign for sign in signs if sign]
    expected = np.mean(np.array(untied) < 0) if untied else np.nan
    np.testing.assert_equal(swapped_share(x, y), expected)


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


def test_constant_and_few_errors_are_nan(truth: pd.DataFrame) -> None:
    before = noisy(truth, 1)[["pets", "lines"]].iloc[:9]
    after = before.assign(pets=5.0)
    after.iloc[3:, 1] = np.nan
    table = agreement(before, after, resamples=40).set_index("dataset")
    assert table.loc["pets", ["estimate", "p", "swapped"]].isna().all()
    assert table.loc["pets", "mean_after"] == 5
    assert table.loc["lines", "n"] == 3
    assert table.loc["lines"].drop("n").isna().all()
    with pytest.raises(UserError, match="share 0 datasets and 9 architectures"):
        agreement(before, after.add_suffix("-balanced"))
    with pytest.raises(UserError, match="no column cats in the table before"):
        agreement(before, after, source="cats")


def test_class_count_and_size_are_told_apart() -> None:
    truth = true_errors(population(400))
    errors = pd.DataFrame(
        {
            "full": noisy(truth, 1)["big"],
            "few-images": noisy(truth, 2)["big"],
            "few-classes": noisy(truth, 3)["lines"],
            **noisy(truth, 4)[["lines", "pets"]],
        }
    )
    names = ("full", "few-images", "few-classes")
    table = class_or_size(errors, *names, ["lines", "pets"], resamples=500).set_index("target")
    rho = 6 / np.pi * np.arcsin(true_correlation("lines", "lines") / 2)
    lines = table.loc["lines"]
    assert lines["rho_classes_low"] < rho < lines["rho_classes_high"]
    assert lines["by_images_low"] < 0 < lines["by_images_high"]
    assert lines["by_classes_low"] > 0.6
    assert table.loc["pets", "by_classes_high"] < -0.6
    assert table.loc["average", "by_classes"] == pytest.approx(table["by_classes"].iloc[:2].mean())
    constant = errors.assign(lines=1.0)
    table = class_or_size(constant, *names, ["lines"], resamples=40)
    assert table["rho_source"].isna().all()
    with pytest.raises(UserError, match="no column cats"):
        class_or_size(errors, *names, ["cats"])

"""Robustness on shifts, against its definitions."""

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from anynet_study import apr
from anynet_study.analysis.apr.robustness import sampling_reach
from anynet_study.core.errors import UserError


def accuracies(n: int = 30, extra: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """Models on a line in logits; the last is better on both shifts by `extra` points."""
    generator = np.random.default_rng(seed)
    base = generator.normal(1.0, 0.5, n)
    columns = {"base": base}
    for name, offset in (("sketch", -1.5), ("v2", -0.5)):
        columns[name] = 0.9 * base + offset + generator.normal(0, 0.05, n)
    table = 100 * special.expit(pd.DataFrame(columns, index=[f"m{i}" for i in range(n)]))
    table.iloc[-1, 1:] += extra
    return table


def averages(known: pd.DataFrame, **options: object) -> pd.DataFrame:
    table = apr.effective_robustness(known, "base", **options)  # type: ignore[arg-type]
    return pd.DataFrame(table.attrs["averages"]).set_index("architecture")


def test_average_and_ratio() -> None:
    known = accuracies()
    known.loc["m3", "v2"] = np.nan
    rows = averages(known, images={"base": 1000, "sketch": 400, "v2": 100})
    average = known.loc["m0", ["sketch", "v2"]].mean()
    assert rows.loc["m0", ["accuracy", "ratio"]].tolist() == pytest.approx(
        [average, average / known.loc["m0", "base"]]
    )
    p = known.loc["m0", ["sketch", "v2"]].to_numpy() / 100
    reach = 1.959964 * 100 * np.sqrt((p * (1 - p) / [400, 100]).sum()) / 2
    assert rows.loc["m0", "accuracy_high"] - average == pytest.approx(reach)
    assert rows.loc["m3", "note"] == "no accuracy on v2"
    assert np.isnan(rows.loc["m3", "accuracy"])
    known.loc["m4", "base"] = 0
    row = averages(known).loc["m4"]
    assert row["accuracy"] == known.loc["m4", ["sketch", "v2"]].mean()  # though it has no ratio
    assert row[["ratio", "expected", "effective"]].isna().all()
    assert "has no place on the logit scale" in row["note"]


def test_a_single_shift_has_its_exact_sampling_error() -> None:
    known = accuracies()
    table = apr.effective_robustness(known, "base", ["v2"], images={"base": 1000, "v2": 100})
    exact = stats.binomtest(round(known.loc["m0", "v2"]), 100).proportion_ci(method="exact")
    row = table.set_index("architecture").loc["m0"]
    assert row[["accuracy_low", "accuracy_high"]].tolist() == pytest.approx(
        [100 * exact.low, 100 * exact.high]
    )
    assert row["ratio"] == known.loc["m0", "v2"] / known.loc["m0", "base"]


def test_effective_robustness_is_what_lies_above_the_line() -> None:
    known = accuracies(extra=10.0)
    baseline = list(known.index[:-1])
    table = apr.effective_robustness(known, "base", baseline=baseline)
    logits = special.logit(known / 100)
    for shift in ("sketch", "v2"):
        line = stats.linregress(logits.loc[baseline, "base"], logits.loc[baseline, shift])
        expected = 100 * special.expit(line.intercept + line.slope * logits["base"])
        rows = table[table["shift"] == shift].set_index("architecture")
        assert np.allclose(rows["effective"], known[shift] - expected)
    rows = table[table["architecture"] == "m29"]
    average = next(it for it in table.attrs["averages"] if it["architecture"] == "m29")
    assert average.keys() == set(table.columns) - {"shift"}
    assert average["effective"] == pytest.approx(rows["effective"].mean())
    assert average["effective_low"] < 10 < average["effective_high"] + 1
    assert (rows["effective_low"] > 5).all()
    assert table["baseline"].sum() == 29 * 2
    wider = apr.effective_robustness(
        known, "base", baseline=baseline, images=dict.fromkeys(known, 1000)
    )
    width = [t["effective_high"] - t["effective_low"] for t in (wider, table)]
    assert (width[0] > width[1]).all()


def test_what_effective_robustness_leaves_out() -> None:
    known = accuracies()
    known.iloc[0, 1], known.iloc[1, 0] = np.nan, 100.0
    table = apr.effective_robustness(known, "base")
    notes = table.groupby("architecture", sort=False)["note"].first()
    assert notes.iloc[:3].tolist() == [
        "no accuracy on sketch",
        "base of 0% or 100% has no place on the logit scale",
        "",
    ]
    assert (table["effective"].isna() == (table["note"] != "")).all()
    assert not table.loc[table["note"] != "", "baseline"].any()
    known.iloc[2, 1] = 0.0
    fewer = apr.effective_robustness(known, "base")
    assert fewer["baseline"].sum() == 27 * 2  # on the scale on both shifts
    assert fewer.groupby("architecture")["effective"].count()["m2"] == 2
    one = apr.effective_robustness(known, "base", ["v2"])
    assert set(one["shift"]) == {"v2"}
    assert one.attrs["averages"] == []  # a mean over one shift says nothing new


def test_robust_is_a_verdict_on_what_images_can_show() -> None:
    """Five points above the line on 10,000 images are; on 500, or an unknown number, undecided."""
    draw = np.random.default_rng(0)
    base = draw.uniform(55, 80, 40)
    shift = base - 12 + draw.normal(0, 0.4, 40)
    shift[3] += 6
    shift[5] -= 5
    table = pd.DataFrame({"val": base, "v2": shift}, index=[f"m{i}" for i in range(40)])

    def verdicts(images: int | None) -> pd.Series:
        counts = None if images is None else {"val": 50_000, "v2": images}
        found = apr.effective_robustness(table, "val", images=counts)
        return found.set_index("architecture")["robust"]

    assert (verdicts(None) == "undecided").all()
    assert (verdicts(500) == "undecided").all()
    many = verdicts(10_000)
    assert list(many.index[many == "yes"]) == ["m3"]
    assert many["m5"] == "no"


def test_models_on_one_line_are_not_robust() -> None:
    """Also where few images measure the base accuracy, whose error moves what is expected."""
    wrong, held, shifted = [], [], 10_000
    for seed in range(20):
        draw = np.random.default_rng(seed)
        true = 1 + 0.35 * draw.normal(size=40)
        own = draw.binomial(1000, special.expit(true)) / 10
        new = 100 * draw.binomial(shifted, special.expit(0.9 * true - 0.7)) / shifted
        table = pd.DataFrame({"own": own, "new": new})
        found = apr.effective_robustness(table, "own", images={"own": 1000, "new": shifted})
        wrong.append((found["robust"] == "yes").any())
        held.append(found["effective_low"].le(0) & found["effective_high"].ge(0))
    assert np.mean(wrong) <= 0.1
    assert 0.93 <= np.mean(held) <= 0.99


def test_a_line_on_accuracies_that_hardly_differ_says_nothing() -> None:
    own = np.random.default_rng(0).binomial(1000, 0.7, 40) / 10
    table = pd.DataFrame({"own": own, "new": own - 10})
    found = apr.effective_robustness(table, "own", images={"own": 1000, "new": 1000})
    assert found[["effective_low", "effective_high"]].isna().all(axis=None)
    assert set(found["robust"]) == {"undecided"}
    assert found["note"].str.contains("hardly more than their sampling error").all()


def test_the_mean_of_test_sets_has_their_sampling_error() -> None:
    """As of independent binomials: the variance of a mean is the sum over the square."""
    table = pd.DataFrame({"a": [40.0, 60.0], "b": [20.0, 50.0]})
    reach = sampling_reach(table, {"a": 1000, "b": 500}, 0.95)
    expected = [100 * 1.959964 * np.sqrt(0.24 / 1000 + 0.16 / 500) / 2]
    expected += [100 * 1.959964 * np.sqrt(0.24 / 1000 + 0.25 / 500) / 2]
    np.testing.assert_allclose(reach, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: apr.effective_robustness(accuracies() / 100, "base"), "fractions"),
        (lambda: apr.effective_robustness(accuracies(), "base", ["no"]), "no column no"),
        (lambda: apr.effective_robustness(accuracies(), "base", ["base"]), "not the base"),
        (lambda: apr.effective_robustness(accuracies(), "base", images={}), "no count"),
        (lambda: apr.effective_robustness(accuracies(), "base", baseline=["m99"]), "m99"),
        (lambda: apr.effective_robustness(accuracies(3), "base"), "no fit of sketch on base: 3"),
        (lambda: apr.best_of_bins(pd.Series([1.0]), pd.Series([np.nan])), "no architecture"),
        (lambda: apr.best_of_bins(pd.Series([1.0]), pd.Series([1.0]), [2, 1]), "rising"),
        (lambda: apr.best_of_bins(pd.Series([1.0]), pd.Series([1.0]), top=0), "top"),
        (lambda: apr.label_set_accuracy([[1]], [1], {"x": (7,)}), "no image has class 7"),
        (lambda: apr.label_set_accuracy([[1]], [1], {"x": ()}), "x has no class"),
        (lambda: apr.restrict(np.zeros((2, 3)), (3,)), "label_set"),
        (lambda: apr.nested_label_sets(10, [11]), "from 1 to 10"),
    ],
)
def test_what_is_refused(call: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        call()  # type: ignore[operator]

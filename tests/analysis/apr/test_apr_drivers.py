"""Drivers: raw and partial correlations with the parameters, and their importance."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import KFold
from statsmodels.regression.linear_model import WLS
from statsmodels.stats.multitest import multipletests
from statsmodels.tools import add_constant
from synthetic_study import STAGE_COLUMNS, noisy, population, staged_population, true_errors

from anynet_study.analysis.analysis import remarks
from anynet_study.analysis.apr import drivers, importance, stage_drivers
from anynet_study.analysis.apr.bootstrap import pairwise
from anynet_study.analysis.apr.correlations import p_values
from anynet_study.analysis.apr.drivers import no_trend
from anynet_study.core.errors import UserError


@pytest.fixture(scope="module")
def architectures() -> pd.DataFrame:
    table = population(300)
    generator = np.random.default_rng(5)
    table["flops"] = 360 + 40 * generator.random(300).round(2)
    table["parameters"] = table[["w3", "w4"]].sum(axis=1) + generator.integers(0, 40, 300)
    return table


@pytest.fixture(scope="module")
def errors(architectures: pd.DataFrame) -> pd.DataFrame:
    return noisy(true_errors(architectures), seed=1)


def residuals(values: np.ndarray, given: np.ndarray) -> np.ndarray:
    """What is left of ranks after a linear fit on other ranks."""
    design = np.column_stack([np.ones(len(values)), stats.rankdata(given, axis=0)])
    ranks = stats.rankdata(values)
    return ranks - design @ np.linalg.lstsq(design, ranks, rcond=None)[0]


def uneven_p(x: np.ndarray, y: np.ndarray, given: np.ndarray) -> float:
    """Of no association of ranks, whatever their spread hangs on: HC3, by the hat matrix."""
    design = np.column_stack([np.ones(len(x)), stats.rankdata(given, axis=0)])
    hat = design @ np.linalg.pinv(design)
    products = residuals(x, given) * residuals(y, given)
    z = products.sum() / np.sqrt(((products / (1 - np.diag(hat))) ** 2).sum())
    return float(2 * stats.norm.sf(abs(z)))


@pytest.mark.slow
@given(seed=st.integers(0, 999), gaps=st.integers(0, 6))
@settings(deadline=None, max_examples=15)
def test_raw_and_partial_are_those_of_ranks_and_residuals(seed: int, gaps: int) -> None:
    generator = np.random.default_rng(seed)
    table = population(30, seed)
    table["flops"] = generator.integers(0, 8, 30) + table["d1"]
    table["parameters"] = generator.integers(0, 8, 30) + table["w2"]
    errors = pd.DataFrame(
        {"set": generator.integers(0, 9, 30).astype(float)}, table["architecture"]
    )
    errors.iloc[:gaps] = np.nan
    found = stage_drivers(errors, table, resamples=40).set_index("parameter")
    known = table.iloc[gaps:]
    given_columns, y = known[["flops", "parameters"]].to_numpy(), errors["set"].to_numpy()[gaps:]
    for parameter in ("d1", "w2", "g4"):
        x, row = known[parameter].to_numpy(), found.loc[parameter]
        assert row["estimate"] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)
        assert row["p"] == pytest.approx(uneven_p(x, y, given_columns[:, :0]))
        left = stats.pearsonr(residuals(x, given_columns), residuals(y, given_columns)).statistic
        assert row["partial"] == pytest.approx(left, abs=1e-9)
        assert row["partial_p"] == pytest.approx(uneven_p(x, y, given_columns))
        assert row["n"] == 30 - gaps


def test_sums_have_one_p_in_both_tables(architectures: pd.DataFrame, errors: pd.DataFrame) -> None:
    """They are the family of the question that `drivers` asks, and single stages another."""
    names = ["dataset", "parameter"]
    both = drivers(errors, architectures, resamples=100).set_index(names)
    stages = stage_drivers(errors, architectures, resamples=100).set_index(names)
    columns = ["estimate", "low", "high", "p", "p_holm"]
    pd.testing.assert_frame_equal(stages.loc[both.index, columns], both[columns])
    single = stages.drop(index=both.index)
    for kind in ("", "partial_"):
        for rows in (stages.loc[both.index], single):
            reference = multipletests(rows[f"{kind}p"], method="holm")[1]
            np.testing.assert_allclose(rows[f"{kind}p_holm"], reference, rtol=1e-9)
    for table in (both, stages):
        assert remarks(table)[0].startswith(f"p (Holm) is corrected for the {len(both)} tests of ")
    assert f"for the {len(single)} of single stages" in remarks(stages)[0]
    for untested in (both.drop(columns="p_holm"), both.assign(p_holm=np.nan)):
        assert not any("Holm" in said for said in remarks(untested))


def test_stage_drivers_are_recovered_and_flips_marked(
    errors: pd.DataFrame, architectures: pd.DataFrame
) -> None:
    both = errors[["big", "lines"]].assign(mirrored=-errors["lines"])
    table = stage_drivers(both, architectures, resamples=200).set_index(["dataset", "parameter"])
    assert list(table.loc["big"].index[:2]) == ["d1", "d2"]
    assert len(table) == 3 * 18
    for stage in (1, 2, 3, 4):
        assert table.loc[("big", f"w{stage}"), "high"] < 0
        assert table.loc[("lines", f"d{stage}"), "low"] > 0
        assert table.loc[("lines", f"d{stage}"), ["flips", "partial_flips"]].all()
        assert table.loc[("mirrored", f"d{stage}"), "flips"]
        assert not table.loc[("big", f"d{stage}"), "flips"]
    assert not table.loc[pd.IndexSlice[:, ["b1", "g1", "w1"]], "flips"].any()
    # The parameter count follows the last stages' widths: at equal size these matter less.
    assert abs(table.loc[("big", "w4"), "partial"]) < abs(table.loc[("big", "w4"), "estimate"])
    assert set(table["given"]) == {"flops, parameters"}
    alone = stage_drivers(both[["lines"]].assign(none=0.5), architectures, resamples=40)
    assert (alone["p_holm"] < 0.05).any()
    assert not alone[["flips", "partial_flips"]].any(axis=None)  # it hurts nowhere


def test_what_has_no_partial_correlation_is_nan(errors: pd.DataFrame) -> None:
    staged = staged_population(300, 2, 4)
    staged["architecture"] = errors.index
    staged["flops"] = np.nan  # known of none
    table = stage_drivers(errors[["big"]], staged, resamples=40).set_index("parameter")
    assert table["partial"].isna().all()
    assert np.isfinite(table["estimate"]).all()
    assert table.loc["d4", "n"] == staged["d4"].notna().sum() < table.loc["d1", "n"] == 300
    staged["flops"] = staged["d1"] * 2  # determines d1
    table = stage_drivers(errors[["big"]], staged, ["flops"], resamples=40).set_index("parameter")
    assert np.isnan(table.loc["d1", ["partial", "partial_low", "partial_p"]].astype(float)).all()
    assert np.isfinite(table.loc["d2", "partial"])


def test_bad_stage_driver_input_is_refused(
    errors: pd.DataFrame, architectures: pd.DataFrame
) -> None:
    with pytest.raises(UserError, match="no column macs"):
        stage_drivers(errors, architectures, ["macs"])
    with pytest.raises(UserError, match="legal: spearman, pearson"):
        stage_drivers(errors, architectures, method="kendall")
    with pytest.raises(UserError, match="infinite value in flops"):
        stage_drivers(errors, architectures.assign(flops=np.inf), ["flops"])


@pytest.mark.slow
def test_importance_finds_the_drivers(errors: pd.DataFrame, architectures: pd.DataFrame) -> None:
    chosen = errors[["big", "lines"]].assign(few=errors["big"].where(np.arange(300) < 12))
    table = importance(chosen, architectures, trees=30, repeats=2)
    best = table.groupby("dataset", sort=False).head(4).groupby("dataset")["parameter"].agg(set)
    assert best["big"] == {"w1", "w2", "w3", "w4"}
    assert best["lines"] == {"d1", "d2", "d3", "d4"}
    quality = table.groupby("dataset")[["r2", "r2_oob", "n"]].first()
    assert (quality.loc[["big", "lines"], ["r2", "r2_oob"]] > 0.1).all(axis=None)
    assert quality.loc["few", "n"] == 12
    assert table.loc[table["dataset"] == "few", ["importance", "r2"]].isna().all(axis=None)
    assert (table["low"].dropna() <= table["importance"].dropna()).all()
    again = importance(chosen[["big"]], architectures, trees=30, repeats=2)
    pd.testing.assert_frame_equal(again, table[table["dataset"] == "big"])


def test_the_last_digits_of_importance_are_the_same_each_time() -> None:
    coarse = population(60)  # equal ones share a leaf, whose mean is no whole number
    coarse.iloc[:, 1:] = 1
    coarse["d1"], coarse["d2"] = 1 + coarse.index % 3, 1 + coarse.index % 5
    errors = errors_of(coarse)[["one"]]
    found = {tuple(importance(errors, coarse, trees=30)["importance"]) for _ in range(4)}
    assert len(found) == 1


def test_importance_and_its_interval_are_those_of_a_plain_loop() -> None:
    """Each column is shuffled by itself; the interval is that of the corrected resampled t-test."""
    architectures = population(25, seed=3)
    errors = errors_of(architectures)[["one"]]
    found = importance(errors, architectures, trees=30, repeats=2, seed=4, level=0.9)
    x = architectures[STAGE_COLUMNS].to_numpy(float)
    y, draw = stats.rankdata(errors["one"]), np.random.default_rng(4)
    falls, left = [], np.empty(25)
    for train, test in KFold(5, shuffle=True, random_state=4).split(x):
        forest = RandomForestRegressor(30, max_features=1 / 3, random_state=4)
        forest.fit(x[train], y[train])
        left[test] = y[test] - forest.predict(x[test])
        falls.append([])
        for column in range(len(STAGE_COLUMNS)):
            lost = []
            for _ in range(2):
                shuffled = x[test].copy()
                shuffled[:, column] = draw.permutation(shuffled[:, column])
                lost.append(np.mean((y[test] - forest.predict(shuffled)) ** 2))
            falls[-1].append((np.mean(lost) - np.mean(left[test] ** 2)) / np.var(y))
    rows = found.set_index("parameter").loc[STAGE_COLUMNS]
    np.testing.assert_allclose(rows["importance"], np.mean(falls, axis=0), atol=1e-12)
    scale = np.std(falls, axis=0, ddof=1) * np.sqrt(1 / 5 + (1 / 5) / (4 / 5))
    ends = stats.t.interval(0.9, 4, np.mean(falls, axis=0), scale)
    np.testing.assert_allclose(rows[["low", "high"]].T, ends, atol=1e-12)
    np.testing.assert_allclose(rows["r2"], 1 - np.sum(left**2) / np.sum((y - y.mean()) ** 2))
    whole = RandomForestRegressor(30, max_features=1 / 3, random_state=4, oob_score=True).fit(x, y)
    np.testing.assert_allclose(rows["r2_oob"], whole.oob_score_)


def test_too_small_forests_are_refused(errors: pd.DataFrame, architectures: pd.DataFrame) -> None:
    with pytest.raises(UserError, match="trees: 5"):
        importance(errors, architectures, trees=5)


def errors_of(architectures: pd.DataFrame) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    values = generator.uniform(10, 60, (len(architectures), 2))
    return pd.DataFrame(values, pd.Index(architectures["architecture"]), columns=["one", "two"])


def plain_stages(row: pd.Series) -> list[int]:
    """The stages that an architecture has, read cell by cell."""
    return [stage for stage in range(1, 9) if pd.notna(row.get(f"d{stage}"))]


@pytest.mark.parametrize(("fewest", "most"), [(3, 3), (5, 5), (2, 6)])
def test_drivers_of_any_number_of_stages(fewest: int, most: int) -> None:
    architectures = staged_population(40, fewest, most)
    errors = errors_of(architectures).sample(frac=1, random_state=0)
    table = drivers(errors, architectures, resamples=60).set_index(["dataset", "parameter"])
    rows = architectures.set_index("architecture").loc[errors.index]
    depth = [sum(row[f"d{stage}"] for stage in plain_stages(row)) for _, row in rows.iterrows()]
    truth = stats.spearmanr(errors["two"], depth).statistic
    x, y = (stats.rankdata(values) - (len(depth) + 1) / 2 for values in (errors["two"], depth))
    # Of products, each with its own variance, as HC3 has it.
    scale = np.sqrt(sum((a * b / (1 - 1 / len(x))) ** 2 for a, b in zip(x, y, strict=True)))
    p = 2 * stats.norm.sf(abs(sum(x * y)) / scale)
    row = table.loc[("two", "cumulative depth")]
    np.testing.assert_allclose([row["estimate"], row["p"]], [truth, p])


def test_spread_that_hangs_on_depth_is_no_trend() -> None:
    """Errors vary most among the deepest and the shallowest: Student's t finds 12% too often."""
    draw, found = np.random.default_rng(0), []
    for _ in range(400):
        deep = draw.normal(size=60)
        values = np.column_stack([deep, (0.2 + deep**2) * draw.normal(size=60)])
        pairs = pairwise(values, [(0, 1)])
        rho = np.array([stats.spearmanr(*values.T).statistic])
        p = [
            no_trend(values, pairs, rho, "spearman", None),
            p_values(values, pairs, rho, "spearman"),
        ]
        found.append([it[0] <= 0.05 for it in p])
    even, student = np.mean(found, axis=0)
    assert even < 0.08 < student


def test_populations_that_do_not_fit_are_refused(
    errors: pd.DataFrame, architectures: pd.DataFrame
) -> None:
    with pytest.raises(UserError, match="no column w4"):
        drivers(errors, architectures.drop(columns="w4"))
    with pytest.raises(UserError, match="2 architectures of the errors are not in it"):
        drivers(errors, architectures.iloc[2:])
    with pytest.raises(UserError, match="architecture 0000000000000000 is there more than once"):
        drivers(errors, pd.concat([architectures, architectures.iloc[:1]]))


def test_weighted_partial_p_is_of_residuals_and_one_function(architectures: pd.DataFrame) -> None:
    """By statsmodels: residuals of weighted fits, whose products are tested against 0."""
    table, draw = architectures.head(60), np.random.default_rng(2)
    errors = pd.DataFrame({"set": draw.normal(size=60)}, index=table["architecture"])
    weights = pd.Series(np.exp(draw.normal(size=60)), index=errors.index)
    how = {"method": "pearson", "resamples": 60, "weights": weights}
    found = stage_drivers(errors, table, ["flops"], **how).set_index("parameter")
    plain = drivers(errors, table, **how).set_index("parameter")
    held = add_constant(table["flops"].to_numpy())
    fit = WLS(errors["set"].to_numpy(), held, weights.to_numpy()).fit()
    y, leverage = fit.resid, (fit.model.wexog.T * fit.model.pinv_wexog).sum(axis=0)
    for parameter in plain.index:
        assert found.loc[parameter, "p"] == plain.loc[parameter, "p"]
        sums = table[[f"{parameter.split()[1][0]}{stage}" for stage in range(1, 5)]].sum(axis=1)
        x = WLS(sums.to_numpy(), held, weights.to_numpy()).fit().resid
        products = weights.to_numpy() * x * y
        z = products.sum() / np.linalg.norm(products / (1 - leverage))
        assert found.loc[parameter, "partial_p"] == pytest.approx(2 * stats.norm.sf(abs(z)))

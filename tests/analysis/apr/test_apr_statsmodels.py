"""The same numbers from statsmodels, where it is installed (the extra `test`)."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from anynet_study import apr
from anynet_study.analysis.apr.gaps import difference_interval

OLS = pytest.importorskip("statsmodels.regression.linear_model").OLS

proportion = pytest.importorskip("statsmodels.stats.proportion")


def ties_and_gaps(seed: int, columns: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    common = generator.normal(size=(25, 1))
    values = np.round(70 + 4 * (common + generator.normal(size=(25, columns))))
    return pd.DataFrame(np.where(generator.random(values.shape) < 0.1, np.nan, values))


@pytest.mark.parametrize("seed", range(5))
def test_errors_of_uneven_scatter(seed: int) -> None:
    known = ties_and_gaps(seed, 2)
    fit = apr.linear_fit(known[0], known[1])
    x, y = known.dropna().to_numpy().T
    expected = OLS(y, np.column_stack([np.ones(len(x)), x])).fit(cov_type="HC3", use_t=True)
    ends = [[fit.intercept_low, fit.intercept_high], [fit.slope_low, fit.slope_high]]
    assert np.allclose(ends, expected.conf_int())
    at = np.array([60.0, 70.0, 85.0])
    line = expected.get_prediction(np.column_stack([np.ones(3), at])).conf_int()
    assert np.allclose(fit.region(at)[["low", "high"]], line)


def test_errors_of_a_mean_of_lines() -> None:
    """On the plain scale the mean of the lines is the line through the means."""
    known = ties_and_gaps(0, 4).dropna().rename(columns=str)
    table = apr.effective_robustness(known, "0", scale="linear")
    rows = pd.DataFrame(table.attrs["averages"])
    design = np.column_stack([np.ones(len(known)), known["0"]])
    fit = OLS(known[["1", "2", "3"]].mean(axis=1).to_numpy(), design)
    expected = fit.fit(cov_type="HC3", use_t=True).get_prediction(design)
    assert np.allclose(rows["expected"], expected.predicted_mean)
    ends = rows["accuracy"].to_numpy()[:, None] - expected.conf_int()[:, ::-1]
    assert np.allclose(rows[["effective_low", "effective_high"]], ends)


@pytest.mark.parametrize("average", ["scores", "logits", "ranks"])
def test_nested_models(average: str) -> None:
    known = ties_and_gaps(0, 4)
    table = apr.other_targets(known, 0, average=average, resamples=100)  # type: ignore[arg-type]
    units = known.dropna()
    units = {"scores": units, "logits": logit(units / 100), "ranks": units.rank()}[average]
    units = (units - units.mean()) / units.std()
    for row, target in zip(table.itertuples(), (1, 2, 3), strict=True):
        others = units[[name for name in (1, 2, 3) if name != target]].mean(axis=1)
        one = np.ones(len(units))
        full = OLS(units[target].to_numpy(), np.column_stack([one, units[0], others])).fit()
        for name, kept in (("average", units[0]), ("source", others)):
            small = OLS(units[target].to_numpy(), np.column_stack([one, kept])).fit()
            assert getattr(row, f"f_{name}") == pytest.approx(full.compare_f_test(small)[0])
        assert row.r2_both == pytest.approx(full.rsquared)


@pytest.mark.parametrize(("m", "n"), [(392, 134), (134, 12), (500, 200), (499, 1)])
def test_difference_of_two_test_sets(m: int, n: int) -> None:
    low, high = difference_interval(np.array([m / 5]), np.array([n / 2]), (500, 200), 0.95)
    expected = proportion.confint_proportions_2indep(m, 500, n, 200, method="newcomb")
    assert [low[0] / 100, high[0] / 100] == pytest.approx([*expected])

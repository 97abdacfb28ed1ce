"""The power of verdicts, against formulas, scipy's bootstrap, and studies judged one by one."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from synthetic_study import long_table

from anynet_study import apr
from anynet_study.analysis.analyses.proxies import gain
from anynet_study.analysis.apr import Plan, power, robust_power
from anynet_study.core.errors import UserError


def errors_of(draw: np.random.Generator, n: int, r: list[float], icc: float) -> pd.DataFrame:
    """Single runs on a dataset "hub" and on others whose true errors correlate with it by r."""
    hub = draw.normal(size=n)
    true = [hub, *(each * hub + np.sqrt(1 - each**2) * draw.normal(size=n) for each in r)]
    runs = [np.sqrt(icc) * t + np.sqrt(1 - icc) * draw.normal(size=n) for t in true]
    names = ["hub", *(f"d{number}" for number in range(len(r)))]
    return pd.DataFrame(dict(zip(names, runs, strict=True))) + 50


def of_ranks(rho: float) -> float:
    return float(2 * np.sin(np.pi * rho / 6))


def found(plan: Plan, rho: float, icc: float, studies: int = 80) -> pd.Series:
    return power(plan, [rho], [icc], studies=studies).iloc[0]


@pytest.mark.parametrize(("rho", "word"), [(0.7, "yes"), (0.0, "no")])
def test_of_a_hundred_it_is_near_the_formula_of_fisher(rho: float, word: str) -> None:
    """With noise, which replicates tell, and seven targets in one family."""
    n, icc, targets = 100, 0.8, 7
    seen, error = rho * icc, np.sqrt((1 + (rho * icc) ** 2 / 2) / (n - 3))
    reach = stats.norm.ppf(1 - 0.025 / targets)
    away = (
        np.arctanh(seen) - np.arctanh(0.3)
        if word == "yes"
        else np.arctanh(0.3 * icc) - np.arctanh(seen)
    )
    formula = stats.norm.cdf(away / error - reach)
    row = found(Plan(n, targets, replicates=n), rho, icc, studies=50)
    assert row[word] == pytest.approx(formula, abs=0.08)
    assert row["yes"] + row["no"] + row["undecided"] == pytest.approx(1)


def test_of_fourteen_it_is_that_of_scipys_bootstrap_and_not_of_the_formula() -> None:
    draw, said = np.random.default_rng(5), []
    for seed in range(150):
        x, y = errors_of(draw, 14, [of_ranks(0.9)], 1).to_numpy().T

        def spearman(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
            a, b = (stats.zscore(stats.rankdata(v, axis=axis), axis=axis) for v in (a, b))
            return (a * b).mean(axis=axis)

        interval = stats.bootstrap(
            (x, y), spearman, paired=True, n_resamples=500, vectorized=True, random_state=seed
        )
        said.append(interval.confidence_interval.low >= 0.3)
    row = found(Plan(14), 0.9, 1.0)
    error = np.sqrt(0.25 / 150 + row["se"] ** 2)
    assert row["yes"] == pytest.approx(np.mean(said), abs=3 * error)


@pytest.mark.slow
def test_studies_are_judged_as_real_ones_are() -> None:
    """With the verdicts of the tables that a study has, of errors that are drawn otherwise."""
    draw, icc, r = np.random.default_rng(1), 0.8, of_ranks(0.7)
    noise = pd.DataFrame({"dataset": ["hub", "d0", "d1", "d2"], "icc": icc, "icc_low": icc})
    carried, best = [], []
    for seed in range(60):
        table = errors_of(draw, 60, [r] * 3, of_ranks(icc))
        roles = apr.Roles("hub", {"hub": 0}, dict.fromkeys(["d0", "d1", "d2"], 0))
        matched = apr.match_family(table, roles, resamples=500, seed=seed, noise=noise)
        carried.append((matched["carries_over"] == "yes").mean())
        table = errors_of(draw, 200, [of_ranks(0.8), *[of_ranks(0.6)] * 3], of_ranks(0.9))
        roles = apr.Roles("d0", {f"d{number}": 10 for number in range(4)}, {"hub": 10})
        proxies = apr.best_proxies(table, roles, resamples=500, seed=seed).set_index("proxy")
        best.append(proxies.loc["d0", "best"] == "yes")
    row = found(Plan(60, 3, replicates=60), 0.7, icc)
    assert row["yes"] == pytest.approx(np.mean(carried), abs=3 * np.sqrt(0.1 / 60 + row["se"] ** 2))
    row = power(Plan(200, 1, 4), [0.8], [0.9], ahead=0.2, studies=100).iloc[1]
    assert (row["question"], row["rho"], row["others"]) == ("is the best", 0.8, 0.8 - 0.2)
    assert row["yes"] == pytest.approx(np.mean(best), abs=3 * np.sqrt(0.25 / 60 + row["se"] ** 2))
    assert 0.1 < row["yes"] < 0.95


@pytest.mark.slow
def test_gains_are_judged_as_those_of_real_studies() -> None:
    """By the sentence of the report; the source is the member's copy with noise of its own."""
    draw, said = np.random.default_rng(3), []
    roles = apr.Roles("d2", {"d2": 100, "hub": 10}, {"d0": 10, "d1": 10})
    for seed in range(80):
        r = [of_ranks(0.8)] * 2 + [of_ranks(0.65) / of_ranks(0.8)]
        table = errors_of(draw, 100, r, of_ranks(0.9))
        [claim] = gain(apr.match_family(table, roles, resamples=500, seed=seed), "d2")
        said.append(claim.answer == "yes")
    row = power(Plan(100, 2, 2), [0.8], [0.9], ahead=0.15, studies=100).iloc[2]
    assert (row["question"], row["others"]) == ("is raised", 0.8 - 0.15)
    assert row["yes"] == pytest.approx(np.mean(said), abs=3 * np.sqrt(0.25 / 80 + row["se"] ** 2))
    assert 0.2 < row["yes"] < 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("effect", "word"), [(10.0, "yes"), (-8.0, "no")])
def test_robustness_is_judged_as_that_of_models_tested_image_by_image(
    effect: float, word: str
) -> None:
    draw, said = np.random.default_rng(4), []
    for _ in range(60):
        own = stats.logistic.cdf(1 + 0.5 * draw.normal(size=20))
        own[7] = stats.logistic.cdf(1)
        odds = own / (1 - own) / np.e
        shifted = odds / (1 + odds) + 0.08 * draw.normal(size=20)
        shifted[7] = 0.5 + effect / 100
        right = [
            100 * (draw.random((20, 2_500)) < accuracy[:, None]).mean(axis=1)
            for accuracy in (own, shifted)
        ]
        table = pd.DataFrame(dict(zip(("own", "new"), right, strict=True)))
        images = {"own": 2_500, "new": 2_500}
        said.append(apr.effective_robustness(table, "own", images=images)["robust"][7] == word)
    row = robust_power(Plan(20), (2_500, 2_500), [effect], 8.0, studies=100).iloc[0]
    assert row[word] == pytest.approx(np.mean(said), abs=3 * np.sqrt(0.25 / 60 + row["se"] ** 2))
    assert 0.2 < row[word] < 0.95


@pytest.mark.slow
def test_orders_are_judged_as_those_of_real_replicates() -> None:
    """Of studies whose runs are drawn one by one; about every second order is told to hold."""
    draw, n, runs, said = np.random.default_rng(2), 100, 3, []
    for _ in range(60):
        table = errors_of(draw, n, [of_ranks(0.99)] * 2, 1)
        noise = np.sqrt(1 / of_ranks(0.95) - 1)
        drawn = (table + noise * draw.normal(size=table.shape) for _ in range(runs))
        intervals = apr.replicate_intervals(long_table(drawn), noise="pooled")
        kept = apr.rank_preservation(apr.tied_ranks(intervals), "hub")["preserved"]
        said.append((kept == "yes").mean())
    row = power(Plan(n, 2, runs=runs, replicates=2 * n), [0.99], [0.95], studies=100).iloc[-1]
    assert row["question"] == "order holds"
    assert row["yes"] == pytest.approx(np.mean(said), abs=3 * np.sqrt(0.25 / 60 + row["se"] ** 2))
    assert 0.2 < row["yes"] < 0.9


@pytest.mark.slow
def test_more_runs_and_a_higher_level() -> None:
    """Means of replicates find more; a higher level finds less."""
    few = 60
    usual = found(Plan(100, 2), 0.8, 0.6, few)["yes"]
    assert found(Plan(100, 2, runs=4), 0.8, 0.6, few)["yes"] > usual + 0.2
    assert found(Plan(100, 2, level=0.999), 0.8, 0.6, few)["yes"] < usual - 0.2
    # "No" is of the true correlation. Without replicates nothing bounds what noise takes of it.
    unknown, known = (found(Plan(60, 2, replicates=it), 0.0, 0.6, few)["no"] for it in (0, 60))
    assert unknown < 0.05
    assert known > unknown + 0.1
    assert power(Plan(30, 2), studies=5).equals(power(Plan(30, 2), studies=5))


def test_where_no_line_can_be_drawn_nothing_is_answered() -> None:
    assert robust_power(Plan(4, shifts=2), (1, 5), [5.0], studies=5)["undecided"].item() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rhos": [1.2]}, "rho: 1.2; legal: -1 to 1"),
        ({"iccs": [0]}, "icc: 0; legal: above 0, at most 1"),
        ({"studies": 1}, "studies: at least 2"),
    ],
)
def test_what_no_study_can_be(options: dict[str, object], message: str) -> None:
    for images, scatter in (((0, 9), 1.0), ((9, 9), -1.0)):
        with pytest.raises(UserError, match="images: at least 1; scatter: at least 0"):
            robust_power(Plan(20), images, [1.0], scatter)
    with pytest.raises(UserError, match=message):
        power(Plan(20), **options)  # type: ignore[arg-type]
    for plan, said in (
        ({"n": 3}, "4 are needed"),
        ({"n": 9, "replicates": -1}, "replicates: -1; legal: 0, 1"),
        ({"n": 9, "method": "kendall"}, "no power"),
    ):
        with pytest.raises(UserError, match=said):
            Plan(**plan)  # type: ignore[arg-type]

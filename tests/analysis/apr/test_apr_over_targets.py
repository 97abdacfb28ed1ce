"""Averages over targets, fixed and at random, against textbook formulas and simulations."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from synthetic_study import long_table

from anynet_study.analysis.apr import compare_proxies, random_average
from anynet_study.analysis.apr.bootstrap import Resampled
from anynet_study.core.errors import UserError

TARGETS = ["a", "b", "c", "d", "e"]


def statistics(values: np.ndarray, shared: float, single: float) -> Resampled:
    """Estimates with sampling errors of these variances: of a part in common, and of the rest."""
    draw = np.random.default_rng(0)
    common, own = draw.normal(size=(1, 40_000)), draw.normal(size=(len(values), 40_000))
    draws = values[:, None] + np.sqrt(shared) * common + np.sqrt(single) * own
    return Resampled(values, draws, np.zeros((len(values), 3)))


def test_without_sampling_error_targets_are_a_sample_of_students() -> None:
    values = np.array([0.2, 0.5, 0.4, 0.7, 0.3])
    found = random_average(statistics(values, 0, 0), 0.95)
    low, high = stats.t.interval(0.95, 4, values.mean(), stats.sem(values))
    assert (found["random_low"], found["random_high"]) == pytest.approx((low, high))
    spread = values.std(ddof=1)
    farther = stats.t.ppf(0.975, 4) * spread * np.sqrt(1 + 1 / 5)
    assert found["new_high"] - values.mean() == pytest.approx(farther, rel=1e-4)
    assert found["between_std"] == pytest.approx(spread)
    alike = random_average(statistics(np.full(5, 0.5), 0, 0), 0.95)
    assert alike["new_low"] == alike["random_high"] == pytest.approx(0.5)


def test_targets_that_differ_by_sampling_error_alone_have_nothing_between() -> None:
    values = 0.5 + 0.1 * np.array([-1, 1, -1, 1, 0.0])
    found = random_average(statistics(values, 0.02, 0.02), 0.95)
    assert found["between_std"] == 0
    half = (found["random_high"] - found["random_low"]) / 2
    # Of the mean, the shared part and a fifth of the rest; Student's t makes it a little wider.
    assert np.sqrt(0.02 + 0.004) * 1.96 < half < np.sqrt(0.02 + 0.004) * 2.8


def test_one_target_says_nothing_of_others() -> None:
    assert np.isnan(
        list(random_average(statistics(np.array([0.5]), 0.1, 0.1), 0.95).values())
    ).all()


def study(n: int, seed: int, noise: float = 0.0, spread: float = 0.15) -> pd.DataFrame:
    """Two proxies and targets; proxies alike but for noise, targets unlike each other."""
    draw = np.random.default_rng(seed)
    quality = draw.normal(size=n)
    table = {name: quality + 0.7 * draw.normal(size=n) for name in ("p", "q")}
    for name in TARGETS:
        rho = np.clip(0.5 + spread * draw.normal(), -0.95, 0.95)
        table[name] = rho * quality + np.sqrt(1 - rho**2) * draw.normal(size=n)
    frame = pd.DataFrame(table).rename_axis("architecture") * 3 + 40
    return frame.assign(q=frame["q"] + noise * draw.normal(size=n))


def test_averages_are_those_of_scipy() -> None:
    errors = study(80, 0)
    table = compare_proxies(errors, ["p", "q"], TARGETS, resamples=200)
    for row in table[table["minus"] == ""].itertuples():
        rho = [stats.spearmanr(errors[row.proxy], errors[name]).statistic for name in TARGETS]
        assert row.estimate == pytest.approx(np.mean(rho))
        omitted = TARGETS.index(row.without)
        assert row.estimate_without == pytest.approx(np.mean(np.delete(rho, omitted)))
        assert row.random_low < row.low < row.high < row.random_high
        assert row.new_low < row.random_low
    difference = table[table["minus"] == "p"].iloc[0]
    assert difference["estimate"] == pytest.approx(table["estimate"][1] - table["estimate"][0])


def test_a_proxy_does_not_lose_for_being_noisy() -> None:
    """q is as good as p, but trained with noise: as measured it is worse, freed it is not."""
    draw = np.random.default_rng(5)
    truth = study(600, 1)
    truth["q"] = truth["p"]
    runs = []
    for _ in range(2):
        run = truth + 0.3 * draw.normal(size=truth.shape)
        run["q"] += 3 * draw.normal(size=len(truth))
        runs.append(run)
    how = (["p", "q"], TARGETS)
    raw = compare_proxies(runs[0], *how, resamples=400).iloc[-1]
    freed = compare_proxies(runs[0], *how, long_table(runs), resamples=400).iloc[-1]
    assert raw["high"] < -0.05
    assert freed["low"] < 0 < freed["high"]
    assert abs(freed["estimate"]) < 0.05


@pytest.mark.parametrize(("targets", "error"), [(3, 0.075), (15, 0.17)])
def test_a_new_target_is_held_as_often_as_is_said(targets: int, error: float) -> None:
    """Whether sampling error is half of what is between targets, or larger.

    With the estimated variance between targets 15 would hold it in 87%, and with that of the
    estimates 3 in 99%.
    """
    draw, held = np.random.default_rng(0), []
    for _ in range(300):
        true = 0.5 + 0.15 * draw.normal(size=targets + 1)
        errors = error * draw.normal(size=(101, targets))
        found = random_average(
            Resampled(true[1:] + errors[0], true[1:, None] + errors[1:].T, errors[1:2].T), 0.95
        )
        held.append(found["new_low"] <= true[0] <= found["new_high"])
    assert 0.92 <= np.mean(held) <= 0.975


def test_what_cannot_be_compared_is_refused() -> None:
    errors = study(20, 0)
    with pytest.raises(UserError, match="each name once"):
        compare_proxies(errors, ["p"], ["p", "a"])
    with pytest.raises(UserError, match="no column"):
        compare_proxies(errors, ["p"], ["x"])
    with pytest.raises(UserError, match="nothing on p was trained twice"):
        compare_proxies(errors, ["p"], ["a"], long_table([errors]), resamples=100)

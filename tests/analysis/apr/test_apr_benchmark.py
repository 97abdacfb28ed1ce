"""Means over several targets as a benchmark: by hand, and how often their intervals hold."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp
from statsmodels.stats.proportion import proportion_confint

from anynet_study import apr
from anynet_study.core.errors import DoesNotApplyError

IMAGES = {"a": 400, "b": 100, "c": 1000}
ERRORS = pd.DataFrame(
    {"a": [10.0, 12, 40, 60, 5], "b": [30.0, 28, 50, 80, np.nan], "c": [20.0, 20, 20, 70, 6]},
    index=[*"pqrst"],
)


def test_means_leads_and_ranks_are_those_by_hand() -> None:
    table = apr.benchmark(ERRORS, [*IMAGES], IMAGES).set_index("architecture")
    known = 100 - ERRORS.dropna()
    assert table.attrs["left_out"] == 1
    assert table["mean"].to_dict() == pytest.approx(known.mean(axis=1).to_dict())
    assert table["rank"].to_dict() == {"p": 1, "q": 1, "r": 3, "s": 4}
    leads = known - known.mean()
    for name, row in table.iterrows():
        ends = ttest_1samp(leads.loc[name], 0).confidence_interval(0.95)
        assert (row["lead_low"], row["lead_high"]) == pytest.approx(tuple(ends))
    # Wilson's intervals, whose distances from the estimates are added in squares (MOVER).
    wilson = {
        name: proportion_confint(count * known.loc["r", name] / 100, count, method="wilson")
        for name, count in IMAGES.items()
    }
    below = sum((known.loc["r", name] - 100 * low) ** 2 for name, (low, _) in wilson.items())
    above = sum((100 * high - known.loc["r", name]) ** 2 for name, (_, high) in wilson.items())
    mean = known.loc["r"].mean()
    ends = mean - np.sqrt(below) / 3, mean + np.sqrt(above) / 3
    assert (table.loc["r", "low"], table.loc["r", "high"]) == pytest.approx(ends)
    # p and q are as good as each other, r is worse, and s clearly the worst.
    assert table[["rank_best", "rank_worst"]].to_numpy().tolist() == [
        [1, 2],
        [1, 2],
        [3, 3],
        [4, 4],
    ]


def test_without_numbers_of_images_all_ranks_are_open() -> None:
    table = apr.benchmark(ERRORS, [*IMAGES], {"a": 400})
    assert table[["low", "high"]].isna().all(axis=None)
    assert set(table["rank_best"]) == {1}
    assert set(table["rank_worst"]) == {4}
    with pytest.raises(DoesNotApplyError, match="of 1 dataset; at least 2 of each"):
        apr.benchmark(ERRORS, ["a"])


@pytest.mark.slow
def test_intervals_hold_what_is_true() -> None:
    """Of the mean on these targets, of the lead on targets like them, and of all ranks at once."""
    draw, held = np.random.default_rng(0), {"mean": [], "lead": [], "ranks": []}
    skill = np.array([8.0, 6, 5, 0, -4, -15])
    for _ in range(300):
        own = 75 + draw.normal(0, 8, size=6) + skill[:, None] + draw.normal(0, 3, size=(6, 6))
        true = np.clip(own, 2, 98)
        seen = draw.binomial(200, true / 100) / 2
        names = [f"t{number}" for number in range(6)]
        table = apr.benchmark(
            pd.DataFrame(100 - seen, columns=names), names, dict.fromkeys(names, 200)
        )
        table = table.sort_values("architecture")
        mean = true.mean(axis=1)
        held["mean"].append(((table["low"] <= mean) & (mean <= table["high"])).mean())
        lead = skill - skill.mean()
        held["lead"].append(((table["lead_low"] <= lead) & (lead <= table["lead_high"])).mean())
        rank = pd.Series(-mean).rank().to_numpy()
        held["ranks"].append(((table["rank_best"] <= rank) & (rank <= table["rank_worst"])).all())
    shares = {name: float(np.mean(of)) for name, of in held.items()}
    assert 0.93 < shares["mean"] < 0.97
    assert 0.93 < shares["lead"] < 0.97
    assert shares["ranks"] >= 0.95

"""Rankings up to ties within intervals over replicates."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from anynet_study import apr
from anynet_study.analysis.apr.rank_preservation import share_of_pairs


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


@pytest.mark.parametrize("noise", ["pooled", "modelled", "own"])
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
        if noise != "own":  # too few for a model
            residuals = np.concatenate([each - each.mean() for _, each in runs])
            freedom = len(residuals) - 6
            scale = np.sqrt((residuals**2).sum() / freedom / len(errors))
        expected = stats.t.interval(0.95, freedom, errors.mean(), scale)
        assert rows.loc[name, ["low", "high"]].tolist() == pytest.approx([*expected])
    assert set(rows["replicates"]) == {1, 3}


def test_ranks_are_tied_where_intervals_overlap() -> None:
    bounds = {"m0": (10, 9, 11), "m1": (10.5, 10, 12), "m2": (13, 12, 13.5), "m3": (13, 11.5, 14)}
    rows = [("d", name, *values) for name, values in bounds.items()]
    table = pd.DataFrame(rows, columns=["dataset", "architecture", "error", "low", "high"])
    ranks = apr.tied_ranks(table).set_index("architecture")
    assert ranks["rank"].to_dict() == {"m0": 1, "m1": 2, "m2": 3, "m3": 3}
    assert ranks["rank_best"].to_dict() == {"m0": 1, "m1": 1, "m2": 2, "m3": 2}
    assert ranks["rank_worst"].to_dict() == {"m0": 2, "m1": 4, "m2": 4, "m3": 4}


def test_a_ranking_is_preserved_up_to_ties() -> None:
    table = apr.rank_preservation(apr.replicate_intervals(replicates()), "a").set_index("dataset")
    assert table.loc["b", ["pairs", "same", "tied", "swapped"]].tolist()[0::3] == [15, 0]
    assert table.loc["c", "swapped"] == 5
    assert (table[["same", "tied", "swapped"]].sum(axis=1) == 15).all()
    noisy = apr.rank_preservation(apr.replicate_intervals(replicates(4.0)), "a")
    assert not noisy["identical"].all()
    exact = apr.replicate_intervals(replicates(0.0, runs=1))
    clear = apr.rank_preservation(exact, "a").set_index("dataset")
    assert clear.loc["b", ["same", "tau"]].tolist() == pytest.approx([15, 1.0])


def rising(shuffled: int, sd: float, n: int = 200, seed: int = 0) -> pd.DataFrame:
    """n architectures on A; on B in the same order, but for so many of them."""
    draw = np.random.default_rng(seed)
    quality = np.sort(draw.normal(size=n))
    other = quality.copy()
    other[:shuffled] = draw.permutation(other[:shuffled])
    spread = sd * np.exp(0.6 * quality)[:, None]  # the noise grows with the error
    rows = []
    for dataset, values in (("A", 30 + 3 * quality), ("B", 10 + 2 * other)):
        errors = values[:, None] + spread * draw.normal(size=(n, 3))
        rows += [(f"m{i}", dataset, j, errors[i, j]) for i in range(n) for j in range(3)]
    return pd.DataFrame(rows, columns=["architecture", "dataset", "replicate", "error"])


@pytest.mark.parametrize(
    ("shuffled", "sd", "said"), [(0, 0.2, "yes"), (200, 0.2, "no"), (0, 4.0, "undecided")]
)
def test_an_order_is_preserved_by_a_share_of_the_pairs(shuffled: int, sd: float, said: str) -> None:
    intervals = apr.replicate_intervals(rising(shuffled, sd))
    assert apr.rank_preservation(intervals, "A")["preserved"].item() == said


def test_a_few_pairs_that_noise_turns_round_are_no_reversal() -> None:
    """Pooled noise makes the intervals of those that err most too short, unlike a modelled one."""
    swapped = dict.fromkeys(("pooled", "modelled"), 0)
    for seed in range(10):
        runs = rising(0, 0.8, 100, seed)
        for noise in swapped:
            found = apr.rank_preservation(apr.replicate_intervals(runs, noise=noise), "A").iloc[0]
            assert found["preserved"] != "no"
            swapped[noise] += found["swapped"]
    assert swapped["modelled"] <= swapped["pooled"] / 2
    assert swapped["pooled"] > 0


def test_shares_of_pairs_cover() -> None:
    """Of the pairs of normal errors that two datasets order alike, at their widest."""
    truth, held = 0.5 + np.arcsin(0.6) / np.pi, []
    for seed in range(200):
        draw = np.random.default_rng(seed)
        x = draw.normal(size=40)
        y = 0.6 * x + 0.8 * draw.normal(size=40)
        share = (1 + stats.kendalltau(x, y).statistic) / 2
        low, high = share_of_pairs(share, 40, 0.95)
        held.append(low <= truth <= high)
    assert np.mean(held) >= 0.95


def test_ranks_under_each_transform_leave_open_what_sampling_errors_do() -> None:
    """Of 200 images 30% and 33% wrong cannot be told apart, 60% can."""
    errors = pd.DataFrame(
        {"as it is": [30.0, 33.0, 60.0], "blur": [40.0, np.nan, 41.0]}, list("abc")
    )
    table = apr.sampling_intervals(errors, {"as it is": 200})
    assert len(table) == 5
    for row in table[table["dataset"] == "as it is"].itertuples():
        wrong = round(2 * row.error)
        exact = stats.binomtest(wrong, 200).proportion_ci(method="exact")
        assert (row.low, row.high) == pytest.approx((100 * exact.low, 100 * exact.high))
    ranks = apr.tied_ranks(table).set_index(["dataset", "architecture"])
    assert ranks.loc[("as it is", "b"), ["rank", "rank_best", "rank_worst"]].tolist() == [2, 1, 2]
    assert ranks.loc[("as it is", "c"), ["rank", "rank_best", "rank_worst"]].tolist() == [3, 3, 3]
    # Where the number of images is not known, nothing is left open.
    assert ranks.loc[("blur", "c"), ["rank", "rank_best", "rank_worst"]].tolist() == [2, 2, 2]

"""Training noise: variance components, the noise ceiling, and correlations freed from it."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats
from synthetic_study import long_table, noisy, population, true_errors

from anynet_study.analysis.apr import corrected_correlations, correlations, noise_ceiling
from anynet_study.analysis.apr.noise import free_of_noise
from anynet_study.core.errors import UserError


def simulate(
    generator: np.random.Generator, sizes: list[int], between: float, within: float
) -> pd.DataFrame:
    """Long table of architectures with so many runs each."""
    effects = generator.normal(40, between, size=len(sizes))
    rows = [
        (f"net-{index}", "set", replicate, effects[index] + generator.normal(0, within))
        for index, size in enumerate(sizes)
        for replicate in range(size)
    ]
    return pd.DataFrame(rows, columns=["architecture", "dataset", "replicate", "error"])


def test_balanced_estimates_equal_the_textbook() -> None:
    long = simulate(np.random.default_rng(0), [4] * 12, 3.0, 1.0)
    row = noise_ceiling(long, "pearson").iloc[0]
    groups = [part["error"].to_numpy() for _, part in long.groupby("architecture")]
    f = stats.f_oneway(*groups).statistic
    within = np.mean([np.var(group, ddof=1) for group in groups])
    assert (row["architectures"], row["replicates"]) == (12, 48)
    np.testing.assert_allclose(row["within_std"], np.sqrt(within))
    np.testing.assert_allclose(row["icc"], (f - 1) / (f + 3))
    np.testing.assert_allclose(row["between_std"], np.sqrt((f - 1) * within / 4))
    assert row["icc_low"] < row["icc"] < row["icc_high"] <= 1
    np.testing.assert_allclose(row["ceiling"], np.sqrt(row["icc"]))


def drawn(kind: str, n: int, icc: float, seed: int) -> pd.DataFrame:
    """Two runs of each of n architectures, whose effects are normal, skewed, or of guesses."""
    draw = np.random.default_rng(seed)
    effects = draw.normal(size=n)
    if kind == "skewed":
        effects = np.exp(effects) / np.sqrt((np.e - 1) * np.e)
    runs = np.sqrt(icc) * effects[:, None] + np.sqrt(1 - icc) * draw.normal(size=(n, 2))
    if kind == "guesses":
        runs[draw.random((n, 2)) < 0.02] = 8.0
    return pd.DataFrame(40 + runs)


def as_long(runs: pd.DataFrame, repeated: int, dataset: str = "set") -> pd.DataFrame:
    """A long table, in which the first so many architectures were trained twice."""
    long = runs.rename_axis("architecture").reset_index().melt("architecture", None, "replicate")
    long = long.rename(columns={"value": "error"}).assign(dataset=dataset)
    return long[(long["replicate"] == 0) | (long["architecture"] < repeated)]


@pytest.mark.parametrize("kind", ["normal", "skewed", "guesses"])
def test_the_reliability_of_ranks_is_what_two_runs_correlate_by(kind: str) -> None:
    runs = drawn(kind, 4000, 0.8, 0)
    row = noise_ceiling(as_long(runs, 4000)).iloc[0]
    assert row["icc"] == pytest.approx(stats.spearmanr(runs[0], runs[1]).statistic, abs=0.01)


def test_intervals_of_reliabilities_cover_where_few_were_trained_twice() -> None:
    """Of 4 in 100: bootstrap intervals held the truth in 83%."""
    many = drawn("normal", 400_000, 0.7, 99)
    truth, held = stats.spearmanr(many[0], many[1]).statistic, []
    for seed in range(60):
        row = noise_ceiling(as_long(drawn("normal", 100, 0.7, seed), 4)).iloc[0]
        held.append(row["icc_low"] <= truth <= row["icc_high"])
    assert sum(held) >= 58


def test_outliers_widen_intervals_as_leaving_each_architecture_out_tells() -> None:
    long = as_long(drawn("guesses", 40, 0.7, 1), 40)
    row = noise_ceiling(long, "pearson").iloc[0]
    without = [
        noise_ceiling(long[long["architecture"] != left_out], "pearson")["icc"].item()
        for left_out in range(40)
    ]
    error = np.std(without) * np.sqrt(39) / (1 - row["icc"] ** 2)
    assert error > 1.5 / np.sqrt(40 - 1.5)
    ends = np.arctanh(row["icc"]) + stats.t.ppf(0.975, 39) * error * np.array([-1, 1])
    assert list(row[["icc_low", "icc_high"]]) == pytest.approx(np.tanh(ends))


def test_the_interval_of_normal_errors_is_that_of_fisher_at_least() -> None:
    """With many pairs, the jackknife says the same."""
    long = simulate(np.random.default_rng(3), [2] * 4000, 2.0, 1.0)
    row = noise_ceiling(long, "pearson").iloc[0]
    reach = stats.norm.ppf(0.975) / np.sqrt(4000 - 1.5)
    ends = np.tanh(np.arctanh(row["icc"]) + reach * np.array([-1, 1]))
    assert list(row[["icc_low", "icc_high"]]) == pytest.approx(ends, abs=0.002)
    few = noise_ceiling(simulate(np.random.default_rng(3), [2] * 4 + [1] * 200, 2.0, 1.0)).iloc[0]
    reach = stats.t.ppf(0.975, 3) / np.sqrt(4 - 1.5)
    assert np.arctanh(few["icc"]) - np.arctanh(few["icc_low"]) >= reach - 1e-9


def test_skewed_errors_that_rank_alike_correlate_perfectly_without_noise() -> None:
    """The same mean errors on both datasets; of percent errors the correction gives 0.6 to 0.85."""
    found = []
    for seed in range(6):
        draw = np.random.default_rng(seed)
        effects = np.exp(draw.normal(size=(400, 1))) / np.sqrt((np.e - 1) * np.e) * 2
        a, b = (pd.DataFrame(40 + effects + draw.normal(size=(400, 2))) for _ in range(2))
        long = pd.concat([as_long(a, 400, "a"), as_long(b, 400, "b")])
        row = corrected_correlations(long, resamples=400).iloc[0]
        found.append((row["corrected"], row["corrected_low"] <= 1 <= row["corrected_high"]))
    estimates, held = zip(*found, strict=True)
    assert np.mean(estimates) == pytest.approx(1, abs=0.08)
    assert sum(held) >= 5


def test_kendalls_tau_is_not_corrected() -> None:
    with pytest.raises(UserError, match="kendall is not corrected for noise"):
        corrected_correlations(as_long(drawn("normal", 20, 0.8, 0), 20), "kendall")


def test_p_is_that_of_the_f_test_of_ranks() -> None:
    long = simulate(np.random.default_rng(4), [3, 2, 4, 2, 2], 1.0, 1.0)
    ranked = long.assign(error=stats.rankdata(long["error"]))
    groups = [part["error"] for _, part in ranked.groupby("architecture")]
    assert noise_ceiling(long)["p"][0] == pytest.approx(stats.f_oneway(*groups).pvalue)


def test_more_runs_of_each_narrow_the_interval() -> None:
    """Five architectures that were trained ten times tell the noise as 45 pairs do."""
    often = simulate(np.random.default_rng(5), [10] * 5 + [1] * 95, 2.0, 1.0)
    row = noise_ceiling(often).iloc[0]
    assert row["icc_low"] > 0.3


def test_noise_alone_has_a_ceiling_near_zero() -> None:
    rows = [noise_ceiling(simulate(np.random.default_rng(s), [2] * 50, 0.0, 1.0)) for s in range(9)]
    table = pd.concat(rows)
    assert (table["icc"] < 0.3).all()
    assert (table.loc[table["icc"] <= 0, ["ceiling", "between_std"]] == 0).all(axis=None)
    assert (table["icc_low"] < 0).any()


def test_runs_without_noise_have_a_ceiling_of_one() -> None:
    few, many = (
        noise_ceiling(simulate(np.random.default_rng(0), [3] * n, 2.0, 0.0)).iloc[0]
        for n in (5, 50)
    )
    assert list(few[["icc", "icc_high", "ceiling"]]) == [1, 1, 1]
    assert few["icc_low"] < 0.8 < 0.999 < many["icc_low"] < 1  # five of them prove little


def test_errors_that_never_differ_are_documented_nan() -> None:
    long = simulate(np.random.default_rng(0), [3] * 5, 2.0, 0.0)
    row = noise_ceiling(long.assign(error=10.0)).iloc[0]
    assert row[["icc", "icc_low", "icc_high", "ceiling"]].isna().all()


def test_datasets_without_replicates_have_no_row() -> None:
    long = simulate(np.random.default_rng(0), [1] * 6, 2.0, 1.0)
    assert noise_ceiling(long).empty
    lonely = simulate(np.random.default_rng(0), [5], 2.0, 1.0)
    assert noise_ceiling(lonely).empty


def test_failed_runs_are_left_out() -> None:
    long = simulate(np.random.default_rng(0), [2] * 6, 2.0, 1.0)
    long.loc[0, "error"] = np.nan
    row = noise_ceiling(long).iloc[0]
    assert (row["architectures"], row["replicates"]) == (6, 11)


def test_bad_replicate_tables_are_refused() -> None:
    long = simulate(np.random.default_rng(0), [2] * 6, 2.0, 1.0)
    with pytest.raises(UserError, match="no column error"):
        noise_ceiling(long.drop(columns="error"))
    with pytest.raises(UserError, match="replicate set, net-0, 0 is there more than once"):
        noise_ceiling(pd.concat([long, long.iloc[:1]]))
    with pytest.raises(UserError, match="infinite error"):
        noise_ceiling(long.replace({"error": {long["error"].iloc[0]: np.inf}}))


def runs(truth: pd.DataFrame, sizes: list[int]) -> pd.DataFrame:
    """Replicates of the first so many architectures each, as a long table."""
    return long_table(noisy(truth, seed).iloc[:size] for seed, size in enumerate(sizes))


def test_the_parts_are_those_of_the_other_functions() -> None:
    truth = true_errors(population(60))[["big", "pets", "lines"]]
    long = runs(truth, [60, 20, 7])
    long.loc[::17, "error"] = np.nan
    table = corrected_correlations(long.sample(frac=1, random_state=0), resamples=200)
    noise = noise_ceiling(long).set_index("dataset")["icc"]
    first = long.dropna().sort_values("replicate").groupby(["architecture", "dataset"])["error"]
    single = correlations(first.first().unstack(), resamples=200)
    single = single.set_index(["source", "target"])
    assert len(table) == 3
    for row in table.itertuples():
        assert row.icc_source == pytest.approx(noise[row.source])
        assert row.icc_target == pytest.approx(noise[row.target])
        ours = single["estimate"].get((row.source, row.target))
        ours = single.loc[(row.target, row.source), "estimate"] if ours is None else ours
        assert row.estimate == pytest.approx(ours)
        assert row.corrected == pytest.approx(ours / np.sqrt(row.icc_source * row.icc_target))
        assert row.corrected_low < row.corrected < row.corrected_high


def test_what_cannot_be_corrected_is_left_out_or_nan() -> None:
    truth = true_errors(population(12))[["big", "pets"]]
    assert corrected_correlations(runs(truth, [12])).empty
    once = runs(truth, [12, 1])  # one architecture twice: without it there is no noise to be seen
    table = corrected_correlations(once, resamples=100)
    assert table["replicated"].tolist() == [1]
    # Noise only draws towards 0.
    assert list(table["corrected_low"]) == list(table["low"])
    assert (table["low"] > 0).all()
    assert list(table["corrected_high"]) == [1]
    turned = once.assign(error=once["error"].where(once["dataset"] == "big", -once["error"]))
    row = corrected_correlations(turned, resamples=100).iloc[0]
    assert (row["corrected_low"], row["corrected_high"]) == (-1, row["high"])
    assert table[["estimate", "low", "high"]].notna().all(axis=None)
    with pytest.raises(UserError, match="no column error"):
        corrected_correlations(once.drop(columns="error"))


def test_intervals_stay_within_what_a_correlation_can_be() -> None:
    """Those of six architectures, three of them twice, are widened beyond it."""
    for seed in range(5):
        runs = simulate(np.random.default_rng(seed), [2, 2, 2, 1, 1, 1], 0.0, 1.0)
        row = noise_ceiling(runs).iloc[0]
        assert -1 <= row["icc_low"] <= row["icc"] <= row["icc_high"] <= 1


def test_the_far_end_without_noise_is_where_an_interval_of_a_difference_ends_at_0() -> None:
    """MOVER-R by its definition, of correlation - ratio * ceiling."""
    estimate, end, icc, least = 0.5, 0.6, np.array([0.9, 0.8]), np.array([0.85, 0.7])
    ceiling = np.sqrt(icc.prod())
    lowest = ceiling * np.exp(-np.hypot(*(np.log(icc / least) / 2)))

    def difference(ratio: float) -> float:
        return estimate - ratio * ceiling + np.hypot(end - estimate, ratio * (ceiling - lowest))

    expected = optimize.brentq(difference, estimate / ceiling, 1.5)
    assert expected < 1
    for sign in (1, -1):
        ends = sorted([sign * 0.3, sign * end])
        lower, upper = (np.array([one]) for one in ends)
        found = free_of_noise(np.array([sign * estimate]), (lower, upper), icc[None], least[None])
        near, far = sorted(float(one[0]) * sign for one in found)
        assert (near, far) == pytest.approx((0.3, expected))

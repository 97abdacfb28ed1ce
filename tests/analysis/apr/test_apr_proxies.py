"""Matching and proxies: Table 3's rules, paired intervals, costs, class count against size."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from synthetic_study import ROLES as STUDY
from synthetic_study import noisy, population, true_correlation, true_errors

from anynet_study.analysis.analyses.proxies import gain
from anynet_study.analysis.apr import (
    Roles,
    best_proxies,
    class_or_size,
    match_family,
    proxy_costs,
)
from anynet_study.analysis.apr.interval_formulas import small_sample_interval
from anynet_study.analysis.apr.proxies import _on_front
from anynet_study.core.errors import UserError

ROLES = Roles("big", {"big": 1000, "ten": 10, "two": 2}, {"pets": 9, "lines": 2, "bugs": 291})


@pytest.fixture
def errors() -> pd.DataFrame:
    """40 architectures: `pets` follows ten, `lines` opposes big, `bugs` follows big."""
    generator = np.random.default_rng(0)
    big, ten, two = generator.normal(size=(3, 40))
    noise = generator.normal(size=(3, 40)) * 0.3
    columns = {"big": big, "ten": ten, "two": two}
    columns |= {"pets": ten + noise[0], "lines": two - big + noise[1], "bugs": big + noise[2]}
    return pd.DataFrame(columns, index=[f"net-{i:02}" for i in range(40)]) * 5 + 50


def test_members_are_the_closest_in_class_count(errors: pd.DataFrame) -> None:
    table = match_family(errors, ROLES, resamples=40)
    assert list(table["target"]) == ["pets", "lines", "bugs"]
    assert list(table["member"]) == ["ten", "two", "ten"]
    assert list(table["member_classes"]) == [10, 2, 10]
    assert all(table[name].dtype.kind == "i" for name in ("classes", "member_classes"))


def test_of_two_equally_near_members_the_smaller_is_taken() -> None:
    assert ROLES.closest_member(6) == "two"
    assert ROLES.closest_member(505) == "ten"
    assert ROLES.closest_member(506) == "big"


def test_correlations_and_differences_are_those_of_scipy(errors: pd.DataFrame) -> None:
    table = match_family(errors, ROLES, resamples=40).set_index("target")
    for target in ROLES.targets:
        row = table.loc[target]
        source = stats.spearmanr(errors["big"], errors[target]).statistic
        member = stats.spearmanr(errors[row["member"]], errors[target]).statistic
        np.testing.assert_allclose([row["rho_source"], row["rho_member"]], [source, member])
        np.testing.assert_allclose(row["difference"], member - source)
    for column in ("rho_source", "rho_member", "difference"):
        np.testing.assert_allclose(table.attrs["averages"][0][column], table[column].mean())


def test_differences_are_paired(errors: pd.DataFrame) -> None:
    """Two proxies that are nearly one have a difference far surer than either correlation."""
    errors["ten"] = errors["big"] + np.random.default_rng(1).normal(size=40) * 0.01
    row = match_family(errors, ROLES, resamples=1000).set_index("target").loc["pets"]
    assert row["difference_high"] - row["difference_low"] < 0.05
    assert row["rho_source_high"] - row["rho_source_low"] > 0.3


def test_differences_of_six_architectures_are_by_formula() -> None:
    """Resamples of six would say that proxies which order them alike surely are."""
    big, ten, pets = [1, 2, 3, 4, 5, 6], [1.1, 2.3, 2.9, 4.2, 5.5, 6.1], [2, 1, 4, 3, 6, 5]
    roles = Roles("big", {"big": 100, "ten": 10}, {"pets": 10})
    same = pd.DataFrame({"big": big, "ten": ten, "pets": pets}).astype(float)
    table = match_family(same, roles, resamples=40)
    row = table.iloc[0]
    assert row["difference"] == 0
    assert row["difference_low"] < -0.5 < 0.5 < row["difference_high"]
    assert [claim.answer for claim in gain(table, "big")] == ["undecided"]
    draw, held = np.random.default_rng(0), []
    for source, member, between in [(0.5, 0.52, 0.8), (0.6, 0.65, 0.9), (0.4, 0.7, 0.6)] * 10:
        covariance = [[1, between, source], [between, 1, member], [source, member, 1]]
        drawn = pd.DataFrame(draw.multivariate_normal([50] * 3, covariance, 6), columns=list(same))
        found = match_family(drawn, roles, resamples=40).iloc[0]
        truth = 6 / np.pi * (np.arcsin(member / 2) - np.arcsin(source / 2))
        held.append(found["difference_low"] <= truth <= found["difference_high"])
    assert np.mean(held) >= 0.93  # resamples of six: 69% to 87%


def test_compared_correlations_rest_on_the_same_architectures(errors: pd.DataFrame) -> None:
    errors.iloc[:5, errors.columns.get_loc("ten")] = np.nan
    row = match_family(errors, ROLES, resamples=40).iloc[0]
    assert row["n"] == 35
    truth = stats.spearmanr(errors["big"][5:], errors["pets"][5:]).statistic
    np.testing.assert_allclose(row["rho_source"], truth)


def test_the_average_leaves_out_targets_without_a_correlation(errors: pd.DataFrame) -> None:
    errors["pets"] = 12.0
    table = match_family(errors, ROLES, resamples=100).set_index("target")
    assert np.isnan(table.loc["pets", "rho_source"])
    [average] = table.attrs["averages"]
    np.testing.assert_allclose(average["rho_source"], table["rho_source"].iloc[1:].mean())
    assert np.isfinite([average["difference_low"], average["difference_high"]]).all()


def test_best_proxies_are_found(errors: pd.DataFrame) -> None:
    table = best_proxies(errors, ROLES, resamples=1000)
    best = table.groupby("target", sort=False).first()
    assert best["proxy"].to_dict() == {"pets": "ten", "lines": "two", "bugs": "big"}
    assert best["best"].to_dict() == {"pets": "yes", "lines": "undecided", "bugs": "yes"}
    assert table.attrs["family"] == "3 targets and 3 proxies"
    estimates = table.groupby("target")["estimate"]
    assert estimates.apply(lambda column: column.is_monotonic_decreasing).all()


def test_equal_proxies_can_both_be_the_best(errors: pd.DataFrame) -> None:
    errors["ten"] = errors["big"]
    table = best_proxies(errors, ROLES, resamples=500)
    bugs = table[table["target"] == "bugs"].set_index("proxy")["best"]
    assert bugs.to_dict() == {"big": "undecided", "ten": "undecided", "two": "no"}


def test_intervals_of_proxies_hold_together(errors: pd.DataFrame) -> None:
    table = best_proxies(errors, ROLES, resamples=500).set_index(["target", "proxy"])
    single = proxy_costs(errors, ROLES, dict.fromkeys(ROLES.family, 1.0), resamples=500)
    single = single.set_index(["target", "proxy"]).loc[table.index]
    assert (table["low"] < single["low"]).all()
    assert (table["high"] > single["high"]).all()


def test_a_proxy_that_ranks_nothing_keeps_its_row(errors: pd.DataFrame) -> None:
    errors["two"] = 50.0
    table = best_proxies(errors, ROLES, resamples=100)
    empty = table[table["proxy"] == "two"]
    assert empty[["estimate", "low", "high"]].isna().all(axis=None)
    assert (empty["n"] == 40).all()
    assert set(empty["best"]) == {"undecided"}


def test_a_member_without_any_value_costs_no_architectures(errors: pd.DataFrame) -> None:
    errors["two"] = np.nan
    table = best_proxies(errors, ROLES, resamples=100)
    assert set(table.loc[table["proxy"] != "two", "n"]) == {40}
    assert set(table.loc[table["proxy"] == "two", "n"]) == {0}


def test_roles_come_from_the_datasets_table() -> None:
    datasets = pd.DataFrame(
        {
            "dataset": ["big", "ten", "pets", "other"],
            "role": ["source", "family", "target", "extra"],
            "classes": [1000, 10, 9, 5],
        }
    )
    roles = Roles.from_datasets(datasets)
    assert roles == Roles("big", {"big": 1000, "ten": 10}, {"pets": 9})
    with pytest.raises(UserError, match="0 have the role source"):
        Roles.from_datasets(datasets.iloc[1:])


def test_roles_that_cannot_be_are_refused(errors: pd.DataFrame) -> None:
    with pytest.raises(UserError, match="source big has to be one of its members"):
        Roles("big", {"ten": 10}, {"pets": 9})
    with pytest.raises(UserError, match="targets: ten is of the source's family"):
        Roles("big", {"big": 1000, "ten": 10}, {"ten": 10})
    with pytest.raises(UserError, match="at least one dataset outside"):
        Roles("big", {"big": 1000}, {})
    with pytest.raises(UserError, match="classes of pets: 0"):
        Roles("big", {"big": 1000, "ten": 10}, {"pets": 0})
    with pytest.raises(UserError, match="classes of pets: -1"):
        Roles("big", {"big": 1000}, {"pets": -1})
    # A family of one asks for no nearest member: its counts may be unknown, which is 0.
    assert Roles("big", {"big": 0}, {"pets": 0}).closest_member(0) == "big"
    with pytest.raises(UserError, match="no column cats; the datasets are big, ten"):
        match_family(errors, Roles("big", {"big": 1000}, {"cats": 2}))


@pytest.fixture(scope="module")
def study() -> pd.DataFrame:
    return noisy(true_errors(population(200)), 1)


def test_the_front_is_that_of_brute_force() -> None:
    generator = np.random.default_rng(0)
    estimates = generator.integers(0, 4, (5, 200)) / 4
    estimates[0, :20] = np.nan
    cost = np.array([1.0, 2.0, 2.0, 3.0, 9.0])
    front = _on_front(estimates, cost)
    for resample in range(200):
        for own in range(5):
            beaten = any(
                cost[other] <= cost[own] and estimates[other, resample] > estimates[own, resample]
                for other in range(5)
            )
            known = np.isfinite(estimates[own, resample])
            assert front[own, resample] == (known and not beaten)


def test_a_dear_proxy_that_is_no_better_is_off_the_front(study: pd.DataFrame) -> None:
    costs = {"big": 100.0, "big-2": 3.0}
    table = proxy_costs(study, STUDY, costs, resamples=500)
    assert list(table["proxy"]) == ["big-2", "big"] * 2
    found = table.set_index(["target", "proxy"])
    assert found.loc[("pets", "big"), ["on_front", "probability_on_front"]].tolist() == [True, 1]
    assert found.loc[("lines", "big"), ["on_front", "probability_on_front"]].tolist() == [False, 0]
    same = best_proxies(study, STUDY, resamples=500).set_index(["target", "proxy"])
    pd.testing.assert_frame_equal(
        found[["estimate", "n"]], same.loc[found.index, ["estimate", "n"]]
    )


def test_undefined_proxies_are_on_no_front(study: pd.DataFrame) -> None:
    roles = Roles("big", {"big": 9, "flat": 2}, {"pets": 9})
    table = proxy_costs(study.assign(flat=1.0), roles, {"big": 2, "flat": 1}, resamples=40)
    flat = table.set_index("proxy").loc["flat"]
    assert not flat["on_front"]
    assert np.isnan(flat["probability_on_front"])
    with pytest.raises(UserError, match="costs: none for big-2"):
        proxy_costs(study, STUDY, {"big": 1.0})
    with pytest.raises(UserError, match="at least 0"):
        proxy_costs(study, STUDY, {"big": 1.0, "big-2": -1.0})


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
    assert table.attrs["averages"][0]["by_classes"] == pytest.approx(table["by_classes"].mean())
    constant = errors.assign(lines=1.0)
    table = class_or_size(constant, *names, ["lines"], resamples=40)
    assert table["rho_source"].isna().all()
    with pytest.raises(UserError, match="no column cats"):
        class_or_size(errors, *names, ["cats"])


@pytest.mark.parametrize(("n", "quarter", "top"), [(43, 11, 5), (14, 4, 2)])
def test_among_the_best_is_a_plain_loop(n: int, quarter: int, top: int) -> None:
    draw = np.random.default_rng(n)
    quality = draw.normal(size=n)
    errors = pd.DataFrame({name: quality + draw.normal(size=n) for name in ("a", "b", "c")})
    errors.loc[n] = [np.nan, -9, -9]  # not known to the proxy, so not among anyone's best
    roles = Roles("a", {"a": 10, "b": 5}, {"c": 2})
    table = best_proxies(errors, roles, resamples=200).set_index("proxy")
    for proxy in ("a", "b"):
        known = errors.iloc[:n].sort_values(proxy)
        best, row = known.iloc[:quarter], table.loc[proxy]
        rho = stats.spearmanr(best[proxy], best["c"]).statistic
        assert row[["quarter", "top", "n"]].tolist() == [quarter, top, n]
        assert row["quarter_rho"] == pytest.approx(rho)
        found = set(known.index[:top]) & set(errors.iloc[:n]["c"].nsmallest(top).index)
        ends = stats.binomtest(len(found), top).proportion_ci(0.95, "exact")
        assert row["shared"] == len(found)
        assert row[["overlap_low", "overlap_high"]].tolist() == pytest.approx(list(ends))
    if quarter >= 10:  # by the resamples of these architectures, else by formula
        assert table["quarter_rho_low"].gt(-1).all()
    else:
        ends = small_sample_interval(table["quarter_rho"], quarter, 0.95, "spearman")
        found = table[["quarter_rho_low", "quarter_rho_high"]].to_numpy().T
        np.testing.assert_allclose(found, ends)


def test_among_the_best_of_three_has_no_correlation() -> None:
    errors = pd.DataFrame({"a": range(10), "b": range(10), "c": [np.nan] * 10}, dtype=float)
    table = best_proxies(errors, Roles.among("a", errors, {}), resamples=100).set_index("target")
    assert table.loc["b", ["quarter", "shared", "overlap"]].tolist() == [3, 1, 1]
    assert np.isnan(table.loc["b", "quarter_rho"])
    assert table.loc["c", ["quarter", "shared", "n"]].tolist() == [0, 0, 0]
    assert np.isnan(table.loc["c", "overlap"])
    with pytest.raises(UserError, match="share"):
        best_proxies(errors, Roles.among("a", errors, {}), resamples=100, share=0)

"""Rankings up to ties within intervals over replicates."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from anynet_study import apr


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


@pytest.mark.parametrize("noise", ["pooled", "own"])
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
        if noise == "pooled":
            residuals = np.concatenate([each - each.mean() for _, each in runs])
            freedom = len(residuals) - 6
            scale = np.sqrt((residuals**2).sum() / freedom / len(errors))
        expected = stats.t.interval(0.95, freedom, errors.mean(), scale)
        assert rows.loc[name, ["low", "high"]].tolist() == pytest.approx([*expected])
    assert set(rows["replicates"]) == {1, 3}


@pytest.mark.slow
def test_pooled_intervals_cover() -> None:
    held = 0
    for seed in range(40):
        table = apr.replicate_intervals(replicates(1.0, seed=seed))
        truth = table["architecture"].str[1:].astype(int) + 30.0
        truth[(table["dataset"] == "c") & (table["architecture"] == "m5")] = 25.0
        held += ((table["low"] <= truth) & (truth <= table["high"])).sum()
    assert 0.93 <= held / 720 <= 0.97


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
    assert table["preserved"].to_dict() == {"b": "yes", "c": "no"}
    assert table.loc["c", "swapped"] == 5
    assert (table[["same", "tied", "swapped"]].sum(axis=1) == 15).all()
    noisy = apr.rank_preservation(apr.replicate_intervals(replicates(4.0)), "a")
    assert set(noisy["preserved"]) == {"undecided"}  # hardly any pair is told apart
    assert not noisy["identical"].all()
    exact = apr.replicate_intervals(replicates(0.0, runs=1))
    clear = apr.rank_preservation(exact, "a").set_index("dataset")
    assert clear.loc["b", ["same", "tau"]].tolist() == pytest.approx([15, 1.0])

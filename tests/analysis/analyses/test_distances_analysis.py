"""Distance against correlation: the table joins both, and says whether they go together."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import anynet_study
from anynet_study.analysis.analyses.distances import over_pairs
from anynet_study.analysis.analyses.registry import findings
from anynet_study.analysis.claims import Fact
from anynet_study.core.errors import UserError

NAMES = tuple("abcdef")


def nested_errors(count: int = 200) -> pd.DataFrame:
    """Errors on six datasets, the less alike the farther apart in the alphabet."""
    generator = np.random.default_rng(0)
    steps = np.cumsum(generator.normal(size=(count, len(NAMES))), axis=1) + 4 * np.arange(1)
    scaled = 40 + 5 * (steps - steps.mean(0)) / steps.std(0)
    return pd.DataFrame(scaled, [f"{n:03}" for n in range(count)], list(NAMES))


def distances(sign: int = 1) -> pd.DataFrame:
    rows = [
        {
            "b": a,
            "a": b,
            "fid_corrected": 9 + sign * (ord(b) - ord(a)),
            "fid_low": 0,
            "fid_high": 20,
        }
        for a, b in combinations(NAMES, 2)
    ]
    return pd.DataFrame([*rows, {"a": "elsewhere", "b": "a", "fid_corrected": 1.0}])


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1, -1])
def test_nearer_datasets_that_agree_more_are_seen(tmp_path, monkeypatch, sign):
    monkeypatch.setattr("anynet_study.analysis.analyses.distances.PERMUTATIONS", 999)
    path = tmp_path / "far.csv"
    distances(sign).to_csv(path)
    study = anynet_study.load(nested_errors(), distances=path, resamples=100)
    table = study.table("distance")
    assert len(table) == 15
    assert table["distance"].is_monotonic_increasing
    whole = study.table("correlations").set_index(["source", "target"])["estimate"]
    own = table.set_index(["source", "target"])["estimate"]
    pd.testing.assert_series_equal(own.sort_index(), whole.sort_index())
    [said] = [it for topic in findings(study) if topic.section == "pairs" for it in topic.sentences]
    how = "more" if sign == 1 else "less"
    assert said.startswith(f"The nearer two datasets are, the {how} alike they rank architectures")
    assert said.endswith("permuting datasets).")
    assert len(study.figure("distance").axes) == 1


def test_of_five_pairs_nothing_is_claimed():
    table = distances().head(5).rename(columns={"fid_corrected": "distance", "a": "source"})
    [said] = over_pairs(table.assign(target=table["b"], estimate=0.5), 0.95)
    assert isinstance(said, Fact)
    assert str(said).startswith("5 pairs are too few")


def test_what_is_missing_is_said(tmp_path):
    with pytest.raises(UserError, match="no distances of its datasets are known"):
        anynet_study.load(nested_errors(), resamples=100).table("distance")
    path = tmp_path / "far.csv"
    for table, reason in (
        (distances().assign(a="x"), "no distance is between two datasets of this study"),
        (distances().drop(columns="fid_low"), "no column 'fid_low'"),
    ):
        table.to_csv(path)
        with pytest.raises(UserError, match=reason):
            anynet_study.load(nested_errors(), distances=path, resamples=100).table("distance")

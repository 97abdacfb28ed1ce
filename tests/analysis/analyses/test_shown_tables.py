"""What tables for people say where an estimate says nothing by itself."""

import numpy as np
import pandas as pd
import pytest

from anynet_study import apr
from anynet_study.analysis.analyses import ANALYSES, study_of
from anynet_study.analysis.analyses.noise import CUT
from anynet_study.analysis.analysis import Options, remarks
from anynet_study.analysis.report import grid_of
from anynet_study.analysis.study import Study

NAMES = [f"m{number}" for number in range(8)]
#: Two runs of each architecture: on `a` and `b` they agree badly, on `c` well.
NOISY = pd.DataFrame(
    {
        "a": [[1, 5], [2, 2], [3, 4], [4, 8], [5, 3], [6, 7], [7, 6], [8, 9]],
        "b": [[1, 6], [2, 1], [3, 4], [4, 3], [5, 9], [6, 5], [7, 8], [8, 2]],
        "c": [[1, 1], [2, 2], [3, 3], [4, 5], [5, 4], [6, 6], [7, 7], [8, 8]],
    },
    index=pd.Index(NAMES, name="architecture"),
)


def noisy(**targets: int) -> Study:
    """The study of `NOISY` with the source a of 10 classes and these targets."""
    long = NOISY.stack().rename_axis(["architecture", "dataset"]).rename("error").explode()
    runs = long.astype(float).add(20).reset_index()
    runs["replicate"] = runs.groupby(["architecture", "dataset"]).cumcount()
    errors = runs.pivot_table(index="architecture", columns="dataset", values="error")
    roles = apr.Roles("a", {"a": 10}, targets)
    return study_of("s", Options(resamples=200), errors=errors, roles=roles, replicates=runs)


@pytest.mark.parametrize(
    ("name", "column"), [("corrected", "corrected"), ("beyond", "freed_source")]
)
def test_a_correlation_freed_of_noise_is_cut_at_one_and_says_so(name: str, column: str) -> None:
    """The formula gives more than 1 where reliabilities are low by chance."""
    study = noisy(b=2, c=2)
    table = study.table(name)
    ends = table[[column, f"{column}_low", f"{column}_high"]].to_numpy()
    assert np.nanmax(np.abs(ends)) == 1
    cut = table["note"].str.contains(r"^\d\.\d\d cut to 1")
    assert cut.any()
    assert (table.loc[cut, column] == 1).all()
    assert (table.loc[~cut, column].abs() < 1).all()
    assert CUT in remarks(study.table(name))


def test_a_source_that_is_itself_closest_has_no_difference_to_itself() -> None:
    study = noisy(b=2, c=2)
    grid = grid_of(study.table("match"), ANALYSES["match"])
    assert grid.headings == ["target (classes)", "source", "n", "carries over"], "nothing else is"
    assert list(study.table("match")["difference"]) == [0, 0]
    proxies = grid_of(study.table("proxies"), ANALYSES["proxies"])
    assert "is the best" not in proxies.headings, "of one proxy"


@pytest.mark.parametrize(
    ("targets", "said"),
    [({"b": 2}, "Verdicts hold at 95%."), ({"b": 2, "c": 2}, "Verdicts hold together for 2 tar")],
)
def test_a_verdict_alone_holds_together_with_none(targets: dict[str, int], said: str) -> None:
    assert remarks(noisy(**targets).table("match"))[0].startswith(said)


def test_no_more_architectures_are_chosen_than_there_are() -> None:
    assert set(noisy(b=2, c=2).table("regret")["top"]) == {1, 5}, "of 8, none is the best of 10"

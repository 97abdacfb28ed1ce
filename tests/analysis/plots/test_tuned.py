"""What is said and drawn of tuned recipes, from trials made by hand."""

import pandas as pd
import pytest
from artists import marked

from anynet_study.analysis.analyses import study_of
from anynet_study.analysis.analysis import Options
from anynet_study.analysis.study import Study

NAMES = list("ABCD")
#: Errors on validation images with the settings 0 and 1: 1 is the best for D alone, 0 on average.
SEEN = [(10.0, 20.0), (30.0, 40.0), (20.0, 30.0), (50.0, 49.0)]
#: Errors on test images.
FOUND = [(11.0, 1.0), (31.0, 2.0), (21.0, 3.0), (51.0, 44.0)]


@pytest.fixture
def study() -> Study:
    rows = [
        (name, trial, seen[trial], found[trial], seen[trial] == min(seen))
        for name, seen, found in zip(NAMES, SEEN, FOUND, strict=True)
        for trial in (0, 1)
    ]
    columns = ["architecture", "trial", "validation_error", "error", "chosen"]
    trials = pd.DataFrame(rows, columns=columns)
    trials["lr"] = 0.1 * 10.0 ** -trials["trial"]
    trials["trains"] = trials["architecture"] != "D"
    trials = trials.assign(dataset="t", tuned="r", replicate=0, rung=0, epochs=3, seconds=90.0)
    errors = pd.DataFrame({"t": [11.0, 31.0, 21.0, 44.0]}, index=NAMES)
    return study_of("hand", Options(resamples=40), errors=errors, trials=trials)


def test_the_budget_spent_is_said(study: Study) -> None:
    (row,) = study.table("tuning").to_dict("records")
    assert (row["trials"], row["runs"], row["epochs"], row["hours"]) == (2, 8, 24, 0.2)
    assert (row["architectures"], row["untrained"]) == (4, 1)
    assert row["settings"] == "lr 0.1 (0.01 to 0.1)"


def test_own_settings_are_drawn_against_the_one_that_is_best_for_all(study: Study) -> None:
    drawn = study.analysis("tuned").figures[0].data(study)
    assert list(drawn["before"]) == [11.0, 31.0, 21.0, 51.0]
    assert list(drawn["after"]) == [11.0, 31.0, 21.0, 44.0]
    (axes,) = study.figure("tuned").axes
    points = marked(axes)
    assert points["^"] == {(11.0, 11.0)}  # lowest when tuned
    assert points["X"] == {(51.0, 44.0)}
    assert points["o"] == {(31.0, 31.0), (21.0, 21.0)}
    assert "one setting for all" in axes.get_xlabel()
    assert "tuned each" in axes.get_ylabel()

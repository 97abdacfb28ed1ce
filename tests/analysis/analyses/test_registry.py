"""The registry holds together, and a loaded study computes what it declares, once."""

import numpy as np
import pandas as pd
import pytest
from small_study import small_study
from synthetic_study import ROLES, noisy, population, true_errors

import anynet_study
from anynet_study import apr
from anynet_study.analysis.analyses import (
    ANALYSES,
    FIGURES,
    SECTIONS,
    TABLES,
    TOPICS,
    chosen_names,
    correlations,
)
from anynet_study.analysis.analysis import Options
from anynet_study.analysis.study import Inputs, Study
from anynet_study.core.errors import UserError


@pytest.fixture
def study() -> Study:
    errors = noisy(true_errors(population(12)), seed=0)
    return anynet_study.load(errors, ROLES, resamples=100, level=0.9, method="pearson")


def test_names_are_unique_and_places_exist() -> None:
    figures = [figure for analysis in ANALYSES.values() for figure in analysis.figures]
    for kinds in ([ANALYSES[name] for name in TABLES], figures):
        names = [name for kind in kinds for name in (kind.name, *kind.older_names)]
        assert len(names) == len(set(names))
    sections = {section.id for section in SECTIONS}
    assert set(TOPICS.values()) <= sections
    for analysis in ANALYSES.values():
        assert analysis.section in sections
        assert (analysis.topic in TOPICS) == (analysis.say is not None)
        assert analysis.shown in ("", "open", "folded")
        assert bool(analysis.caption) == (analysis.shown == "folded")
        assert set(analysis.needs) <= vars(Study).keys()
        assert analysis.question.endswith("?")
        headings = [heading for heading in analysis.headings.values() if heading]
        assert len(headings) == len(set(headings))  # of two of one heading, one column is lost
        assert analysis.formula
        assert analysis.avoid
        assert set().union(*(figure.needs for figure in analysis.figures)) <= set(TABLES)


def test_every_caption_says_method_and_level(study: Study) -> None:
    for name in FIGURES:
        assert "{" not in study.caption(name)
    assert "Pearson's correlation" in study.caption("heatmap")
    assert "its 90% bootstrap interval" in study.caption("heatmap")


def test_a_table_is_computed_once_and_says_how(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = study.table("match")
    made = study.tables["match"]
    pd.testing.assert_frame_equal(study.table("match"), table)
    assert study.tables["match"] is made
    assert study.get("drivers") is None
    assert study.left_out == {"drivers": "the parameters of the architectures are not known"}
    how = {"method": "pearson", "level": 0.9, "resamples": 100, "seed": 0, "weighted": False}
    assert how.items() <= table.attrs.items()
    assert study.make(["correlations", "drivers", "match"]).keys() == {"correlations", "match"}


def test_many_pairs_rest_on_fewer_resamples_and_say_so(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(correlations, "MANY_PAIRS", 3)
    monkeypatch.setattr(correlations, "MOST_RESAMPLES", 60)
    table = study.table("correlations")
    assert table.attrs["resamples"] == 60
    assert "6 pairs rest on 60 resamples" in study.caption("heatmap")
    again = apr.correlations(study.errors, "pearson", 60, level=0.9)
    assert table["low"].equals(again["low"])


#: Tables that are part of another now.
OLDER = {
    **dict.fromkeys(("order-changes", "rank-changes"), "significance"),
    **dict.fromkeys(("average-robustness", "robustness", "shift-ranks"), "effective-robustness"),
    **dict.fromkeys(("source-by-recipe", "metrics", "balance", "recipe-robustness"), "recipes"),
    **{"sampling-gaps": "gaps", "shift-agreement": "shifts", "ties": "rank-preservation"},
    **{"widths": "sizes", "best-quarter": "proxies", "budget": "duration", "others": "beyond"},
    **{"importance": "stages", "training-drivers": "drivers", "improvement": "transfer"},
}


def test_older_names_are_understood(study: Study) -> None:
    assert {name: study.analysis(name).name for name in OLDER} == OLDER
    tables = [study.analyses[name] for name in TABLES]
    assert chosen_names("--table", ",".join(OLDER), tables) == list(OLDER.values())
    drawn = {"importance", "metrics", "source-by-recipe", "shift-ranks", "others", "improvement"}
    assert {*FIGURES} >= {*drawn, "fitting", "widths", "bins", "shifts", "gaps", "recipes"}
    assert study.study_figure("robustness").name == "effective-robustness"
    with pytest.raises(UserError, match=r"unknown table 'machts' \(did you mean 'match'\?\)$"):
        study.table("machts")
    with pytest.raises(UserError, match=r"--figure: unknown 'marix' \(did you mean 'matrix'\?\)"):
        chosen_names(
            "--figure", "marix", [figure for it in study.analyses.values() for figure in it.figures]
        )
    with pytest.raises(UserError, match="unknown table 'xyz'; choose from correlations, match"):
        study.table("xyz")


def test_what_a_study_lacks_is_said(study: Study) -> None:
    assert study.known("curves") is None
    for name in ("curves", "replicates", "test_sets", "predicted", "recipes", "population"):
        with pytest.raises(UserError):
            getattr(study, name)
    assert (study.costs, study.metrics) == ({}, {})


#: Tables of single architectures, and of what was tried: weights are of no matter there.
NOT_OF_A_POPULATION = {"gaps", "significance", "label-sets", "tuning"}


def test_every_table_has_weights_or_is_refused_where_they_are_unequal() -> None:
    """Of two tables of one study, one must not be of the design space and one of its sample."""
    known = small_study(24, targets=3)
    weights = np.where(known.errors["base"] < known.errors["base"].median(), 1.0, 9.0)
    architectures = known.parameters.drop(columns="weight", errors="ignore")
    tested = known.errors[["base"]].set_axis(["test"], axis=1)
    inputs = Inputs(
        errors=known.errors,
        roles=apr.Roles.from_datasets(known.datasets),
        replicates=known.replicates,
        curves=known.curves,
        recipes={"other": known.errors + 1},
        evaluated={"base": tested.assign(new=tested["test"] + 5, old=tested["test"] + 3)},
        images={"base": {"test": 1000, "new": 1000, "old": 1000}},
        architectures=architectures.assign(weight=weights),
    )
    study = Study("weighted", inputs, Options(resamples=50), ANALYSES)
    made = study.make(TABLES)
    for name, table in made.items():
        assert table.attrs.get("weighted") or name in NOT_OF_A_POPULATION, name
    refused = {name for name, why in study.left_out.items() if "--unweighted" in why}
    assert {"noise", "transfer", "shifts", "configurations", "rank-preservation"} <= refused
    assert made["stages"]["importance"].isna().all()
    with pytest.raises(UserError, match="--unweighted"):  # a figure of what else is weighted
        correlations.widths(study)
    alike = Study("alike", inputs, Options(resamples=50, unweighted=True), ANALYSES)
    assert not alike.table("shifts").attrs["weighted"]

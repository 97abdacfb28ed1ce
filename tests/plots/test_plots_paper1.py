"""The figures of paper 1's further statistics: small, large, with gaps, and what they say."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from layout import check_layout
from matplotlib.figure import Figure
from small_study import SmallStudy, small_study

from anynet_study import apr, plots

RESAMPLES = 60
Draw = Callable[[SmallStudy], Figure]


def roles(study: SmallStudy) -> apr.Roles:
    return apr.Roles.from_datasets(study.datasets)


def after(study: SmallStudy) -> pd.DataFrame:
    """The study's errors after a change that makes them smaller, and noisier."""
    noise = np.random.default_rng(0).normal(0, 1, study.errors.shape)
    return study.errors * 0.8 + noise


def regret(study: SmallStudy) -> Figure:
    table = apr.selection_regret(study.errors, roles(study), resamples=RESAMPLES)
    return plots.regret_grid(table, roles(study).family)


def stage_drivers(study: SmallStudy) -> Figure:
    table = apr.stage_drivers(study.errors, study.parameters, resamples=RESAMPLES)
    table.loc[table["parameter"] == "d1", ["partial_flips", "partial_p_holm"]] = [True, 0.0]
    return plots.stage_driver_heatmap(table, "partial")


def importance(study: SmallStudy) -> Figure:
    errors, parameters = study.errors.iloc[:, 2:5], study.parameters
    return plots.importance_grid(apr.importance(errors, parameters, trees=30, repeats=1))


def duration(study: SmallStudy) -> Figure:
    table = apr.duration(study.curves, resamples=RESAMPLES)
    return plots.duration_grid(table, apr.cheapest_budget(table))


def agreement(study: SmallStudy) -> Figure:
    table = apr.agreement(study.errors, after(study), resamples=RESAMPLES)
    return plots.agreement_grid(study.errors, after(study), table, ("top-5", "top-1"))


def change(study: SmallStudy) -> Figure:
    table = apr.agreement(study.errors, after(study), "base", resamples=RESAMPLES)
    labels = ("scratch", "pretrained")
    return plots.source_by_recipe_grid(study.errors, after(study), table, "base", labels)


def class_or_size(study: SmallStudy) -> Figure:
    names = ("base", "base-5", "base-2")
    table = apr.class_or_size(study.errors, *names, list(roles(study).targets), resamples=RESAMPLES)
    return plots.class_or_size_chart(table, names)


def costs(study: SmallStudy) -> Figure:
    seconds = {"base": 12_000.0, "base-5": 400.0, "base-2": 90.0}
    table = apr.proxy_costs(study.errors, roles(study), seconds, resamples=RESAMPLES)
    return plots.cost_grid(table, "GPU seconds", roles(study).family)


FIGURES: list[Draw] = [
    *(regret, stage_drivers, importance, duration, agreement, change, class_or_size, costs)
]


@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
def test_everything_is_on_the_page_apart_and_large_enough(draw: Draw) -> None:
    check_layout(draw(small_study(20, 4)))


@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
def test_gaps_do_not_break_a_figure(draw: Draw) -> None:
    study = small_study(8, 2)
    for dataset, gap in (("target-0", np.nan), ("target-1", 50.0)):
        study.errors[dataset] = gap
        study.curves.loc[study.curves["dataset"] == dataset, "error"] = gap
    check_layout(draw(study))


def test_widths_of_smaller_studies() -> None:
    errors = small_study(40).errors
    table = apr.interval_widths(errors, "base", "target-0", (8, 20), 4, resamples=RESAMPLES)
    figure = plots.width_grid({"a and b": table})
    check_layout(figure)
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["8", "20", "40"]


def test_what_the_titles_say() -> None:
    study = small_study(16)
    table = apr.agreement(study.errors, after(study), resamples=RESAMPLES)
    figure = plots.agreement_grid(study.errors, after(study), table)
    row, title = table.iloc[0], figure.axes[0].get_title()
    assert f"change {row['change']:.1f}".replace("-", "−") in title
    assert "n = 16" in title
    data = plots.agreement_data(study.errors, after(study), ["base"])
    assert data.groupby("mark").size().to_dict() == {"": 8, "top": 4, "worst": 4}
    assert "epoch" in duration(study).axes[0].get_title()

"""Every figure, small and large: nothing is cut or overlaps, gaps do not break it, same bytes."""

from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from small_study import SmallStudy, small_study

from anynet_study import apr, plots
from anynet_study.analysis.plots import style
from anynet_study.core.errors import UserError

FEW = 60
Draw = Callable[[SmallStudy], Figure]


def check_layout(figure: Figure) -> None:
    """No wider than two columns, nothing cut, no titles that overlap, no text that is too small."""
    FigureCanvasAgg(figure).draw()
    width, height = figure.get_size_inches()
    assert width <= style.TWO_COLUMNS + 0.01
    assert height <= style.PAGE + 0.26
    box = figure.get_tightbbox()
    assert min(box.x0, box.y0) >= -0.03
    assert box.x1 <= width + 0.03
    assert box.y1 <= height + 0.03
    titles = [axes.title.get_window_extent() for axes in figure.axes if axes.get_title()]
    assert not any(a.overlaps(b) for i, a in enumerate(titles) for b in titles[:i])
    if figure.get_layout_engine() is not None:
        for legend in figure.legends:
            around = legend.get_window_extent()
            assert not any(axes.get_tightbbox().overlaps(around) for axes in figure.axes)
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= style.SMALLEST_TEXT


def roles(study: SmallStudy) -> apr.Roles:
    return apr.Roles.from_datasets(study.datasets)


def correlations(study: SmallStudy) -> pd.DataFrame:
    return apr.correlations(study.errors, resamples=FEW)


def scatter(study: SmallStudy) -> Figure:
    pairs = [("base", target) for target in roles(study).targets]
    return plots.scatter_grid(study.errors, pairs, correlations(study), study.metrics)


def proxies(study: SmallStudy) -> Figure:
    table = apr.best_proxies(study.errors, roles(study), resamples=FEW)
    return plots.proxy_chart(table, roles(study).family)


def depth(study: SmallStudy) -> Figure:
    table = apr.drivers(study.errors, study.parameters, resamples=FEW)
    return plots.driver_grid(
        study.errors, study.parameters, "cumulative depth", table, study.metrics
    )


def after(study: SmallStudy) -> pd.DataFrame:
    """The study's errors after a change that makes them smaller, and noisier."""
    noise = np.random.default_rng(0).normal(0, 1, study.errors.shape)
    return study.errors * 0.8 + noise


def regret(study: SmallStudy) -> Figure:
    table = apr.selection_regret(study.errors, roles(study), resamples=FEW)
    return plots.regret_grid(table, roles(study).family)


def stage_drivers(study: SmallStudy) -> Figure:
    table = apr.stage_drivers(study.errors, study.parameters, resamples=FEW)
    table.loc[table["parameter"] == "d1", ["partial_flips", "partial_p_holm"]] = [True, 0.0]
    return plots.stage_driver_heatmap(table, "partial")


def importance(study: SmallStudy) -> Figure:
    errors, parameters = study.errors.iloc[:, 2:5], study.parameters
    return plots.importance_grid(apr.importance(errors, parameters, trees=30, repeats=1))


def duration(study: SmallStudy) -> Figure:
    table = apr.duration(study.curves, resamples=FEW)
    return plots.duration_grid(table, apr.cheapest_budget(table))


def agreement(study: SmallStudy) -> Figure:
    table = apr.agreement(study.errors, after(study), resamples=FEW)
    return plots.agreement_grid(study.errors, after(study), table, ("top-5", "top-1"))


def source_by_recipe(study: SmallStudy) -> Figure:
    table = apr.agreement(study.errors, after(study), "base", resamples=FEW)
    labels = ("scratch", "pretrained")
    return plots.source_by_recipe_grid(study.errors, after(study), table, "base", labels)


def class_or_size(study: SmallStudy) -> Figure:
    names = ("base", "base-5", "base-2")
    table = apr.class_or_size(study.errors, *names, list(roles(study).targets), resamples=FEW)
    return plots.class_or_size_chart(table, names)


def costs(study: SmallStudy) -> Figure:
    seconds = {"base": 12_000.0, "base-5": 400.0, "base-2": 90.0}
    table = apr.proxy_costs(study.errors, roles(study), seconds, resamples=FEW)
    return plots.cost_grid(table, "GPU seconds", roles(study).family)


OF_A_STUDY: dict[str, Draw] = {
    "scatter": scatter,
    "matrix": lambda s: plots.scatter_matrix(s.errors, correlations(s)),
    "heatmap": lambda s: plots.correlation_heatmap(correlations(s)),
    "depth": depth,
    "configurations": lambda s: plots.configuration_grid(s.errors, s.parameters),
    "curves": lambda s: plots.curve_grid(s.curves, s.metrics),
    "proxies": proxies,
    "noise": lambda s: plots.noise_grid(s.replicates, apr.noise_ceiling(s.replicates), s.metrics),
    "population": lambda s: plots.population_grid(s.parameters),
    **{"regret": regret, "stage drivers": stage_drivers, "importance": importance},
    **{"duration": duration, "agreement": agreement, "source by recipe": source_by_recipe},
    **{"class or size": class_or_size, "costs": costs},
}


def search(count: int) -> Figure:
    generator = np.random.default_rng(0)
    tables = {
        f"space {i}": apr.random_search(pd.Series(generator.normal(30, 3, 40)), resamples=FEW)
        for i in range(count)
    }
    return plots.random_search_plot(tables, "a dataset with a long name", "top1")


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_A_STUDY)
def test_gaps_do_not_break_a_figure_of_a_small_study(name: str) -> None:
    """All errors on one dataset are missing, and on another the same."""
    study = small_study(8, 2)
    for dataset, error in (("target-0", np.nan), ("target-1", 50.0)):
        study.errors[dataset] = error
        study.curves.loc[study.curves["dataset"] == dataset, "error"] = error
    study.replicates.loc[study.replicates["dataset"] == "target-1", "error"] = 50.0
    check_layout(OF_A_STUDY[name](study))


def test_names_are_text_not_markup(tmp_path: Path) -> None:
    evil = {"target-0": r"$\frac{_<b>&", "base": "a very long name of a dataset " * 3}
    errors = small_study(8).errors.rename(columns=evil)
    figure = plots.scatter_grid(errors, [(evil["base"], evil["target-0"])])
    plots.save(figure, tmp_path / "scatter", ["svg"])
    assert evil["target-0"] in figure.axes[0].get_ylabel()


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_the_same_figure_has_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": "mine"}):
        (first,) = plots.save(search(2), tmp_path / "a", [suffix])
    (second,) = plots.save(search(2), tmp_path / "b", [suffix])
    assert first.read_bytes() == second.read_bytes()
    assert dict(matplotlib.rcParams) == before


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="png, pdf, svg"):
        plots.save(Figure(), tmp_path / "x", ["jpg"])
    assert not list(tmp_path.iterdir())


def test_colours_are_those_of_okabe_and_ito() -> None:
    palette = {
        *("#000000", "#E69F00", "#56B4E9", "#009E73"),
        *("#F0E442", "#0072B2", "#D55E00", "#CC79A7"),
    }
    meanings = (style.POPULATION, style.TOP, style.WORST)
    assert set(meanings) <= palette
    assert len(set(meanings)) == len(meanings)

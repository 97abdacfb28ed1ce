"""Every figure, small and large: what it says, that nothing is cut or overlaps, and its bytes."""

from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from layout import check_layout
from matplotlib.figure import Figure
from small_study import SmallStudy, small_study

from anynet_study import apr, plots
from anynet_study.errors import UserError
from anynet_study.plots import style

RESAMPLES = 200
Draw = Callable[[SmallStudy], Figure]


def roles(study: SmallStudy) -> apr.Roles:
    return apr.Roles.from_datasets(study.datasets)


def pairs(study: SmallStudy) -> list[tuple[str, str]]:
    return [("base", target) for target in roles(study).targets]


def correlations(study: SmallStudy) -> pd.DataFrame:
    return apr.correlations(study.errors, resamples=RESAMPLES)


def drivers(study: SmallStudy) -> pd.DataFrame:
    return apr.drivers(study.errors, study.parameters, resamples=RESAMPLES)


FIGURES: dict[str, Draw] = {
    "scatter": lambda s: plots.scatter_grid(s.errors, pairs(s), correlations(s), s.metrics),
    "matrix": lambda s: plots.scatter_matrix(s.errors, correlations(s)),
    "heatmap": lambda s: plots.correlation_heatmap(correlations(s)),
    "depth": lambda s: plots.driver_grid(
        s.errors, s.parameters, "cumulative depth", drivers(s), s.metrics
    ),
    "configurations": lambda s: plots.configuration_grid(s.errors, s.parameters),
    "curves": lambda s: plots.curve_grid(s.curves, s.metrics),
    "proxies": lambda s: plots.proxy_chart(
        apr.best_proxies(s.errors, roles(s), resamples=RESAMPLES), roles(s).family
    ),
    "noise": lambda s: plots.noise_grid(s.replicates, apr.noise_ceiling(s.replicates), s.metrics),
    "population": lambda s: plots.population_grid(s.parameters),
}
SIZES = {"16x4": (16, 1), "24x15": (24, 12)}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("size", SIZES)
def test_everything_is_on_the_page_apart_and_large_enough(name: str, size: str) -> None:
    check_layout(FIGURES[name](small_study(*SIZES[size])))


def test_titles_and_labels_of_scatterplots() -> None:
    study = small_study(16)
    table = correlations(study)
    figure = plots.scatter_grid(study.errors, pairs(study), table, study.metrics)
    row = table[(table["source"] == "base") & (table["target"] == "target-0")].iloc[0]
    axes = figure.axes[0]
    assert f"{row['estimate']:.2f}".replace("-", "−") in axes.get_title()
    assert "n = 16" in axes.get_title()
    assert axes.get_xlabel() == "top-1 error on base (%)"
    assert axes.get_ylabel() == "top-1 error on target-0 (%)"
    drawn = [line for line in axes.lines if len(line.get_xdata())]
    assert [len(line.get_xdata()) for line in drawn] == [8, 4, 4]
    assert len({line.get_marker() for line in drawn}) == 3
    assert len({line.get_color() for line in drawn}) == 3


def test_a_diverged_run_is_drawn_at_the_edge() -> None:
    study = small_study(24)
    study.errors.loc[study.errors.index[3], "target-0"] = 90.0
    figure = plots.scatter_grid(study.errors, pairs(study), correlations(study))
    axes = figure.axes[0]
    assert axes.get_ylim()[1] < 40
    assert max(np.max(line.get_ydata(), initial=0) for line in axes.lines) == axes.get_ylim()[1]
    assert [text.get_text() for text in axes.texts] == ["1 off scale"]


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("gap", ["missing column", "constant", "four architectures"])
def test_gaps_do_not_break_a_figure(name: str, gap: str, tmp_path: Path) -> None:
    study = small_study(4 if gap == "four architectures" else 12)
    if gap == "missing column":
        study.errors["target-0"] = np.nan
    if gap == "constant":
        study.errors["target-0"] = 50.0
        study.replicates.loc[study.replicates["dataset"] == "target-0", "error"] = 50.0
    plots.save(FIGURES[name](study), tmp_path / name, ["png"])


def test_names_are_text_not_markup(tmp_path: Path) -> None:
    study = small_study(8)
    evil = {"target-0": r"$\frac{_<b>&", "base": "a very long name of a dataset " * 3}
    errors = study.errors.rename(columns=evil)
    table = apr.correlations(errors, resamples=RESAMPLES)
    plots.save(plots.scatter_matrix(errors, table), tmp_path / "matrix", ["png", "svg"])
    x, y = evil["base"], evil["target-0"]
    figure = plots.scatter_grid(errors, [(x, y)], table)
    plots.save(figure, tmp_path / "scatter", ["svg"])
    assert evil["target-0"] in figure.axes[0].get_ylabel()


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_the_same_figure_has_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    study = small_study(16)
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": "mine"}):
        (first,) = plots.save(FIGURES["depth"](study), tmp_path / "a", [suffix])
    (second,) = plots.save(FIGURES["depth"](study), tmp_path / "b", [suffix])
    assert first.read_bytes() == second.read_bytes()


def test_no_global_state_is_left() -> None:
    from matplotlib import pyplot

    before = dict(matplotlib.rcParams)
    for draw in FIGURES.values():
        draw(small_study(8))
    assert not pyplot.get_fignums()
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

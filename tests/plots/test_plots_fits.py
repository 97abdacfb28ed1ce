"""Figures of papers 2 to 5: everything on the page, apart, large enough, and what was computed."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from anynet_study import apr, plots
from anynet_study.plots import style

FEW = 200
LONG = "a-test-set-whose-name-does-not-end"


def accuracies(models: int = 20, sets: int = 3) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    skill = generator.normal(0, 5, models)
    columns = {"base": 75 + skill}
    for number in range(sets):
        noise = generator.normal(0, 1, models)
        columns[f"{LONG}-{number}"] = 70 - 10 * number + 1.1 * skill + noise
    return pd.DataFrame(columns, index=[f"an-architecture-of-some-{i}" for i in range(models)])


def intervals(models: int) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    names = [f"an-architecture-of-some-{i}" for i in range(models)]
    rows = [(m, d, r, 30 + i) for i, m in enumerate(names) for d in ("a", LONG) for r in range(3)]
    table = pd.DataFrame(rows, columns=["architecture", "dataset", "replicate", "error"])
    table["error"] += generator.normal(0, 0.5, len(table))
    return apr.replicate_intervals(table)


def fits(table: pd.DataFrame) -> dict[str, apr.LinearFit]:
    return {y: apr.linear_fit(table["base"], table[y], resamples=FEW) for y in table.columns[1:]}


def bins(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    size = pd.Series(np.geomspace(1e6, 1e8, len(table)), index=table.index)
    return {name: apr.best_of_bins(table[name], size, resamples=FEW) for name in table}


def labelled(models: int) -> pd.DataFrame:
    labels = np.arange(200) % 20
    wrong = np.random.default_rng(0).random((models, 200)) < 0.3
    predictions = np.where(wrong, (labels + 1) % 20, labels)
    sets = {**apr.nested_label_sets(20, [2, 20]), LONG: range(5)}
    return apr.label_set_accuracy(predictions, labels, sets, [f"m{i}" for i in range(models)])


COUNTS = dict.fromkeys(accuracies().columns, 10_000)
FIGURES: dict[str, Callable[[], Figure]] = {
    "fits": lambda: plots.fit_grid(accuracies(), "base", fits(accuracies()), images=COUNTS),
    "fit": lambda: plots.fit_grid(accuracies(sets=1), "base", [f"{LONG}-0"], images=COUNTS),
    "transfer": lambda: plots.transfer_grid(
        accuracies(), "base", above=75, spline=True, resamples=FEW
    ),
    "transfer, one": lambda: plots.transfer_grid(accuracies(sets=1), "base", above=95),
    "ranks": lambda: plots.rank_preservation_chart(apr.tied_ranks(intervals(9))),
    "many ranks": lambda: plots.rank_preservation_chart(apr.tied_ranks(intervals(42))),
    "improvement": lambda: plots.improvement_chart(
        apr.relative_improvement(accuracies(), "an-architecture-of-some-0", COUNTS), "some-0"
    ),
    "transforms": lambda: plots.shift_rank_chart(
        apr.transform_ranks(100 - accuracies(42), resamples=FEW)
    ),
    "robustness": lambda: plots.effective_robustness_grid(
        apr.effective_robustness(accuracies(), "base", baseline=accuracies().index[:9])
    ),
    "bins": lambda: plots.bin_chart(bins(accuracies(30)), "parameters", "accuracy (%)"),
    "labels": lambda: plots.label_set_chart(labelled(3)),
    "many labels": lambda: plots.label_set_chart(labelled(12)),
    "gaps": lambda: plots.gap_chart(
        apr.gaps(accuracies(52), "base", f"{LONG}-0", COUNTS, resamples=FEW), "base", LONG
    ),
    "other targets": lambda: plots.other_targets_chart(
        apr.other_targets(accuracies().assign(empty=np.nan), "base", resamples=FEW), "base"
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_everything_is_on_the_page_apart_and_large_enough(name: str) -> None:
    figure = FIGURES[name]()
    FigureCanvasAgg(figure).draw()
    width, height = figure.get_size_inches()
    assert width <= style.TWO_COLUMNS + 0.01
    assert height <= style.PAGE + 0.26
    box = figure.get_tightbbox()
    assert min(box.x0, box.y0) >= -0.03
    assert box.x1 <= width + 0.03
    assert box.y1 <= height + 0.03
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= style.SMALLEST_TEXT
    for legend in figure.legends:
        around = legend.get_window_extent()
        assert not any(axes.get_tightbbox().overlaps(around) for axes in figure.axes)
    titles = [axes.title.get_window_extent() for axes in figure.axes if axes.get_title()]
    assert not any(a.overlaps(b) for i, a in enumerate(titles) for b in titles[:i])


def test_a_fit_is_drawn_as_it_was_computed() -> None:
    table = accuracies(sets=1)
    table.iloc[0, 1] = np.nan
    made = fits(table)
    figure = plots.fit_grid(table, "base", [*made], made)
    (axes,) = figure.axes
    (fit,) = made.values()
    points, line = axes.lines[:2]
    assert len(points.get_xdata()) == 19
    region = fit.region()
    assert np.allclose(line.get_ydata(), region["y"])
    assert "n = 19" in axes.get_title()
    assert f"{fit.slope:.2f} [{fit.slope_low:.2f}, {fit.slope_high:.2f}]" in axes.get_title()
    data = plots.fit_data(table, "base", [*made], COUNTS)
    assert len(data) == 19
    assert ((data["y_low"] < data["y_accuracy"]) & (data["y_accuracy"] < data["y_high"])).all()


def test_a_panel_without_a_line_says_why() -> None:
    figure = plots.transfer_grid(accuracies(sets=1), "base", above=95, resamples=FEW)
    assert "above 95: no line, 0 architectures" in figure.axes[0].get_title()


def test_what_is_left_out_is_counted() -> None:
    table = accuracies()
    table.iloc[0, 1] = np.nan
    known = apr.effective_robustness(table, "base")
    titles = {axes.get_title() for axes in plots.effective_robustness_grid(known).axes}
    assert titles == {"n = 19 (1 left out)"}

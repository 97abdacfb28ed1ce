"""Figures of error distributions: what they say, that nothing is cut or overlaps."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from anynet_study import apr, plots
from anynet_study.plots import style

RESAMPLES = 200


def spaces(count: int, models: int = 40) -> dict[str, pd.Series]:
    generator = np.random.default_rng(0)
    return {f"space {i}": pd.Series(generator.normal(30 + i, 3, models)) for i in range(count)}


def edfs(errors: dict[str, pd.Series]) -> dict[str, pd.DataFrame]:
    return {name: apr.edf(each, resamples=RESAMPLES, name=name) for name, each in errors.items()}


def searches(errors: dict[str, pd.Series]) -> dict[str, pd.DataFrame]:
    return {name: apr.random_search(each, resamples=RESAMPLES) for name, each in errors.items()}


def labels(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("kind", ["edf", "grid", "search"])
def test_everything_is_on_the_page_apart_and_large_enough(count: int, kind: str) -> None:
    errors = {f"{name} with a long name of its own": each for name, each in spaces(count).items()}
    if kind == "grid":
        figure = plots.edf_grid({f"dataset-{i}": edfs(errors) for i in range(4)})
    elif kind == "edf":
        figure = plots.edf_plot(edfs(errors), "a dataset with a long name", "top1")
    else:
        figure = plots.random_search_plot(searches(errors), "a dataset with a long name", "top1")
    FigureCanvasAgg(figure).draw()
    width, height = figure.get_size_inches()
    box = figure.get_tightbbox()
    assert width <= style.TWO_COLUMNS
    assert min(box.x0, box.y0) >= -0.03
    assert box.x1 <= width + 0.03
    assert box.y1 <= height + 0.03
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= style.SMALLEST_TEXT
    legend = figure.legends[0].get_window_extent()
    assert not any(axes.get_tightbbox().overlaps(legend) for axes in figure.axes)
    ticks = figure.axes[0].get_xticklabels()
    boxes = [tick.get_window_extent() for tick in ticks if tick.get_text()]
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))


def test_an_edf_is_drawn_in_steps_with_its_counts() -> None:
    errors = spaces(2)
    errors["space 1"].iloc[:3] = np.nan
    figure = plots.edf_plot(edfs(errors), "ImageNet", "top1", level=0.9)
    (axes,) = figure.axes
    assert axes.get_xlabel() == "top-1 error on ImageNet (%)"
    assert labels(figure) == ["space 0, n = 40", "space 1, n = 37 (3 missing)"]
    assert figure.legends[0].get_title().get_text() == "bands: 90% bootstrap intervals"
    for line, each in zip(axes.lines, errors.values(), strict=True):
        assert line.get_drawstyle() == "steps-post"
        known = np.sort(each.dropna())
        assert np.allclose(line.get_xdata()[1:-1], known)
        assert np.allclose(line.get_ydata()[1:-1], np.arange(1, len(known) + 1) / len(known))
    assert len({line.get_color() for line in axes.lines}) == 2
    assert len({str(line.get_linestyle()) for line in axes.lines}) == 2


def test_curves_differ_in_more_than_colour() -> None:
    figure = plots.edf_plot(edfs(spaces(12, 5)))
    lines = figure.axes[0].lines
    assert len({(line.get_color(), str(line._dash_pattern)) for line in lines}) == 12


def test_diverged_runs_do_not_stretch_the_axis() -> None:
    errors = spaces(1, 100)
    errors["space 0"].iloc[:2] = 99.9
    (axes,) = plots.edf_plot(edfs(errors)).axes
    assert axes.get_xlim()[1] < 45
    assert [text.get_text() for text in axes.texts] == ["2 off scale"]


def test_a_search_has_intervals_where_there_are_any() -> None:
    table = searches(spaces(1))
    (axes,) = plots.random_search_plot(table, "ImageNet").axes
    thin, known = axes.lines
    assert list(thin.get_xdata()) == [1, 2, 5, 10, 20, 40]
    assert list(known.get_xdata()) == [1, 2, 5, 10]
    assert axes.get_ylabel() == "best error (%)"
    assert axes.get_title() == "ImageNet"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "5", "10", "20"]


def test_a_space_looks_the_same_in_every_panel() -> None:
    curves = edfs(spaces(3))
    figure = plots.edf_grid({"a": curves, "b": {"space 2": curves["space 2"]}}, {"b": "top5"})
    first, second = figure.axes
    assert second.lines[0].get_color() == first.lines[2].get_color()
    assert second.get_xlabel() == "top-5 error on b (%)"
    assert labels(figure) == ["space 0", "space 1", "space 2"]


def test_gaps_and_constants_can_be_drawn(tmp_path: Path) -> None:
    errors = {"constant": pd.Series([50.0] * 4), "$\\frac{_<b>": pd.Series([1.0, 2, 3, 4, np.nan])}
    plots.save(plots.edf_plot(edfs(errors)), tmp_path / "edf", ["png", "svg"])
    plots.save(plots.random_search_plot(searches(errors)), tmp_path / "search", ["pdf"])
    plots.save(plots.edf_plot(edfs({"constant": errors["constant"]})), tmp_path / "one", ["png"])


def test_the_same_figure_has_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for name in ("a", "b"):
        drawn = plots.edf_plot(edfs(spaces(2)))
        written += plots.save(drawn, tmp_path / name, ["pdf"])
    assert written[0].read_bytes() == written[1].read_bytes()

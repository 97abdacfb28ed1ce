"""Figures of error distributions: steps, bands, counts and axes are the tables'."""

import numpy as np
import pandas as pd
from artists import band, names, near, spans, ticks, xy
from matplotlib.figure import Figure

from anynet_study import apr, plots


def edf(errors: list[float], shift: float = 0.0, missing: int = 0) -> pd.DataFrame:
    count = len(errors)
    fractions = np.arange(1, count + 1) / count
    columns = {"error": errors, "fraction": fractions, "low": fractions - 0.11 - shift}
    columns |= {"high": fractions + 0.07 + shift, "n": count, "missing": missing}
    return pd.DataFrame(columns)


CURVES = {
    "wide": edf([31.0, 33.0, 38.0, 41.0]),
    "deep": edf([29.0, 30.0, 36.0, 37.0, 44.0], 0.01, 3),
}


def test_an_edf_is_drawn_in_steps_with_its_band_and_counts() -> None:
    figure = plots.edf_plot(CURVES, "ImageNet", "top1", level=0.9)
    (axes,) = figure.axes
    for line, filled, curve in zip(axes.lines, axes.collections, CURVES.values(), strict=True):
        assert line.get_drawstyle() == "steps-post"
        assert xy(line)[0] == (curve["error"].iloc[0], 0)
        assert xy(line)[1:-1] == near(zip(curve["error"], curve["fraction"], strict=True))
        assert xy(line)[-1] == (44.0, 1.0)
        corners = band(filled)
        assert set(zip(curve["error"], curve["low"], strict=True)) <= corners
        assert set(zip(curve["error"], curve["high"], strict=True)) <= corners
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "top-1 error on ImageNet (%)",
        "fraction of models",
    )
    assert names(figure) == ["wide, n = 4", "deep, n = 5 (3 missing)"]
    assert figure.legends[0].get_title().get_text() == "bands: 90% bootstrap intervals"
    assert len({line.get_color() for line in axes.lines}) == 2
    handles = figure.legends[0].legend_handles
    assert [each.get_color() for each in handles] == [each.get_color() for each in axes.lines]


def test_the_level_is_that_of_the_table() -> None:
    curve = CURVES["wide"].copy()
    curve.attrs = {"level": 0.8}
    for figure in (plots.edf_plot({"a": curve}), plots.edf_grid({"x": {"a": curve}})):
        assert figure.legends[0].get_title().get_text() == "bands: 80% bootstrap intervals"


def test_diverged_runs_do_not_stretch_the_axis() -> None:
    errors = pd.Series([*np.linspace(25, 40, 98), 99.9, 99.9])
    (axes,) = plots.edf_plot({"a": apr.edf(errors, resamples=100)}).axes
    assert axes.get_xlim()[1] < 45
    assert [text.get_text() for text in axes.texts] == ["2 off scale"]


def test_a_search_has_intervals_where_there_are_any() -> None:
    table = pd.DataFrame(
        {
            "size": [1, 2, 5, 20],
            "error": [41.0, 38.0, 35.0, 31.0],
            "low": [39.0, 37.2, 33.1, np.nan],
            "high": [43.5, 39.9, 36.4, np.nan],
            "n": 40,
            "missing": 1,
        }
    )
    ax = Figure().subplots()
    plots.random_search_plot({"a": table}, "ImageNet", "top5", ax=ax)
    thin, known = ax.lines
    assert xy(thin) == [(1, 41), (2, 38), (5, 35), (20, 31)]
    assert xy(known) == [(1, 41), (2, 38), (5, 35)]
    assert spans(ax.collections[0], across=False) == [
        (1, 39.0, 43.5),
        (2, 37.2, 39.9),
        (5, 33.1, 36.4),
    ]
    assert {(1, 39.0), (1, 43.5), (5, 33.1), (5, 36.4)} <= band(ax.collections[1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("random models trained", "best top-5 error (%)")
    assert ax.get_title() == "ImageNet"
    assert ticks(ax.xaxis) == ["1", "2", "5", "10", "20"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a, n = 40 (1 missing)"]


def test_a_space_looks_the_same_in_every_panel() -> None:
    curves = {"x": CURVES, "y": {"deep": CURVES["deep"]}}
    figure = plots.edf_grid(curves, {"y": "top5"})
    first, second = figure.axes
    assert second.lines[0].get_color() == first.lines[1].get_color()
    assert xy(second.lines[0])[1:-1] == near(
        zip(CURVES["deep"]["error"], CURVES["deep"]["fraction"], strict=True)
    )
    assert (first.get_title(), second.get_title()) == ("n = 4 to 5", "n = 5")
    assert (first.get_xlabel(), second.get_xlabel()) == ("error on x (%)", "top-5 error on y (%)")
    assert names(figure) == ["wide", "deep"]

"""Drivers, importance and the best configurations: what is drawn is what the tables say."""

import numpy as np
import pandas as pd
import pytest
from artists import intervals, marked, names, near, ticks, xy
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from anynet_study import apr, plots
from anynet_study.analysis.plots import style

IDS = list("ABCDEFGH")
ERRORS = pd.DataFrame(
    {
        "x": [11.0, 22.0, 33.0, 44.0, 55.0, 66.0, 77.0, 88.0],
        "y": [31.0, 12.0, 43.0, 54.0, 25.0, 76.0, 67.0, 81.0],
    },
    index=IDS,
)
POPULATION = pd.DataFrame(
    {
        "architecture": IDS[::-1],
        "d1": [1, 2, 3, 4, 5, 6, 7, 8],
        "d2": [10, 12, 14, 11, 13, 15, 16, 9],
        "w1": [8, 16, 24, 32, 40, 48, 56, 64],
        "w2": [72, 80, 96, 88, 104, 120, 112, 128],
        "b1": [1, 2, 4, 1, 2, 4, 1, 2],
        "b2": [2, 4, 1, 2, 4, 1, 2, 4],
        "g1": [1, 2, 4, 8, 16, 32, 1, 2],
        "g2": [2, 4, 8, 16, 32, 1, 2, 4],
    }
)
TABLE = pd.DataFrame(
    {
        "dataset": ["x", "y", "x", "y"],
        "parameter": ["cumulative depth"] * 2 + ["cumulative width"] * 2,
        "estimate": [0.31, -0.42, 0.63, -0.84],
        "low": [0.11, -0.72, 0.43, -0.94],
        "high": [0.57, -0.18, 0.79, -0.61],
        "n": [8, 7, 6, 5],
    }
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameter", "prefix", "unit", "titles"),
    [
        (
            *("cumulative depth", "d", "blocks"),
            ["ρ = 0.31 [0.11, 0.57], n = 8", "ρ = −0.42 [−0.72, −0.18], n = 7"],
        ),
        (
            *("cumulative width", "w", "channels"),
            ["ρ = 0.63 [0.43, 0.79], n = 6", "ρ = −0.84 [−0.94, −0.61], n = 5"],
        ),
    ],
)
def test_the_error_is_across_and_the_parameter_upwards(
    parameter: str, prefix: str, unit: str, titles: list[str]
) -> None:
    figure = plots.driver_grid(ERRORS, POPULATION, parameter, TABLE, {"x": "top1"})
    sums = POPULATION.set_index("architecture")
    sums = sums[f"{prefix}1"] + sums[f"{prefix}2"]
    for axes, name, best in zip(figure.axes, "xy", ("AB", "BE"), strict=True):
        points = marked(axes)
        assert points["^"] == {(ERRORS.loc[i, name], sums[i]) for i in best}
        assert set().union(*points.values()) == {(ERRORS.loc[i, name], sums[i]) for i in IDS}
    assert [axes.get_title() for axes in figure.axes] == titles
    assert [axes.get_xlabel() for axes in figure.axes] == ["top-1 error on x (%)", "error on y (%)"]
    labels = [axes.get_ylabel().replace("\n", " ") for axes in figure.axes]
    assert labels == [f"{parameter} ({unit})", ""]
    assert names(figure)[1:] == ["lowest 2 errors on the panel's dataset", "highest 2"]


def test_importance_of_every_parameter() -> None:
    table = pd.DataFrame(
        {
            "dataset": ["x"] * 4,
            "parameter": ["w1", "d1", "g1", "b1"],
            "importance": [0.42, 0.31, 0.03, 0.14],
            "low": [0.33, 0.22, 0.01, 0.05],
            "high": [0.56, 0.45, 0.07, 0.28],
            "r2": 0.68,
            "n": 90,
        }
    )
    figure = plots.importance_grid(table)
    (axes,) = figure.axes
    assert ticks(axes.yaxis) == ["d1", "w1", "b1", "g1"]
    assert [bar.get_width() for bar in axes.patches] == [0.31, 0.42, 0.14, 0.03]
    assert [bar.get_y() + bar.get_height() / 2 for bar in axes.patches] == pytest.approx(range(4))
    whiskers = next(each for each in axes.containers if hasattr(each, "has_xerr"))
    assert intervals(whiskers) == near(
        [(0, 0.31, 0.22, 0.45), (1, 0.42, 0.33, 0.56), (2, 0.14, 0.05, 0.28), (3, 0.03, 0.01, 0.07)]
    )
    assert axes.get_title() == "x\nR² 0.68, n = 90"
    assert axes.get_ylim() == (3.6, -0.6)
    assert names(figure) == ["depth", "width", "bottleneck ratio", "group width"]
    shown = [handle.get_facecolor() for handle in figure.legends[0].legend_handles]
    colours = [to_rgba(c) for c in (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE)]
    assert shown == [bar.get_facecolor() for bar in axes.patches] == colours
    unknown = table.assign(r2=np.nan)
    assert plots.importance_grid(unknown).axes[0].get_title() == "x\ntoo few, n = 90"


def test_the_best_configurations_stage_by_stage() -> None:
    given = Figure()
    figure = plots.configuration_grid(ERRORS, POPULATION, top=2, figure=given)
    assert figure is given
    table = apr.configurations(ERRORS, POPULATION, top=2)
    panels = np.array(figure.axes).reshape(4, 2)
    for row, parameter in enumerate(("depth", "width", "bottleneck ratio", "group width")):
        for column, dataset in enumerate("xy"):
            cells = table[(table["dataset"] == dataset) & (table["parameter"] == parameter)]
            axes = panels[row, column]
            (container,) = axes.containers
            ends = zip([1.12, 2.12], cells["mean"], cells["std"], strict=True)
            assert intervals(container, across=False) == near(
                [(place, mean, mean - std, mean + std) for place, mean, std in ends]
            )
            assert xy(axes.lines[-1]) == near(zip([0.88, 1.88], cells["best"], strict=True))
    best = POPULATION.set_index("architecture")
    assert list(panels[0, 0].lines[-1].get_ydata()) == list(best.loc["A", ["d1", "d2"]])
    assert list(panels[1, 1].lines[-1].get_ydata()) == list(best.loc["B", ["w1", "w2"]])
    assert [axes.get_title() for axes in panels[0]] == ["x", "y"]
    assert [axes.get_ylabel() for axes in panels[:, 0]] == [
        "depth\n(blocks)",
        "width\n(channels)",
        "bottleneck\nratio",
        "group width\n(channels)",
    ]
    said = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert said == ["best architecture", "mean ± standard deviation of the 2 best"]
    alone = plots.configuration_grid(ERRORS, POPULATION, top=1)
    assert names(alone) == ["best architecture", "mean ± standard deviation of the best alone"]
    handles = figure.axes[0].get_legend().legend_handles
    assert handles[0].get_color() == style.BLUE

"""Proxies: estimates, intervals, costs and regrets are where the tables say."""

import pandas as pd
import pytest
from artists import band, intervals, names, near, ticks, xy

from anynet_study import plots
from anynet_study.analysis.plots import style

FAMILY = {"small": 10, "large": 1000}
PROXIES = pd.DataFrame(
    {
        "target": ["t", "t", "u", "u"],
        "proxy": ["small", "large", "large", "small"],
        "estimate": [0.81, 0.72, 0.63, 0.34],
        "low": [0.51, 0.42, 0.23, -0.14],
        "high": [0.97, 0.88, 0.79, 0.65],
        "n": [40, 40, 39, 39],
    }
)


def test_each_proxy_has_a_dot_with_its_interval_on_each_target() -> None:
    table = PROXIES.copy()
    table.attrs = {"method": "pearson"}
    figure = plots.proxy_chart(table, FAMILY)
    (axes,) = figure.axes
    large, small = axes.containers
    assert intervals(large) == near([(-0.2, 0.72, 0.42, 0.88), (0.8, 0.63, 0.23, 0.79)])
    assert intervals(small) == near([(0.2, 0.81, 0.51, 0.97), (1.2, 0.34, -0.14, 0.65)])
    assert ticks(axes.yaxis) == ["t\nn = 40", "u\nn = 39"]
    assert axes.get_ylim() == (1.5, -0.5)
    assert names(figure) == ["large (1000 classes)", "small (10 classes)"]
    assert axes.get_xlabel() == "Pearson's r of the errors with those on the target"
    markers = [(c.lines[0].get_color(), c.lines[0].get_marker()) for c in (large, small)]
    assert markers == [style.SERIES[0], style.SERIES[1]]


def test_versions_of_the_source_are_told_apart() -> None:
    columns = {"target": ["t", "u"], "n": [21, 20]}
    for number, version in enumerate(("source", "images", "classes")):
        columns[f"rho_{version}"] = [0.5 + number / 10, 0.1 + number / 10]
        columns[f"rho_{version}_low"] = [0.41 + number / 10, 0.02 + number / 10]
        columns[f"rho_{version}_high"] = [0.56 + number / 10, 0.17 + number / 10]
    figure = plots.class_or_size_chart(pd.DataFrame(columns), ("whole", "half", "part"))
    (axes,) = figure.axes
    assert names(figure) == ["whole", "half", "part"]
    for number, container in enumerate(axes.containers):
        rows = intervals(container)
        assert [row[1] for row in rows] == pytest.approx([0.5 + number / 10, 0.1 + number / 10])
        assert rows[0][2:] == pytest.approx((0.41 + number / 10, 0.56 + number / 10))
    data = plots.class_or_size_data(pd.DataFrame(columns), ("whole", "half", "part"))
    assert list(data["proxy"]) == ["whole", "half", "part"] * 2
    assert list(data["n"]) == [21] * 3 + [20] * 3


def test_the_source_and_the_other_targets() -> None:
    table = pd.DataFrame(
        {
            "target": ["t", "u"],
            "rho_source": [0.61, 0.42],
            "rho_source_low": [0.33, 0.14],
            "rho_source_high": [0.85, 0.66],
            "rho_others": [0.5, 0.3],
            "rho_others_low": [0.4, 0.2],
            "rho_others_high": [0.6, 0.5],
            "rho_average": [0.27, 0.58],
            "rho_average_low": [0.09, 0.31],
            "rho_average_high": [0.52, 0.73],
            "n": [19, 18],
            "note": ["", "too few"],
        }
    )
    figure = plots.other_targets_chart(table, "imagenet")
    (axes,) = figure.axes
    source, one, average = axes.containers
    shown = [[where[1:] for where in intervals(bars)] for bars in (source, one, average)]
    assert shown[0] == near([(0.61, 0.33, 0.85), (0.42, 0.14, 0.66)])
    assert shown[1] == near([(0.5, 0.4, 0.6), (0.3, 0.2, 0.5)])
    assert shown[2] == near([(0.27, 0.09, 0.52), (0.58, 0.31, 0.73)])
    assert names(figure) == ["imagenet", "one other target", "average of the others"]
    assert ticks(axes.yaxis) == ["t\nn = 19", "u\ntoo few"]
    assert axes.get_xlabel() == "Spearman's ρ of the scores with those on the target"


def test_regret_of_every_proxy_and_of_chance() -> None:
    rows = [
        ("t", "small", 1, 4.1, 2.2, 6.3, 9.0),
        ("t", "small", 5, 1.4, 0.5, 3.6, 4.0),
        ("t", "large", 1, 2.7, 1.8, 5.9, 9.0),
        ("t", "large", 5, 0.9, 0.1, 1.2, 4.0),
    ]
    columns = ["target", "proxy", "top", "regret", "regret_low", "regret_high", "chance"]
    table = pd.DataFrame(rows, columns=columns).assign(n=33)
    assert "small" in names(plots.regret_grid(table, {"small": 0, "large": 0}))  # not known
    figure = plots.regret_grid(table, FAMILY)
    (axes,) = figure.axes
    large, small = axes.containers
    step = 0.175
    assert intervals(large, across=False) == near(
        [(-step, 2.7, 1.8, 5.9), (1 - step, 0.9, 0.1, 1.2)]
    )
    assert intervals(small, across=False) == near(
        [(step, 4.1, 2.2, 6.3), (1 + step, 1.4, 0.5, 3.6)]
    )
    chance = [xy(line) for line in axes.lines if line.get_linestyle() == "--"]
    assert chance == [near([(-0.42, 9.0), (0.42, 9.0)]), near([(0.58, 4.0), (1.42, 4.0)])]
    assert ticks(axes.xaxis) == ["the best", "best 5"]
    assert axes.get_title() == "t, n = 33"
    assert names(figure) == ["chosen at random", "large (1000 classes)", "small (10 classes)"]


def test_costs_are_across_and_correlations_upwards() -> None:
    table = pd.DataFrame(
        {
            "target": "t",
            "proxy": ["small", "large", "third"],
            "cost": [2.0, 30.0, 12.0],
            "estimate": [0.41, 0.92, 0.33],
            "low": [0.22, 0.73, 0.14],
            "high": [0.55, 0.98, 0.46],
            "on_front": [True, True, False],
            "n": 25,
        }
    )
    table.attrs = {"method": "kendall"}
    figure = plots.cost_grid(table, "seconds a run", FAMILY)
    (axes,) = figure.axes
    found = [intervals(container, across=False)[0] for container in axes.containers]
    assert found == near([(2, 0.41, 0.22, 0.55), (30, 0.92, 0.73, 0.98), (12, 0.33, 0.14, 0.46)])
    fills = [container.lines[0].get_markerfacecolor() for container in axes.containers]
    assert [fill == "white" for fill in fills] == [False, False, True]
    front = next(line for line in axes.lines if line.get_drawstyle() == "steps-post")
    assert xy(front) == [(2.0, 0.41), (30.0, 0.92)]
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "cost (seconds a run)"
    assert axes.get_ylabel() == "Kendall's τ with the target"
    assert names(figure) == ["large", "small", "third"]
    assert axes.containers[0].lines[0].get_marker() == style.SERIES[1][1]


def test_widths_measured_and_approximated() -> None:
    table = pd.DataFrame(
        {
            "n": [10, 40],
            "width": [0.81, 0.42],
            "width_low": [0.63, 0.34],
            "width_high": [0.95, 0.56],
            "fisher": [0.77, 0.38],
        }
    )
    figure = plots.width_grid({"a and b": table})
    (axes,) = figure.axes
    measured, fisher = axes.lines
    assert xy(measured) == [(10, 0.81), (40, 0.42)]
    assert xy(fisher) == [(10, 0.77), (40, 0.38)]
    corners = {(10.0, 0.63), (10.0, 0.95), (40.0, 0.34), (40.0, 0.56)}
    assert corners <= band(axes.collections[0])
    assert axes.get_title() == "a and b, n = 40"
    assert ticks(axes.xaxis) == ["10", "40"]
    assert names(figure)[1:] == ["bootstrap, median", "Fisher's approximation"]

"""Lines of accuracy on accuracy: points, bars, lines, regions and titles are the fits'."""

import numpy as np
import pandas as pd
import pytest
from artists import band, names, near, spans, xy
from matplotlib.collections import LineCollection

from anynet_study import apr, plots
from anynet_study.analysis.plots import style

IDS = list("ABCDEFGH")
X = [61.0, 62.5, 66.0, 70.0, 71.5, 75.0, 78.0, 82.0]
Y = [48.0, 52.0, 51.0, 57.5, 60.0, 59.0, 66.0, 69.0]
Z = [33.0, 31.0, 38.0, 40.0, 44.0, 43.0, 49.0, 47.0]
ACCURACIES = pd.DataFrame({"old": X, "new": Y, "far": Z}, index=IDS)
IMAGES = {"old": 500, "new": 200, "far": 100}


def line_of(table: pd.DataFrame, y: str, level: float = 0.95) -> apr.LinearFit:
    return apr.linear_fit(table["old"], table[y], level=level)


def test_a_fit_is_drawn_as_it_was_computed() -> None:
    fits = {y: line_of(ACCURACIES, y, 0.9) for y in ("new", "far")}
    figure = plots.fit_grid(ACCURACIES, "old", ["new", "far"], fits, IMAGES)
    data = plots.fit_data(ACCURACIES, "old", ["new", "far"], IMAGES, 0.9)
    for axes, (name, fit) in zip(figure.axes, fits.items(), strict=True):
        points, line, equal = axes.lines
        rows = data[data["y"] == name]
        assert xy(points) == list(zip(X, ACCURACIES[name], strict=True))
        region = fit.region()
        assert xy(line) == near(zip(region["x"], region["y"], strict=True))
        across, upwards, filled = axes.collections
        assert spans(across, across=True) == near(
            zip(rows["y_accuracy"], rows["x_low"], rows["x_high"], strict=True)
        )
        assert spans(upwards, across=False) == near(
            zip(rows["x_accuracy"], rows["y_low"], rows["y_high"], strict=True)
        )
        corners = band(filled)
        for end in ("low", "high"):
            assert set(zip(region["x"], region[end], strict=True)) <= corners
        assert all(x == y for x, y in xy(equal))
        slope = f"slope {fit.slope:.2f} [{fit.slope_low:.2f}, {fit.slope_high:.2f}]"
        assert axes.get_title() == f"{slope}\nadjusted R² = {fit.adjusted_r2:.3f}, n = 8"
        assert axes.get_xlabel() == "accuracy on old (%)"
        assert axes.get_ylabel() == f"accuracy on {name} (%)"
    assert names(figure) == [
        *("architecture, 90% Clopper-Pearson interval", "fit, 90% region", "equal")
    ]


def test_intervals_of_accuracies_are_those_of_their_errors() -> None:
    data = plots.fit_data(ACCURACIES, "old", ["far"], IMAGES)
    for axis, name in (("x", "old"), ("y", "far")):
        low, high = apr.binomial_interval(100 - ACCURACIES[name], IMAGES[name])
        np.testing.assert_allclose(data[f"{axis}_low"], 100 - high)
        np.testing.assert_allclose(data[f"{axis}_high"], 100 - low)


def test_architectures_without_both_accuracies_are_left_out() -> None:
    table = ACCURACIES.copy()
    table.loc["C", "new"] = np.nan
    figure = plots.fit_grid(table, "old", ["new"])
    (axes,) = figure.axes
    assert len(xy(axes.lines[0])) == 7
    assert "n = 7" in axes.get_title()
    assert names(figure)[0] == "architecture"


def test_lines_of_all_and_of_better_models() -> None:
    figure = plots.transfer_grid(ACCURACIES, "old", ["new"], above=65, spline=True)
    (axes,) = figure.axes
    points, *lines = axes.lines
    assert xy(points) == list(zip(X, Y, strict=True))
    found = {line.get_color(): line for line in lines}
    better = ACCURACIES[ACCURACIES["old"] > 65]
    titles = []
    for name, colour, table in (
        ("all", style.GREEN, ACCURACIES),
        ("above 65", style.ORANGE, better),
    ):
        fit = apr.linear_fit(table["old"], table["new"])
        region = fit.region()
        assert xy(found[colour]) == near(zip(region["x"], region["y"], strict=True))
        ends = f"[{fit.slope_low:.2f}, {fit.slope_high:.2f}]"
        titles.append(f"{name}: slope {fit.slope:.2f} {ends}, n = {len(table)}")
    assert axes.get_title() == "\n".join(titles)
    curve = apr.spline_fit(ACCURACIES["old"], ACCURACIES["new"])
    assert xy(found[style.PURPLE]) == near(zip(curve["x"], curve["y"], strict=True))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("accuracy on old (%)", "accuracy on new (%)")
    assert names(figure) == [
        "all models, 95% region",
        "models above 65, 95% region",
        "smoothing spline",
    ]


def test_a_region_stays_within_what_a_score_can_be() -> None:
    """One model far off leaves the line so uncertain that its region reached -200%."""
    scores = pd.DataFrame({"old": [60.0, 61, 62, 63, 64, 10], "new": [50.0, 55, 48, 60, 52, 30]})
    assert apr.linear_fit(scores["old"], scores["new"]).region()["low"].min() < 0
    (axes,) = plots.transfer_grid(scores, "old", ["new"]).axes
    low, high = axes.get_ylim()
    assert low > -10
    assert high < 110


def test_a_panel_without_a_line_says_why() -> None:
    figure = plots.transfer_grid(ACCURACIES, "old", ["new"], above=95)
    assert "above 95: no line, 0 architectures" in figure.axes[0].get_title()


def test_points_off_the_line_are_effectively_robust() -> None:
    table = pd.DataFrame(
        {
            "architecture": list("ABCD"),
            "shift": "snow",
            "base": [71.0, 62.0, 83.0, 94.0],
            "accuracy": [51.0, 46.0, 68.0, np.nan],
            "expected": [49.5, 44.5, 59.5, 70.0],
            "baseline": [True, True, False, True],
            "note": ["", "sampling error", "", "no accuracy"],  # the first is a remark
        }
    )
    figure = plots.effective_robustness_grid(table, "photos")
    (axes,) = figure.axes
    other, baseline, trend, equal = axes.lines
    assert xy(other) == [(83, 68)]
    assert xy(baseline) == [(62, 46), (71, 51)]
    assert (other.get_marker(), baseline.get_marker()) == ("^", "o")
    assert xy(trend) == [(62, 44.5), (71, 49.5), (83, 59.5)]
    assert all(x == y for x, y in xy(equal))
    assert axes.get_title() == "n = 3 (1 left out)"
    assert axes.get_xlabel() == "accuracy on photos (%)"
    assert axes.get_ylabel() == "accuracy on snow (%)"
    assert names(figure) == ["baseline architecture", "other", "trend of the baseline", "equal"]
    colours = [handle.get_color() for handle in figure.legends[0].legend_handles]
    assert colours == [style.BLUE, style.ORANGE, style.BLACK, style.GREY]
    alone = plots.effective_robustness_grid(table[table["baseline"]])
    # Equal accuracy is beyond its panels, and what is not drawn is not explained.
    assert names(alone) == ["baseline architecture", "trend of the baseline"]


def test_a_line_in_logits_says_so() -> None:
    fit = apr.linear_fit(ACCURACIES["old"], ACCURACIES["new"], "logit")
    (axes,) = plots.fit_grid(ACCURACIES, "old", ["new"], {"new": fit}).axes
    assert " in logits\n" in axes.get_title()
    assert f"{fit.slope:.2f}" in axes.get_title()
    assert xy(axes.lines[1])[0][1] == pytest.approx(fit.region()["y"].iloc[0])


def test_transfer_has_bars_where_the_numbers_of_images_are_known() -> None:
    scores = pd.DataFrame({"own": [60.0, 70, 75, 80, 90], "f1": [0.2, 0.3, 0.4, 0.45, 0.5]})
    ranges, images = {"f1": (0.0, 1.0)}, {"own": 400}
    figure = plots.transfer_grid(scores, "own", ranges=ranges, images=images)
    (axes,) = figure.axes
    (bars,) = (c for c in axes.collections if isinstance(c, LineCollection))
    low, high = apr.binomial_interval(100 - scores["own"], 400)
    spans = [tuple(segment[:, 0]) for segment in bars.get_segments()]
    assert spans == [pytest.approx(ends) for ends in zip(100 - high, 100 - low, strict=True)]
    assert [y for _, y in xy(axes.lines[0])] == pytest.approx([20, 30, 40, 45, 50])
    assert names(figure)[-1] == "95% Clopper-Pearson interval"

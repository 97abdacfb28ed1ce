"""Curves, durations and replicates: lines, bands and rows are the table's."""

import numpy as np
import pandas as pd
import pytest
import scipy
from artists import band, names, xy

from anynet_study import plots
from anynet_study.analysis.plots import style


def curves(architectures: int) -> pd.DataFrame:
    rows = [
        ("x", f"m{number}", epoch, 80.0 - 10 * epoch + 3 * number)
        for number in range(architectures)
        for epoch in (1, 2, 3)
    ]
    return pd.DataFrame(rows, columns=["dataset", "architecture", "epoch", "error"])


def test_curves_have_their_median_and_band() -> None:
    figure = plots.curve_grid(curves(5), {"x": "top5"})
    (axes,) = figure.axes
    (median,) = axes.lines
    assert xy(median) == [(1, 76), (2, 66), (3, 56)]
    assert median.get_color() == style.ORANGE
    single, filled = axes.collections
    assert {tuple(map(tuple, segment)) for segment in single.get_segments()} == {
        ((1, 70 + 3 * i), (2, 60 + 3 * i), (3, 50 + 3 * i)) for i in range(5)
    }
    corners = {(e, round(v, 6)) for e, v in band(filled)}
    assert {(1, 71.2), (1, 80.8), (3, 51.2), (3, 60.8)} <= corners
    assert axes.get_title() == "x, n = 5"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epoch", "top-5 test error (%)")
    assert names(figure) == ["median", "10% to 90% of the architectures", "single runs"]
    assert figure.legends[0].legend_handles[0].get_color() == style.ORANGE


def test_a_single_epoch_is_drawn_and_numbered() -> None:
    """Lines of one point would draw nothing at all."""
    table = curves(5)
    (axes,) = plots.curve_grid(table[table["epoch"] == 2]).axes
    (median,) = axes.lines
    assert xy(median) == [(1.8, 66), (2.2, 66)]
    single, filled = axes.collections
    assert len(single.get_segments()) == 5
    assert {(1.8, 61.2), (2.2, 70.8)} <= {(round(e, 6), round(v, 6)) for e, v in band(filled)}
    assert axes.get_xticks().tolist() == [2]
    assert axes.get_xlim() == (1.5, 2.5)


def test_single_runs_are_spread_from_best_to_worst() -> None:
    (axes,) = plots.curve_grid(curves(100)).axes
    finals = [segment[-1][1] for segment in axes.collections[0].get_segments()]
    assert len(finals) == 30
    assert finals == sorted(finals)
    assert (finals[0], finals[-1]) == (50, 50 + 3 * 99)


def test_how_soon_the_ranking_is_there() -> None:
    table = pd.DataFrame(
        {
            "dataset": ["x"] * 3,
            "epoch": [1, 5, 10],
            "estimate": [0.51, 0.82, 1.0],
            "low": [0.33, 0.74, 0.98],
            "high": [0.67, 0.91, 1.0],
            "n": [31, 31, 30],
        }
    )
    table = table.assign(kept=np.nan, kept_low=np.nan, kept_high=np.nan, kept_n=0)
    table.attrs = {"method": "kendall"}
    found = {"dataset": ["x"], "keep": 0.8, "epoch": 5, "share": 0.5, "epoch_sure": 10}
    found |= {"against": "the same run"}
    (axes,) = plots.duration_grid(table, pd.DataFrame(found)).axes
    line, keep, epoch = axes.lines
    assert xy(line) == [(1, 0.51), (5, 0.82), (10, 1.0)]
    assert {(1, 0.33), (1, 0.67), (5, 0.74), (5, 0.91)} <= band(axes.collections[0])
    assert xy(keep) == [(0, 0.8), (1, 0.8)]
    assert xy(epoch) == [(5, 0), (5, 1)]
    assert axes.get_title() == "x, n = 31\nτ ≥ 0.8 from epoch 5 on (50%)"
    assert axes.get_ylabel() == "τ with the last epoch"
    (axes,) = plots.duration_grid(table).axes
    assert len(axes.lines) == 1
    twice = table.assign(kept=[0.6, 0.9, 1.0], kept_low=0.5, kept_high=1.1, kept_n=30)
    (axes,) = plots.duration_grid(twice, pd.DataFrame(found | {"against": "another run"})).axes
    assert xy(axes.lines[1]) == [(1, 0.6), (5, 0.9), (10, 1.0)]
    assert {(1, 0.5), (10, 1.1)} <= band(axes.collections[1])
    assert axes.get_title() == "x, n = 31\n80% kept from epoch 5 on (50%)"


def replicates() -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = [("x", f"m{i}", 0, 20.0 + i) for i in range(12)]
    rows += [("x", "m3", 1, 25.0), ("x", "m7", 1, 26.5), ("x", "m7", 2, 29.0)]
    noise = {"dataset": ["x"], "icc": 0.81, "icc_low": 0.42, "icc_high": 0.93}
    noise |= {"within_std": 1.26, "between_std": 3.74, "architectures": 2}
    columns = ["dataset", "architecture", "replicate", "error"]
    return pd.DataFrame(rows, columns=columns), pd.DataFrame(noise)


def test_replicates_are_rows_below_the_population() -> None:
    axes, upper = plots.noise_grid(*replicates(), {"x": "top1"}).axes
    lines = [xy(line) for line in axes.lines]
    assert lines == [
        [(23, 0), (25, 0)],
        [(23, 0), (25, 0)],
        [(26.5, 1), (29, 1)],
        [(27, 1), (26.5, 1), (29, 1)],
    ]
    low, high = axes.get_ylim()
    assert low > high  # the best on top
    means = [20.0, 21, 22, 24, 24, 25, 26, 27.5, 28, 29, 30, 31]
    assert sorted(x for x, _ in xy(upper.lines[-1])) == pytest.approx(means)
    assert axes.get_title() == "sd within 1.3, between 3.7\nICC 0.81 [0.42, 0.93], n = 2"
    assert axes.get_xlabel() == "top-1 error on x (%)"


def test_many_replicates_are_densities_each_in_a_colour_of_its_own() -> None:
    """As high as their rows, by SciPy's estimate of the density; few replicates stay points."""
    generator = np.random.default_rng(0)
    rows = [("x", f"a{i}", 0, 20.0 + i) for i in range(12)]
    for name, mean in (("best", 19.0), ("worst", 33.0)):
        rows += [("x", name, r, mean + 0.3 * generator.normal()) for r in range(25)]
    rows += [("x", "few", r, 25.0 + r) for r in range(3)]
    table = pd.DataFrame(rows, columns=["dataset", "architecture", "replicate", "error"])
    figure = plots.noise_grid(table, replicates()[1])
    axes, _ = figure.axes
    assert names(figure) == [
        *("population", "replicates of one architecture"),
        *("replicates of best", "replicates of worst"),
    ]
    for height, (name, colour) in {0: ("best", style.ORANGE), 2: ("worst", style.PURPLE)}.items():
        errors = table.loc[table["architecture"] == name, "error"].to_numpy()
        curve = next(
            line
            for line in axes.lines
            if line.get_color() == colour
            and line.get_marker() == "None"
            and len(line.get_xdata()) > 2
        )
        density = scipy.stats.gaussian_kde(errors)(np.asarray(curve.get_xdata()))
        drawn = height - np.asarray(curve.get_ydata())
        np.testing.assert_allclose(drawn / drawn.max(), density / density.max())
        assert 0 < drawn.max() < 1
    points = [line for line in axes.lines if line.get_marker() == "o"]
    assert sorted(points[0].get_xdata()) == [25.0, 26.0, 27.0]


def test_too_few_replicates_are_told_of() -> None:
    table, noise = replicates()
    (axes, _) = plots.noise_grid(table, noise.assign(icc=np.nan)).axes
    assert axes.get_title() == "too few replicates"
    far = pd.concat([table, pd.DataFrame([("x", "far", 0, 99.0)], columns=table.columns)])
    axes, upper = plots.noise_grid(far, noise).axes
    assert [text.get_text() for text in axes.texts] == ["1 off scale"]
    assert max(x for x, _ in xy(upper.lines[-1])) == 31


def test_the_best_and_worst_at_an_epoch_have_their_own_colours() -> None:
    """By default those at the last epoch; also where that epoch is not drawn."""
    ends = dict(zip("abcd", (40.0, 30.0, 20.0, 10.0), strict=True))
    rows = [("x", m, e, ends[m] + (e == 1) * 40 * (m == "d")) for m in ends for e in (1, 2)]
    curves = pd.DataFrame(rows, columns=["dataset", "architecture", "epoch", "error"])
    for at, best, worst in (({"x": 1}, 20, (50, 10)), ({}, 10, (40, 40))):
        figure = plots.curve_grid(curves, marked=plots.best_and_worst(curves, 1, at))
        (axes,) = figure.axes
        coloured = {line.get_color(): xy(line) for line in axes.lines}
        assert coloured[style.TOP][1] == (2, best)
        assert coloured[style.WORST] == [(1, worst[0]), (2, worst[1])]
        epoch = at.get("x", 2)
        assert names(figure)[-2:] == [f"1 best at epoch {epoch}", f"1 worst at epoch {epoch}"]
    marked = plots.best_and_worst(curves, 9, {"x": 1})
    assert list(marked["architecture"]) == ["c", "b", "a", "d"], "half of the runs at most"
    later = plots.curve_grid(curves[curves["epoch"] > 1], marked=marked)
    assert {"2 best at epoch 1", "2 worst at epoch 1"} <= set(names(later))

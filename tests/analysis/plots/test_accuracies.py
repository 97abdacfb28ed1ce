"""Accuracies by architecture, bin and label set: dots, whiskers and names are the table's."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from artists import intervals, names, near, ticks, xy
from matplotlib.backends.backend_agg import FigureCanvasAgg

from anynet_study import plots
from anynet_study.analysis.plots import style
from anynet_study.core.errors import UserError


def test_what_is_lost_on_a_new_test_set() -> None:
    table = pd.DataFrame(
        {
            "architecture": ["A", "B", "C"],
            "original": [91.0, 88.0, 75.0],
            "new": [80.9, 76.2, 66.1],
            "gap": [10.1, 11.8, 8.9],
            "gap_low": [8.2, 9.3, 7.4],
            "gap_high": [12.5, 13.6, 9.7],
            "original_rank": [1, 2, 3],
            "new_rank": [2, 3, 1],
        }
    )
    (axes,) = plots.gap_chart(table, "old", "fresh").axes
    (container,) = axes.containers
    assert intervals(container) == near(
        [(0, 10.1, 8.2, 12.5), (1, 11.8, 9.3, 13.6), (2, 8.9, 7.4, 9.7)]
    )
    assert ticks(axes.yaxis) == ["A (1 → 2)", "B (2 → 3)", "C (3 → 1)"]
    assert axes.get_ylim() == (2.6, -0.6)  # the best on top
    assert axes.get_title() == "n = 3, rank on old → fresh"
    assert axes.get_xlabel() == "accuracy on old − on fresh (points)"
    many = pd.concat([table] * 20, ignore_index=True)
    (axes,) = plots.gap_chart(many.drop(columns=["gap_low", "gap_high"]), "old", "fresh").axes
    assert axes.get_title().startswith("best 50 of 60")
    assert len(xy(axes.lines[0])) == 50


def test_accuracy_over_the_baseline() -> None:
    table = pd.DataFrame(
        {
            "dataset": ["x", "x", "x", "y", "y", "y"],
            "architecture": ["A", "B", "C"] * 2,
            "relative": [1.2, 0.8, 1.0, 1.5, 1.1, 0.7],
            "relative_low": [1.1, 0.7, 0.9, 1.3, 1.05, 0.6],
            "relative_high": [1.4, 0.95, 1.05, 1.8, 1.2, 0.85],
        }
    )
    figure = plots.improvement_chart(table, "C")
    (axes,) = figure.axes
    x, y = axes.containers
    assert intervals(x, across=False) == near(
        [(-0.125, 0.8, 0.7, 0.95), (0.875, 1.0, 0.9, 1.05), (1.875, 1.2, 1.1, 1.4)]
    )
    assert intervals(y, across=False) == near(
        [(0.125, 1.1, 1.05, 1.2), (1.125, 0.7, 0.6, 0.85), (2.125, 1.5, 1.3, 1.8)]
    )
    assert ticks(axes.xaxis) == ["B", "C", "A"]
    assert axes.get_ylabel() == "accuracy over that of\nC"
    assert axes.get_title() == "n = 3, bars: sampling error"
    assert names(figure) == ["x", "y"]
    assert [xy(line) for line in axes.lines if line.get_linestyle() == ":"] == [[(0, 1), (1, 1)]]
    bare = table.drop(columns=["relative_low", "relative_high"])
    assert plots.improvement_chart(bare).axes[0].get_title() == "n = 3"


def bins(mean: list[float], low: list[float], high: list[float]) -> pd.DataFrame:
    table = pd.DataFrame({"bin": ["few", "more", "most"], "architectures": [30, 31, 7]})
    table = table.assign(averaged=[10, 10, 7], mean=mean, low=low, high=high)
    return table.assign(**{"from": [0.0, 5.0, 9.0], "to": [5.0, 9.0, 20.0]})


def test_the_best_of_each_bin() -> None:
    first = bins([61.0, 72.0, 83.0], [58.0, 70.0, 80.0], [65.0, 75.0, 89.0])
    first.attrs = {"level": 0.9}
    second = bins([41.0, 32.0, 53.0], [38.0, 30.0, 50.0], [45.0, 35.0, 59.0])
    figure = plots.bin_chart({"x": first, "y": second}, "parameters", "accuracy (%)")
    (axes,) = figure.axes
    x, y = axes.containers
    assert intervals(x, across=False) == near(
        [(-0.06, 61, 58, 65), (0.94, 72, 70, 75), (1.94, 83, 80, 89)]
    )
    assert intervals(y, across=False) == near(
        [(0.06, 41, 38, 45), (1.06, 32, 30, 35), (2.06, 53, 50, 59)]
    )
    assert x.lines[0].get_linestyle() == "-"
    assert ticks(axes.xaxis) == ["few\n10 of 30", "more\n10 of 31", "most\nall 7"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "parameters",
        "mean of the best,\naccuracy (%)",
    )
    assert axes.get_title() == "bars: 90% bootstrap intervals"
    assert names(figure) == ["x", "y"]
    (axes,) = plots.bin_chart({"x": first.assign(**{"from": np.nan})}, "kind", "score").axes
    assert axes.containers[0].lines[0].get_linestyle() == "None"


def test_bins_that_a_score_lacks_are_left_empty() -> None:
    whole = bins([61, 72, 83], [58, 70, 80], [65, 75, 89])
    (axes,) = plots.bin_chart({"few": whole[:1], "all": whole}, "parameters", "score").axes
    few, of_all = axes.containers
    assert intervals(few, across=False) == near([(-0.06, 61, 58, 65)])
    assert len(intervals(of_all, across=False)) == len(ticks(axes.xaxis)) == 3


def label_sets(models: int) -> pd.DataFrame:
    rows = []
    for model in range(models):
        for place, (name, classes, images) in enumerate(
            [("5 classes", 5, 50), ("animals", 3, 30), ("all", 10, 100)]
        ):
            accuracy = 60.0 + 3 * model + 7 * place
            ends = (accuracy - 1 - place, accuracy + 2 + place)
            rows.append((f"m{model}", name, classes, images, accuracy, *ends))
    columns = ["architecture", "label_set", "classes", "images", "accuracy", "low", "high"]
    return pd.DataFrame(rows, columns=columns).astype({"classes": float, "images": float})


def test_accuracy_on_every_label_set() -> None:
    table = label_sets(2)
    table.attrs = {"level": 0.99}
    figure = plots.label_set_chart(table)
    (axes,) = figure.axes
    first, second = axes.containers
    # In the order of their classes: 3, 5, 10.
    assert intervals(first, across=False) == near(
        [(0, 67, 65, 70), (1, 60, 59, 62), (2, 74, 71, 78)]
    )
    assert intervals(second, across=False) == near(
        [(0, 70, 68, 73), (1, 63, 62, 65), (2, 77, 74, 81)]
    )
    assert ticks(axes.xaxis) == [
        *("animals\n3 classes\n30 images", "5 classes\n50 images", "all\n10 classes\n100 images")
    ]
    assert names(figure) == ["m0", "m1"]
    assert axes.get_title() == "n = 2, bars: 99% Clopper-Pearson"


def test_many_architectures_are_grey_below_their_mean() -> None:
    table = label_sets(8)
    figure = plots.label_set_chart(table)
    (axes,) = figure.axes
    *lines, mean = axes.lines
    assert {tuple(line.get_ydata()) for line in lines} == {
        (67.0 + 3 * model, 60.0 + 3 * model, 74.0 + 3 * model) for model in range(8)
    }
    assert list(mean.get_ydata()) == pytest.approx([77.5, 70.5, 84.5])
    assert {line.get_color() for line in lines} == {style.GREY}
    assert names(figure) == ["mean", "architectures"]
    assert figure.legends[0].get_lines()[0].get_color() == mean.get_color()
    assert axes.get_title() == "n = 8"


def budget(sizes: list[int], sources: list[str]) -> pd.DataFrame:
    rows = [
        {"recipe": recipe, "dataset": f"d{i}", "images_of": of, "train_images": size}
        | {"base": 60.0 + i, "average": 30.0 + i - shift, "n": 9}
        for shift, recipe in enumerate(("labels", "texts"))
        for i, (size, of) in enumerate(zip(sizes, sources, strict=True))
    ]
    return pd.DataFrame(rows)


def test_accuracies_by_data_budget() -> None:
    table = budget([1300, 130, 1300], ["in100", "in100", "oi100"])
    figure = plots.budget_chart(table)
    (axes,) = figure.axes
    lines = [(xy(line), line.get_linestyle(), line.get_markerfacecolor()) for line in axes.lines]
    # Other images of equal number are not joined with these.
    assert [points for points, _, _ in lines] == [
        [(130, 61), (1300, 60)],
        [(130, 31), (1300, 30)],
        [(1300, 62)],
        [(1300, 32)],
        [(130, 61), (1300, 60)],
        [(130, 30), (1300, 29)],
        [(1300, 62)],
        [(1300, 31)],
    ]
    assert {line.get_marker() for line in axes.lines[:2]} == {"o"}
    assert {line.get_marker() for line in axes.lines[2:4]} == {"s"}
    assert [style == "--" and face == "white" for _, style, face in lines] == [False, True] * 4
    told = ["labels", "texts", "images of in100", "images of oi100", "shifted test sets"]
    assert names(figure) == told


@pytest.mark.parametrize("sizes", [[1300, 130], [128_000, 16_000], [500, 700]])
def test_numbers_of_images_are_readable_and_apart(sizes: list[int]) -> None:
    figure = plots.budget_chart(budget(sizes, ["a", "b"]))
    (axes,) = figure.axes
    FigureCanvasAgg(figure).draw()
    low, high = axes.get_xlim()
    shown = [label for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high]
    assert len(shown) >= 1
    assert all(re.fullmatch(r"\d+[kM]?", label.get_text()) for label in shown)
    boxes = [label.get_window_extent() for label in shown]
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))


def bins_of(count: int) -> dict[str, pd.DataFrame]:
    columns = {"bin": ["few", "more", "most"], "from": [1.0, 2.0, 3.0], "mean": [70.0, 71.0, 72.0]}
    counts = {"averaged": 3, "architectures": 9}
    return {f"d{i}": pd.DataFrame({**columns, **counts}) for i in range(count)}


def test_more_lines_than_looks_are_refused() -> None:
    with pytest.raises(UserError, match="13 lines are more than the 12 that fit a figure"):
        plots.bin_chart(bins_of(13), "size", "accuracy (%)")

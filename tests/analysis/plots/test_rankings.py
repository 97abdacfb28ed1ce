"""Rankings: every line, bar and name is that of the table."""

import pandas as pd
import pytest
from artists import names, near, spans, ticks, xy

from anynet_study import plots
from anynet_study.analysis.plots import style


def test_each_architecture_has_a_line_of_its_ranks() -> None:
    table = pd.DataFrame(
        {
            "dataset": ["x"] * 3 + ["y"] * 3,
            "architecture": ["A", "B", "C"] * 2,
            "rank": [2, 1, 3, 3, 2, 1],
            "rank_best": [1, 1, 3, 2, 2, 1],
            "rank_worst": [2, 2, 3, 3, 3, 1],
        }
    )
    (axes,) = plots.rank_preservation_chart(table).axes
    shifts = {"B": -0.15, "A": 0.0, "C": 0.15}
    lines = {line.get_color(): line for line in axes.lines}
    bars = {tuple(bar.get_edgecolor()[0][:3]): bar for bar in axes.collections}
    for (name, shift), (colour, marker) in zip(shifts.items(), style.SERIES, strict=False):
        rows = table[table["architecture"] == name]
        expected = [(place + shift, rank) for place, rank in enumerate(rows["rank"])]
        assert xy(lines[colour]) == near(expected)
        assert lines[colour].get_marker() == marker
        from matplotlib.colors import to_rgb

        ends = rows[["rank_best", "rank_worst"]].itertuples(index=False)
        assert spans(bars[to_rgb(colour)], across=False) == near(
            [(place + shift, *end) for place, end in enumerate(ends)]
        )
    assert ticks(axes.yaxis) == ["B  1", "A  2", "C  3"]
    assert ticks(axes.xaxis) == ["x", "y"]
    assert axes.get_ylim() == (3.6, 0.4)  # rank 1 on top
    assert axes.get_title() == "n = 3"


def test_of_many_architectures_some_are_drawn_from_the_best_to_the_worst() -> None:
    ranks = [*range(1, 51)]
    same = {"architecture": [f"m{rank:02d}" for rank in ranks], "rank": ranks}
    table = pd.DataFrame({"dataset": "x", **same, "rank_best": ranks, "rank_worst": ranks})
    both = pd.concat([table, table.assign(dataset="y", rank=ranks[::-1])])
    (axes,) = plots.rank_preservation_chart(both).axes
    assert ticks(axes.yaxis)[:2] == ["m01  1", "m05  5"]
    assert ticks(axes.yaxis)[-1] == "m50  50"
    assert len(axes.lines) == len(axes.get_yticks()) == 12
    drawn = {round(line.get_ydata()[0]): line.get_ydata()[1] for line in axes.lines}
    assert (drawn[1], drawn[5]) == (50, 46)
    assert axes.get_title().startswith("12 of 50, evenly spread")


def test_ranks_over_further_test_sets() -> None:
    table = pd.DataFrame(
        {
            "architecture": ["A", "B", "C"],
            "mean": [21.04, 23.36, 27.58],
            "rank": [1.5, 2.5, 3.25],
            "rank_low": [1.25, 2.0, 3.0],
            "rank_high": [2.0, 2.75, 3.5],
            "rank_best": [1.0, 1.75, 2.25],
            "rank_worst": [4.0, 5.0, 6.0],
            "evaluations": 7,
        }
    )
    figure = plots.shift_rank_chart(table, top=2)
    (axes,) = figure.axes
    assert xy(axes.lines[0]) == [(1.5, 0), (2.5, 1)]
    single, mean = axes.collections
    assert spans(single, across=True) == [(0, 1.0, 4.0), (1, 1.75, 5.0)]
    assert spans(mean, across=True) == [(0, 1.25, 2.0), (1, 2.0, 2.75)]
    assert ticks(axes.yaxis) == ["A (21.0%)", "B (23.4%)"]
    assert axes.get_title() == "mean error over 7 evaluations, 2 best of 3"
    assert names(figure) == ["rank of the mean", "its interval", "best to worst single rank"]
    _, interval, ends = figure.legends[0].legend_handles
    assert interval.get_linewidth() == pytest.approx(2.2)
    assert ends.get_linewidth() == pytest.approx(0.7)

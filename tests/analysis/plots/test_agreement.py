"""Two trainings against each other: the axes, points and titles are not swapped."""

import pandas as pd
import pytest
from artists import marked, names, xy

from anynet_study import plots

BEFORE = pd.DataFrame(
    {"s": [10.0, 30.0, 20.0, 40.0], "t": [51.0, 53.0, 57.0, 55.0]}, index=list("ABCD")
)
AFTER = pd.DataFrame(
    {"s": [12.0, 26.0, 23.0, 35.0], "t": [41.0, 48.0, 44.0, 46.0]}, index=list("ABCD")
)
TABLE = pd.DataFrame(
    {
        "dataset": ["t"],
        "estimate": [0.61],
        "low": [0.22],
        "high": [0.93],
        "change": [-9.25],
        "change_low": [-11.5],
        "change_high": [-7.75],
        "source_before": [0.41],
        "source_before_low": [0.12],
        "source_before_high": [0.73],
        "source_after": [0.84],
        "source_after_low": [0.35],
        "source_after_high": [0.96],
        "n": [4],
        "source_n": [4],
    }
)


def test_errors_before_are_across_and_after_upwards() -> None:
    table = TABLE.copy()
    table.attrs = {"method": "pearson"}
    figure = plots.agreement_grid(BEFORE, AFTER, table, ("top-1", "top-5"))
    (axes,) = figure.axes
    points = marked(axes)
    assert points["^"] == {(51.0, 41.0)}  # lowest after
    assert points["X"] == {(53.0, 48.0)}  # highest after
    assert points["o"] == {(57.0, 44.0), (55.0, 46.0)}
    assert axes.get_title() == ("t\nr = 0.61 [0.22, 0.93], n = 4\nchange −9.2 [−11.5, −7.8]")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("error, top-1 (%)", "error, top-5 (%)")
    data = plots.agreement_data(BEFORE, AFTER, ["t", "s"])
    assert list(data["dataset"]) == ["t"] * 4 + ["s"] * 4
    assert list(data["after"]) == [*AFTER["t"], *AFTER["s"]]
    assert list(data["mark"]) == ["top", "worst", "", "", "top", "", "", "worst"]


def test_the_line_of_equal_errors_is_explained_where_it_is() -> None:
    for dataset, ends in (("s", [(12, 12), (35, 35)]), ("t", [])):
        figure = plots.agreement_grid(BEFORE, AFTER, TABLE.assign(dataset=dataset))
        (axes,) = figure.axes
        lines = [xy(line) for line in axes.lines if line.get_linestyle() == "--"]
        assert len(lines) == bool(ends)
        for (low, _), (high, _) in lines:
            assert (low < ends[0][0], high > ends[1][0]) == (True, True)
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert ("equal errors" in labels) == bool(ends)
        assert axes.get_ylim()[0] > 10  # no room is made for it


def test_both_recipes_are_against_the_source_before() -> None:
    both = pd.concat([TABLE.assign(dataset="s"), TABLE])  # none of the source itself
    figure = plots.source_by_recipe_grid(BEFORE, AFTER, both, "s", ("scratch", "pretrained"))
    (axes,) = figure.axes
    before, after = axes.lines
    assert xy(before) == [(10, 51), (30, 53), (20, 57), (40, 55)]
    assert xy(after) == [(10, 41), (30, 48), (20, 44), (40, 46)]
    assert (before.get_label(), after.get_label()) == ("scratch", "pretrained")
    assert (before.get_marker(), after.get_marker()) == ("o", "s")
    assert axes.get_title() == (
        "t, n = 4\nscratch: ρ = 0.41 [0.12, 0.73]\npretrained: ρ = 0.84 [0.35, 0.96]"
    )
    assert axes.get_xlabel() == "error on s (%)"
    assert names(figure) == ["scratch", "pretrained"]


@pytest.mark.parametrize("missing", ["before", "after"])
def test_architectures_without_both_errors_are_not_drawn(missing: str) -> None:
    before, after = BEFORE.copy(), AFTER.copy()
    (before if missing == "before" else after).loc["C", "t"] = float("nan")
    data = plots.agreement_data(before, after, ["t"])
    assert list(data["architecture"]) == ["A", "B", "D"]

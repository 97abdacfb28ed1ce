"""Errors against errors: every point, marker, number and label is that of the table."""

import numpy as np
import pandas as pd
import pytest
from artists import marked, names
from matplotlib.patches import Rectangle

from anynet_study import plots

ERRORS = pd.DataFrame(
    {
        "a": [11.0, 22.0, 33.0, 44.0, 55.0, 66.0, 77.0, 88.0],
        "b": [31.0, 12.0, 43.0, 54.0, 25.0, 76.0, 67.0, 81.0],
        "c": [91.0, 82.0, 13.0, 24.0, 45.0, 36.0, 57.0, 68.0],
    },
    index=list("ABCDEFGH"),
)
TABLE = pd.DataFrame(
    {
        "source": ["a", "a", "b"],
        "target": ["b", "c", "c"],
        "estimate": [0.81, -0.72, 0.13],
        "low": [0.51, -0.92, -0.23],
        "high": [0.97, -0.31, 0.44],
        "p": [0.01, 0.02, 0.03],
        "n": [8, 7, 6],
    }
)


def points(x: str, y: str, ids: str) -> set[tuple[float, float]]:
    return {(ERRORS.loc[i, x], ERRORS.loc[i, y]) for i in ids}


def test_a_panel_has_the_errors_of_its_pair() -> None:
    first, second = plots.scatter_grid(ERRORS, [("a", "b"), ("c", "a")], TABLE, {"a": "top5"}).axes
    # A quarter of eight at either end of the y axis.
    assert marked(first) == {
        "o": points("a", "b", "ACDG"),
        "^": points("a", "b", "BE"),
        "X": points("a", "b", "FH"),
    }
    assert marked(second) == {
        "o": points("c", "a", "CDEF"),
        "^": points("c", "a", "AB"),
        "X": points("c", "a", "GH"),
    }
    assert first.get_title() == "ρ = 0.81 [0.51, 0.97], n = 8"
    assert second.get_title() == "ρ = −0.72 [−0.92, −0.31], n = 7"
    assert (first.get_xlabel(), first.get_ylabel()) == ("top-5 error on a (%)", "error on b (%)")
    assert (second.get_xlabel(), second.get_ylabel()) == ("error on c (%)", "top-5 error on a (%)")


def test_the_letter_is_that_of_the_method_and_the_legend_counts() -> None:
    table = TABLE.copy()
    table.attrs = {"method": "kendall"}
    figure = plots.scatter_grid(ERRORS, [("a", "b")], table)
    assert figure.axes[0].get_title().startswith("τ = 0.81")
    assert names(figure) == ["architecture", "lowest 2 errors on the y axis", "highest 2"]
    figure = plots.scatter_grid(ERRORS[:6], [("a", "b")], table)
    assert names(figure) == ["architecture", "lowest error on the y axis", "highest error"]


def test_a_diverged_run_is_at_the_edge_and_counted() -> None:
    errors = pd.DataFrame({"x": np.arange(20.0), "y": [*np.arange(20.0, 39.0), 95.0]})
    (axes,) = plots.scatter_grid(errors, [("x", "y")], count=1).axes
    (edge,) = marked(axes)["X"]
    assert edge == (19.0, axes.get_ylim()[1])
    assert 38 < edge[1] < 45
    (note,) = axes.texts
    assert note.get_text() == "1 off scale"
    assert note.get_position()[1] < 0.1  # below, as the points at the right are above
    (axes,) = plots.scatter_grid(errors.assign(x=-errors["x"]), [("x", "y")], count=1).axes
    assert axes.texts[0].get_position()[1] > 0.9


def test_panels_of_the_caller_are_drawn_in() -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots(1, 2)
    assert plots.scatter_grid(ERRORS, [("a", "b"), ("a", "c")], TABLE, axes=axes) is figure
    assert marked(axes[1])["^"] == points("a", "c", "CD")
    assert not figure.legends
    assert axes[0].get_legend() is not None
    with pytest.raises(ValueError, match="axes: 2 are given; the figure has 3 panels"):
        plots.scatter_grid(ERRORS, [("a", "b")] * 3, TABLE, axes=axes)


def test_the_matrix_has_points_below_and_correlations_above_the_diagonal() -> None:
    figure = plots.scatter_matrix(ERRORS, TABLE)
    cells = {
        (panel.get_subplotspec().rowspan.start, panel.get_subplotspec().colspan.start): panel
        for panel in figure.axes
    }
    assert set(cells) == {(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)}
    assert marked(cells[1, 0])["^"] == points("a", "b", "BE")
    assert marked(cells[2, 0])["X"] == points("a", "c", "AB")
    assert marked(cells[2, 1])["o"] == points("b", "c", "EFGH")
    assert sum(bar.get_height() for bar in cells[1, 1].patches) == 8
    edges = [cells[1, 1].patches[0].get_x(), cells[1, 1].patches[-1].get_x()]
    assert edges[0] == pytest.approx(12)
    assert edges[1] + cells[1, 1].patches[-1].get_width() == pytest.approx(81)
    assert [cells[2, j].get_xlabel() for j in range(3)] == ["a", "b", "c"]
    assert [cells[i, 0].get_ylabel() for i in range(3)] == ["a", "b", "c"]
    for place in range(3):  # ticks are on the outer edges
        assert len({cells[i, place].get_xlim() for i in range(place, 3)}) == 1
        assert len({cells[place, j].get_ylim() for j in range(place)}) <= 1
    texts = {}
    for text in figure.texts:
        texts.setdefault(round(text.get_position()[0], 3), []).append(text)
    by_cell = sorted(texts.items())
    assert [text.get_text() for text in by_cell[0][1]] == ["0.81", "[0.51, 0.97]", "n = 8"]
    right = sorted(by_cell[1][1], key=lambda text: -text.get_position()[1])
    assert [text.get_text() for text in right] == [
        *("−0.72", "[−0.92, −0.31]", "n = 7", "0.13", "[−0.23, 0.44]", "n = 6")
    ]
    shades = [each.get_facecolor() for each in figure.artists if isinstance(each, Rectangle)]
    assert len(shades) == 3
    assert shades[0][0] < shades[0][2]  # blue: positive
    assert shades[1][0] > shades[1][2]  # orange: negative

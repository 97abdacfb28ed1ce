"""Figures that are made to measure: their width, letters, names and style."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from figure_faults import faults
from matplotlib.text import Text

from anynet_study import apr, plots
from anynet_study.analysis.plots import Look, length, new_names, style
from anynet_study.core.errors import UserError

NAMES = ["imagenetv2-matched-frequency", "val", "val-2"]


@pytest.fixture(scope="module")
def errors() -> pd.DataFrame:
    generator = np.random.default_rng(0)
    return pd.DataFrame(generator.normal(30, 5, (20, 3)), columns=NAMES)


def texts(figure: mpl.figure.Figure) -> set[str]:
    figure.canvas.draw()
    return {text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)}


@pytest.mark.parametrize(
    ("text", "inches"),
    [("8.5cm", 3.346), ("85mm", 3.346), ("3.4in", 3.4), ("245pt", 3.403), ("", None)],
)
def test_lengths(text: str, inches: float | None) -> None:
    assert length("--width", text) == (inches and pytest.approx(inches, abs=1e-3))


@pytest.mark.parametrize("text", ["3m", "8.5", "1.2.3cm", "0.1cm", "9in9", "500cm"])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=f"--width: '{text}'; legal: 8.5cm"):
        length("--width", text)


@pytest.mark.parametrize("draw", [plots.scatter_matrix, plots.correlation_heatmap])
def test_a_figure_has_the_width_and_the_names(draw, errors: pd.DataFrame) -> None:
    table = apr.correlations(errors, resamples=100)
    arguments = (table,) if draw is plots.correlation_heatmap else (errors, table)
    own = draw(*arguments).get_size_inches()
    look = Look(3.3, 12.0, {"val": "ImageNet", NAMES[0]: "V2"})
    with look.drawing():
        figure = draw(*arguments)
        sizes = [text.get_fontsize() for text in figure.findobj(Text)]
        look.apply(figure)
    assert figure.get_size_inches() == pytest.approx([3.3, 3.3 * own[1] / own[0]])
    shown = texts(figure)
    assert {"ImageNet", "V2", "val-2"} <= shown
    assert not {text for text in shown if text == "val" or "…" in text or "imagenetv2" in text}
    assert max(text.get_fontsize() for text in figure.findobj(Text)) == pytest.approx(
        max(sizes) * 12 / 7.5
    )
    assert draw(*arguments).get_figwidth() == own[0]


def test_a_style_of_ones_own(tmp_path: Path, errors: pd.DataFrame) -> None:
    path = tmp_path / "mine.mplstyle"
    path.write_text("axes.facecolor: 112233\n")
    with Look(style=str(path)).drawing():
        figure = plots.scatter_grid(errors, [("val", "val-2")])
    assert mpl.colors.to_hex(figure.axes[0].get_facecolor()) == "#112233"
    plain = plots.scatter_grid(errors, [("val", "val-2")])
    assert mpl.colors.to_hex(plain.axes[0].get_facecolor()) == "#ffffff"
    with pytest.raises(UserError, match="--style nosuch: "), Look(style="nosuch").drawing():
        pass


def test_names_are_of_datasets() -> None:
    assert new_names("--rename", ["val=ImageNet,val-2=B"], NAMES) == {
        "val": "ImageNet",
        "val-2": "B",
    }
    with pytest.raises(UserError, match="--rename: 'val' is not OLD=NEW"):
        new_names("--rename", ["val"], NAMES)
    with pytest.raises(UserError, match="--rename: no dataset 'x'; there are imagenetv2"):
        new_names("--rename", ["x=y"], NAMES)


def test_the_matrix_says_what_it_shows(errors: pd.DataFrame) -> None:
    (legend,) = plots.scatter_matrix(errors).legends
    said = "above: Spearman's ρ [95% interval]; below: errors (%)"
    assert legend.get_title().get_text() == said


@pytest.mark.slow
def test_narrow_figures_have_as_many_panels_in_a_row_as_have_room(errors: pd.DataFrame) -> None:
    """Letters stay as they are, so rows have fewer panels, and no text is cut or over another.

    Where that would be taller than a page, panels are narrower, with titles in several lines.
    """
    pairs = [(x, y) for x in errors for y in errors if x != y]
    for width, count, columns in ((3.35, 4, 1), (3.35, 12, 2), (5.0, 4, 2), (7.2, 6, 3)):
        with Look(width).drawing():
            figure = plots.scatter_grid(errors, (2 * pairs)[:count])
            assert faults(figure) == []
        assert figure.axes[0].get_gridspec().ncols == columns
        assert figure.get_figwidth() == width
        assert figure.get_figheight() <= style.PAGE + 0.26
        lines = figure.axes[0].get_title().split("\n")
        assert (len(lines) > 1) == (width / columns < 2)

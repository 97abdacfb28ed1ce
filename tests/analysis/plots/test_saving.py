"""Writing figures: glyphs that no font has are one line on standard error."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from anynet_study.analysis.plots.saving import check_drawn, save
from anynet_study.analysis.plots.style import font_families
from anynet_study.core.errors import DoesNotApplyError, UserError


def titled(title: str) -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.subplots().set_title(title)
    return figure


def test_glyphs_that_no_font_has_are_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A character that is in no font, as it is for private use; whatever is installed here."""
    save(titled("a \U0010fffd"), tmp_path / "one")
    save(titled("a \U0010fffd"), tmp_path / "two")
    told = capsys.readouterr().err
    assert told.count("note: no installed font has \U0010fffd") == 1
    assert len(told.splitlines()) == 1
    save(titled("plain, é ü"), tmp_path / "three")
    assert capsys.readouterr().err == ""


def test_the_figures_font_goes_before_those_for_further_glyphs() -> None:
    assert font_families()[0] == "DejaVu Sans"


def test_paths_may_be_texts_and_formats_are_a_list(tmp_path: Path) -> None:
    assert save(titled("a"), str(tmp_path / "one"), ["png"]) == [tmp_path / "one.png"]
    with pytest.raises(UserError, match=r"figure formats are a list, as \['png'\]"):
        save(titled("a"), tmp_path / "one", "png")


def test_a_figure_that_shows_nothing_is_refused() -> None:
    """Lines across the axes, and points without a place, show nothing."""
    figure = titled("empty")
    (axes,) = figure.axes
    axes.axhline(3)
    axes.plot([1, 2], [float("nan")] * 2)
    axes.scatter([], [])
    with pytest.raises(DoesNotApplyError, match="nothing to draw"):
        check_drawn(figure)
    axes.plot([1, float("nan")], [2, 3])
    check_drawn(figure)
    other = titled("bars")
    other.axes[0].bar([1], [2])
    check_drawn(other)

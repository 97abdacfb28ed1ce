"""The gallery of all figures: it is drawn from committed data, and what is wrong is found."""

import runpy
from pathlib import Path

import pytest
from command import ROOT
from figure_faults import faults
from matplotlib.figure import Figure

from anynet_study.plots import style


@pytest.mark.slow
def test_every_figure_is_drawn_and_nothing_is_wrong_with_its_looks(tmp_path: Path) -> None:
    module = runpy.run_path(str(ROOT / "docs" / "gallery.py"))
    shown = module["gallery"](tmp_path / "gallery", [])
    assert {one.picture.name: one.faults for one in shown if one.faults} == {}
    page = (tmp_path / "gallery" / "index.html").read_text(encoding="utf-8")
    for one in shown:
        assert one.picture.is_file()
        assert one.question
        assert one.picture.name in page


@style.styled
def plain() -> Figure:
    figure = Figure(figsize=(3, 2), layout="constrained")
    axes = figure.subplots()
    axes.plot([1, 2, 3], [1, 2, 3], "o", label="a")
    axes.set_title("fine")
    axes.legend()
    return figure


def test_what_is_wrong_is_found_by_the_boxes_of_artists() -> None:
    assert faults(plain()) == []
    overlapping = plain()
    overlapping.axes[0].set_xticks([2, 2.01], ["twenty", "twenty-one"])
    assert any(one.startswith("overlap: 'twenty'") for one in faults(overlapping))
    outside = plain()
    outside.axes[0].set_xlim(1.5, 3)
    assert any("points outside" in one for one in faults(outside))
    cut = plain()
    cut.axes[0].text(-1.5, 0.5, "far to the left", transform=cut.axes[0].transAxes)
    cut.set_layout_engine("none")
    assert any(one.startswith("cut: 'far") for one in faults(cut))
    twins = plain()
    twins.axes[0].plot([1], [2], "o", color=twins.axes[0].lines[0].get_color(), label="b")
    twins.axes[0].legend()
    assert faults(twins) == ["one look: 'a' and 'b'"]
    raw = plain()
    raw.axes[0].set_xticks([2], ["$\\mathdefault{10^{3}}$"], parse_math=False)
    assert any(one.startswith("markup") for one in faults(raw))

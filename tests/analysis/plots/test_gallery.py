"""The gallery of all figures: it is drawn from committed data, and what is wrong is found."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from command import ROOT
from figure_faults import faults, undrawn
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from small_study import run_records, write_store

from anynet_study import load
from anynet_study.analysis.analyses import ANALYSES
from anynet_study.analysis.plots import Look, style
from anynet_study.core.errors import UserError

#: Figures that are no example of the site: those are judged whenever it is built.
FURTHER = {figure.name for analysis in ANALYSES.values() for figure in analysis.figures[1:]}


@pytest.mark.slow
def test_every_figure_is_drawn_and_nothing_is_wrong_with_its_looks(tmp_path: Path) -> None:
    """Those of scripts, and the registered ones that the site does not show."""
    module = runpy.run_path(str(ROOT / "docs" / "gallery.py"))
    shown = module["gallery"](tmp_path / "gallery", [*FURTHER, *module["scripts"]()])
    assert {one.picture.name: one.faults for one in shown if one.faults} == {}
    assert {one.name for one in shown} >= FURTHER
    page = (tmp_path / "gallery" / "index.html").read_text(encoding="utf-8")
    for one in shown:
        assert one.picture.is_file()
        assert one.question
        assert one.picture.name in page


#: Of the registered figures that draw numbers of their table: the columns that are drawn whole.
DRAWN: dict[str, tuple[str, ...]] = {
    "heatmap": ("estimate",),
    **dict.fromkeys(("matrix", "source", "matched", "family"), ("x_error", "y_error")),
    "proxies": ("estimate", "low", "high"),
    "benchmark": ("mean", "low", "high"),
    "confusion": ("share",),
    "regret": ("regret", "regret_low", "regret_high"),
    "costs": ("cost", "estimate", "low", "high"),
    **dict.fromkeys(("depth", "width"), ("error", "value")),
    **{"stages": ("estimate",), "stages-given": ("partial",)},
    "importance": ("importance", "low", "high"),
    "configurations": ("best", "mean"),
    "bins": ("mean", "low", "high"),
    "noise": ("error",),
    "rank-preservation": ("rank", "rank_best", "rank_worst"),
    "curves": ("epoch", "low", "median", "high"),
    "duration": ("epoch", "estimate", "low", "high"),
    "metrics": ("before", "after"),
    "improvement": ("relative",),
}


#: Inches of one column of a paper.
COLUMN = 3.35


@pytest.mark.slow
@pytest.mark.parametrize(("count", "width"), [(2, None), (13, COLUMN)])
def test_figures_of_few_and_many_datasets_draw_their_tables(
    count: int, width: float | None, tmp_path: Path
) -> None:
    """Each draws all numbers of its table, with nothing wrong by its boxes, or says why not.

    The gallery is of eleven datasets, and of four where those have nothing of the kind.
    """
    module = runpy.run_path(str(ROOT / "docs" / "gallery.py"))
    study = module["of_datasets"](24, count)
    write_store(tmp_path / "store", study, run_records(study))
    loaded = load(tmp_path / "store" / "results.h5", resamples=100)
    assert len(loaded.errors.columns) == count
    drawn, wrong = set(), {}
    for analysis in loaded.analyses.values():
        for name in [figure.name for figure in analysis.figures]:
            if name == "importance" and count > 7:  # forests of that many take long
                continue
            try:
                with Look(width).drawing():
                    figure, data = loaded.figure(name), loaded.figure_data(name)
            except UserError:  # more than there is room for, or nothing of the kind
                continue
            drawn.add(name)
            lacking = [
                f"{column} is not drawn"
                for column in DRAWN.get(name, ())
                if len(undrawn(figure, data[column].to_numpy(float)))
            ]
            if found := [*faults(figure), *lacking]:
                wrong[name] = found[:5]
            plt.close(figure)
    assert wrong == {}
    assert drawn >= {"heatmap", "source", "depth", "width", "stages", "noise", "curves", "duration"}


def test_a_number_that_is_not_drawn_is_found() -> None:
    figure = plain()
    assert len(undrawn(figure, np.array([1.0, 2.0, 3.0, np.nan]))) == 0
    assert list(undrawn(figure, np.array([2.0, 2.5]))) == [2.5]


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
    rows = Figure(figsize=(3, 2))
    for axes in rows.subplots(2, 1):
        axes.set_ylabel("longer than its panel is high")
    assert any(one.startswith("overlap: 'longer") for one in faults(rows))
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

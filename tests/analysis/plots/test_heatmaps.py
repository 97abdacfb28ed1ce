"""Heatmaps: every cell, number and frame is that of the table."""

import numpy as np
import pandas as pd
import pytest
from artists import ticks, written
from matplotlib.patches import Rectangle

from anynet_study import plots
from anynet_study.analysis.analyses import drivers

PAIRS = pd.DataFrame(
    {
        "source": ["a", "a", "b"],
        "target": ["b", "c", "c"],
        "estimate": [0.81, -0.72, 0.13],
        "low": [0.51, -0.92, -0.23],
        "high": [0.97, -0.31, 0.44],
        "n": [8, 7, 6],
    }
)
STAGES = pd.DataFrame(
    {
        "dataset": ["x", "x", "y", "y"],
        "parameter": ["d1", "w3", "d1", "w3"],
        "estimate": [0.71, -0.42, -0.33, 0.14],
        "p_holm": [0.01, 0.2, 0.049, 0.05],
        "flips": [True, False, True, False],
        "partial": [0.15, 0.86, -0.27, -0.38],
        "partial_p_holm": [0.3, 0.02, 0.4, 0.001],
        "partial_flips": [False, True, False, False],
        "given": "flops, parameters",
        "n": [30, 30, 29, 29],
    }
)


def cells(axes) -> np.ndarray:
    return np.ma.filled(axes.collections[0].get_array().reshape(axes_shape(axes)), np.nan)


def axes_shape(axes) -> tuple[int, int]:
    return len(axes.get_yticks()), len(axes.get_xticks())


@pytest.mark.parametrize(
    ("attrs", "label"),
    [
        ({}, "Spearman's ρ"),
        ({"method": "pearson"}, "Pearson's r"),
        ({"method": "kendall", "weighted": True}, "weighted Kendall's τ"),
    ],
)
def test_correlations_are_in_their_cells(attrs: dict[str, object], label: str) -> None:
    table = PAIRS.copy()
    table.attrs = attrs
    axes, bar = plots.correlation_heatmap(table).axes
    found = cells(axes)
    expected = [[np.nan, 0.81, -0.72], [0.81, np.nan, 0.13], [-0.72, 0.13, np.nan]]
    np.testing.assert_allclose(found, expected)
    assert axes.collections[0].get_clim() == (-1, 1)
    assert ticks(axes.xaxis) == ticks(axes.yaxis) == ["a", "b", "c"]
    assert bar.get_ylabel() == label
    texts = written(axes)
    assert texts[1.5, 0.38] == texts[0.5, 1.38] == "0.81"
    assert texts[1.5, 0.72] == "[.51, .97]"
    assert texts[2.5, 0.38] == "−0.72"
    assert texts[0.5, 2.72] == "[−.92, −.31]"
    assert texts[2.5, 1.72] == "[−.23, .44]"
    assert len(texts) == 12


def test_significant_drivers_are_written_and_flips_framed() -> None:
    table = STAGES.copy()
    table.attrs = {"method": "pearson"}
    figure = plots.stage_driver_heatmap(table)
    axes, bar = figure.axes
    np.testing.assert_allclose(cells(axes), [[0.71, -0.33], [-0.42, 0.14]])
    assert ticks(axes.xaxis) == ["x", "y"]
    assert ticks(axes.yaxis) == ["depth, stage 1", "width, stage 3"]
    assert written(axes) == {(0.5, 0.52): ".71", (1.5, 0.52): "−.33"}
    frames = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [frame.get_xy() for frame in frames] == [(0.06, 0.08), (1.06, 0.08)]
    assert bar.get_ylabel() == "Pearson's r with the error"
    assert axes.get_xlabel() == "numbers: p < 0.05 (Holm)\nframes: sign flips; n = 29 to 30"


def test_colours_of_signs_are_those_of_the_caption() -> None:
    assert "Blue: larger parameters err more." in drivers.STAGES.figures[0].caption
    figure = plots.stage_driver_heatmap(STAGES)
    figure.canvas.draw()
    red, _, blue, _ = figure.axes[0].collections[0].get_facecolors()[0]  # 0.71
    assert blue > red


def test_partial_correlations_have_their_own_columns() -> None:
    axes, bar = plots.stage_driver_heatmap(STAGES, "partial").axes
    np.testing.assert_allclose(cells(axes), [[0.15, -0.27], [0.86, -0.38]])
    assert written(axes) == {(0.5, 1.52): ".86", (1.5, 1.52): "−.38"}
    assert [frame.get_xy() for frame in axes.patches] == [(0.06, 1.08)]
    assert bar.get_ylabel() == "partial ρ with the error"
    assert "at equal FLOPs and parameters" in axes.get_xlabel().replace("\n", " ")  # folded

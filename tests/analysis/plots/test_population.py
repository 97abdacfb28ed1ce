"""Figures of what was sampled: bars and points are the shares that they claim to be."""

import numpy as np
import pandas as pd
import pytest
from artists import intervals

from anynet_study import apr, plots
from anynet_study.analysis.plots import population_data, sampling_grid
from anynet_study.design_space import (
    DesignSpace,
    draws_without_bands,
)

POPULATION = pd.DataFrame(
    {
        "architecture": list("ABCD"),
        "flops": [3.0e8, 3.1e8, 3.3e8, 3.9e8],
        "parameters": [1.0e6, 5.0e6, 7.0e6, 9.0e6],
        "activations": [2.0e6, 2.5e6, 4.0e6, 8.0e6],
        **{"d1": [1, 2, 3, 4], "d2": [5, 7, 6, np.nan], "w1": [8, 16, 24, 32]},
        **{"w2": [40, 48, 64, np.nan], "b1": 1, "b2": [2, 2, 4, np.nan]},
        **{"g1": 8, "g2": [16, 8, 8, np.nan]},
    }
)


def test_each_distribution_is_of_its_column() -> None:
    data = population_data(POPULATION)
    assert data.to_dict("list") == {
        "FLOPs (million multiply-adds)": [300, 310, 330, 390],
        "parameters (million)": [1, 5, 7, 9],
        "activations (million)": [2, 2.5, 4, 8],
        "cumulative depth (blocks)": [6, 9, 9, 4],
        "cumulative width (channels)": [48, 64, 88, 32],
        "stages": [2, 2, 2, 1],
    }
    small = population_data(POPULATION.assign(parameters=[2e4, 3e4, 4e4, 2e5]))
    assert list(small["parameters (thousand)"]) == [20, 30, 40, 200]
    figure = plots.population_grid(POPULATION)
    for axes, (name, values) in zip(figure.axes, data.items(), strict=True):
        assert axes.get_xlabel() == name
        assert axes.get_title() == f"median {values.median():.4g}"
        assert sum(bar.get_height() for bar in axes.patches) == 4
        assert axes.patches[0].get_x() == pytest.approx(values.min())
        right = axes.patches[-1].get_x() + axes.patches[-1].get_width()
        assert right == pytest.approx(values.max())
    assert [axes.get_ylabel() for axes in figure.axes] == ["architectures", "", ""] * 2
    costs = ["flops", "parameters", "activations"]
    equal = POPULATION.iloc[:3].drop(columns=costs)
    assert list(population_data(equal)) == [
        *("cumulative depth (blocks)", "cumulative width (channels)")
    ]


def test_bars_are_of_the_space_and_points_of_the_sample() -> None:
    space = DesignSpace.from_spec({"base": "anynetxa", "strides": [2, 2, 2], "depths": [1, 4]})
    sample = space.sample(200, flops=(1e7, 1e9))
    frame, draws = sample.to_pandas(), draws_without_bands(space.to_spec(), 224, 1000).to_pandas()
    figure = sampling_grid(frame, draws, {"flops": (1e7, 1e9)})
    top, below = figure.subfigs
    assert [axes.get_xlabel() for axes in top.axes] == [
        *("FLOPs (multiply-adds)", "parameters", "activations"),
    ]
    for axes, name in zip(top.axes, ("flops", "parameters", "activations"), strict=True):
        for line, table in zip(axes.lines, (draws, frame), strict=True):
            assert line.get_xdata()[-1] == table[name].max()
            middle = np.searchsorted(line.get_ydata(), 0.5)
            assert line.get_xdata()[middle] == pytest.approx(table[name].median(), rel=0.02)
    assert [len(axes.patches) for axes in top.axes] == [1, 0, 0]  # the band
    shaded = top.axes[0].patches[0]
    assert (shaded.get_x(), shaded.get_x() + shaded.get_width()) == (1e7, 1e9)
    assert len(below.axes) == 4 * 3
    depth = below.axes[1]  # of stage 2
    assert depth.get_title() == "stage 2"
    bars = [bar.get_height() for bar in depth.patches]
    shown = draws["d2"].value_counts(normalize=True).sort_index()
    np.testing.assert_allclose(bars, shown)
    points = next(each for each in depth.containers if hasattr(each, "has_yerr"))
    shares = frame["d2"].value_counts(normalize=True).sort_index()
    low, high = apr.wilson_interval(shares.to_numpy(), 200)
    expected = zip(range(4), shares, low, high, strict=True)
    found = intervals(points, across=False)
    assert found == [pytest.approx(row) for row in expected]
    told = [text.get_text() for text in figure.legends[0].get_texts()]
    assert told == ["band", "space (n = 20,000 draws)", "sampled (n = 200)"]

"""The figure of what was sampled: bars and points are the shares that they claim to be."""

import numpy as np
import pytest

from anynet_study.design_space import Architecture, DesignSpace, Population
from anynet_study.design_space.space import draws_without_bands
from anynet_study.plots.population import sampling_grid


def test_bars_are_of_the_space_and_points_of_the_sample() -> None:
    space = DesignSpace.from_spec({"base": "anynetxa", "strides": [2, 2, 2], "depths": [1, 4]})
    sample = space.sample(200, flops=(1e7, 1e9))
    frame, draws = sample.to_pandas(), draws_without_bands(space.to_spec(), 224, 1000).to_pandas()
    figure = sampling_grid(frame, draws, {"flops": (1e7, 1e9)})
    top, below = figure.subfigs
    assert [axes.get_xlabel() for axes in top.axes] == [
        *("FLOPs (multiply-adds)", "parameters", "activations"),
    ]
    assert len(below.axes) == 4 * 3
    depth = below.axes[1]  # of stage 2
    bars = [bar.get_height() for bar in depth.patches]
    points = depth.containers[1].lines[0].get_ydata()
    for shares, table in ((bars, draws), (points, frame)):
        expected = table["d2"].value_counts(normalize=True).sort_index()
        np.testing.assert_allclose(shares, expected)
    told = [text.get_text() for text in figure.legends[0].get_texts()]
    assert told == ["band", "space (n = 20,000 draws)", "sampled (n = 200)"]


@pytest.mark.filterwarnings("error")
def test_any_population_can_be_drawn() -> None:
    one = Population.from_architectures([Architecture((3,), (8,), strides=(2,), block="vanilla")])
    figure = sampling_grid(one.to_pandas(), None, {})
    assert [axes.get_xlabel() for axes in figure.subfigs[1].axes] == ["depth", "width"]
    mixed = Population.concatenate(
        [one, DesignSpace.from_spec({"base": "anynetx", "strides": [2] * 6}).sample(4)]
    )
    assert len(sampling_grid(mixed.to_pandas(), None, {}).subfigs[1].axes) == 4 * 6

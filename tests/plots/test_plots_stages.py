"""Figures of architectures with other than four stages, and with different numbers of them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from small_study import SmallStudy, small_study

from anynet_study import plots
from anynet_study.plots import style
from anynet_study.plots.population import population_data


def staged_study(fewest: int, most: int, targets: int = 1) -> SmallStudy:
    """A study of 24 architectures of `fewest` to `most` stages."""
    study = small_study(24, targets)
    generator = np.random.default_rng(0)
    stages = generator.integers(fewest, most + 1, 24)
    columns = {}
    for prefix in "dwbgs":
        for stage in range(1, most + 1):
            cells = generator.integers(1, 17, 24)
            columns[f"{prefix}{stage}"] = pa.array(cells, pa.int32(), mask=stages < stage)
    costs = study.population.select(["architecture", "flops", "parameters", "activations"])
    for name, column in columns.items():
        costs = costs.append_column(name, column)
    return replace(study, population=costs)


@pytest.mark.parametrize(
    ("fewest", "most", "targets"), [(1, 1, 1), (3, 3, 1), (5, 5, 4), (2, 8, 12)]
)
def test_every_stage_has_a_place(fewest: int, most: int, targets: int) -> None:
    study = staged_study(fewest, most, targets)
    figure = plots.configuration_grid(study.errors, study.parameters, top=6)
    FigureCanvasAgg(figure).draw()
    for axes in figure.axes:
        assert list(axes.get_xticks()) == list(range(1, most + 1))
        ticks = [label.get_window_extent() for label in axes.get_xticklabels()]
        assert not any(a.overlaps(b) for a, b in pairwise(ticks))
    width, _ = figure.get_size_inches()
    assert figure.get_tightbbox().x1 <= width + 0.03
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= style.SMALLEST_TEXT
    said = figure.legends[0].get_texts()[1].get_text()
    assert ("of those that have the stage" in said) == (fewest < most)


def test_drivers_sum_what_there_is() -> None:
    study = staged_study(2, 6)
    data = plots.driver_data(study.errors, study.parameters, "cumulative depth")
    one = data[data["dataset"] == "target-0"].iloc[5]
    parameters = study.parameters.set_index("architecture").loc[one["architecture"]]
    depths = [parameters[f"d{stage}"] for stage in range(1, 7)]
    assert one["value"] == sum(depth for depth in depths if pd.notna(depth))
    figure = plots.driver_grid(study.errors, study.parameters, "cumulative depth")
    assert "n = 24" in figure.axes[0].get_title()


def test_populations_show_what_is_known() -> None:
    mixed, equal = staged_study(2, 6).parameters, staged_study(3, 3).parameters
    data = population_data(mixed)
    stages = mixed.filter(regex=r"^d\d$").notna().sum(axis=1)
    assert data["stages"].tolist() == stages.tolist()
    costs = ["flops", "parameters", "activations"]
    names = list(population_data(equal.drop(columns=costs)).columns)
    assert names == ["cumulative depth (blocks)", "cumulative width (channels)"]
    FigureCanvasAgg(plots.population_grid(mixed)).draw()

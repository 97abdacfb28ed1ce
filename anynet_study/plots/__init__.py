"""Figures of a study: pure functions of tables that return a matplotlib Figure.

A chart, plot or heatmap is one panel, and draws in `ax` where that is given; a grid has a panel
for each dataset, and draws in as many `axes`; figures with a layout of their own take an empty
`figure`. Methods, levels and weights that they name are those of the table's `attrs` (`wording`).
The tables behind figures of points are `*_data`.
"""

from anynet_study.plots.accuracies import (
    bin_chart,
    gap_chart,
    improvement_chart,
    label_set_chart,
)
from anynet_study.plots.agreement import agreement_grid, source_by_recipe_grid
from anynet_study.plots.drivers import (
    configuration_grid,
    driver_estimates,
    driver_grid,
    importance_grid,
)
from anynet_study.plots.edf import edf_grid, edf_plot, random_search_plot
from anynet_study.plots.fits import (
    effective_robustness_grid,
    fit_data,
    fit_grid,
    transfer_grid,
)
from anynet_study.plots.heatmaps import correlation_heatmap, stage_driver_heatmap
from anynet_study.plots.points import (
    agreement_data,
    driver_data,
    scatter_data,
    upper_limit,
)
from anynet_study.plots.population import population_data, population_grid, sampling_grid
from anynet_study.plots.proxies import (
    class_or_size_chart,
    class_or_size_data,
    cost_grid,
    other_targets_chart,
    proxy_chart,
    regret_grid,
    width_grid,
)
from anynet_study.plots.rankings import rank_preservation_chart, shift_rank_chart
from anynet_study.plots.saving import check_formats, save
from anynet_study.plots.scatter import pair_estimates, scatter_grid, scatter_matrix
from anynet_study.plots.style import SERIES
from anynet_study.plots.training import curve_data, curve_grid, duration_grid, noise_grid

__all__ = [
    "SERIES",
    "agreement_data",
    "agreement_grid",
    "bin_chart",
    "check_formats",
    "class_or_size_chart",
    "class_or_size_data",
    "configuration_grid",
    "correlation_heatmap",
    "cost_grid",
    "curve_data",
    "curve_grid",
    "driver_data",
    "driver_estimates",
    "driver_grid",
    "duration_grid",
    "edf_grid",
    "edf_plot",
    "effective_robustness_grid",
    "fit_data",
    "fit_grid",
    "gap_chart",
    "importance_grid",
    "improvement_chart",
    "label_set_chart",
    "noise_grid",
    "other_targets_chart",
    "pair_estimates",
    "population_data",
    "population_grid",
    "proxy_chart",
    "random_search_plot",
    "rank_preservation_chart",
    "regret_grid",
    "sampling_grid",
    "save",
    "scatter_data",
    "scatter_grid",
    "scatter_matrix",
    "shift_rank_chart",
    "source_by_recipe_grid",
    "stage_driver_heatmap",
    "transfer_grid",
    "upper_limit",
    "width_grid",
]


def __dir__() -> list[str]:
    """The public names only: modules are no part of them."""
    return __all__
